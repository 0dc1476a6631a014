"""`_fused_qk_rmsnorm` of AITER: two RMSNorms in one launch.

Read: 2-D inputs, 16-bit, one dtype for all four tensors, dense weights, strided
rows allowed, fp32 sums and one rounding; from 16384 rows on it makes two launches.
"""

from __future__ import annotations

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import require

MODULE = "aiter.ops.fused_qk_norm_rope_cache_quant"
NAME = "_fused_qk_rmsnorm"


def install(build: Aiter) -> Aiter:
    """Offer the kernel; returns the build."""

    def _fused_qk_rmsnorm(
        q_out: torch.Tensor | None,
        q: torch.Tensor,
        q_weight: torch.Tensor,
        q_eps: float,
        k_out: torch.Tensor | None,
        k: torch.Tensor,
        k_weight: torch.Tensor,
        k_eps: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        _check(q, k, q_weight, k_weight)
        require(q_out is None and k_out is None, "the outputs are the kernel's own here")
        build.launched(NAME)
        return one_rounding(q, q_weight, q_eps), one_rounding(k, k_weight, k_eps)

    return build.provide(MODULE, **{NAME: _fused_qk_rmsnorm})


def _check(
    q: torch.Tensor, k: torch.Tensor, q_weight: torch.Tensor, k_weight: torch.Tensor
) -> None:
    require(q.dim() == 2 and k.dim() == 2, "inputs are [T, width]")
    require(q.shape[0] == k.shape[0], "both inputs have the same rows")
    require(q.stride(1) == 1 and k.stride(1) == 1, "lanes of a row are adjacent")
    require(len({q.dtype, k.dtype, q_weight.dtype, k_weight.dtype}) == 1, "one dtype for all")
    require(q.dtype in (torch.float16, torch.bfloat16), "16-bit formats only")
    require(q_weight.shape == q.shape[1:] and k_weight.shape == k.shape[1:], "weights [width]")
    require(q_weight.is_contiguous() and k_weight.is_contiguous(), "weights are dense")


def one_rounding(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """RMSNorm of x [T, width] in fp32, rounded once to x's dtype."""
    wide = x.float()
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * inverse * weight.float()).to(x.dtype)
