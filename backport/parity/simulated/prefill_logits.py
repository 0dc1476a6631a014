"""`aiter.ops.fp8_mqa_logits` (HIP, gfx950), as ROCm/aiter#5046 and its test have it (read).

No AITER tag contains it; a build that does is told by looking.
"""

from __future__ import annotations

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import require

MODULE = "aiter.ops.fp8_mqa_logits"
NAME = "fp8_mqa_logits"
HEADS, DIM = 32, 128
FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


def install(build: Aiter) -> Aiter:
    """Offer the kernel and its `is_supported`; returns the build."""

    def fp8_mqa_logits(
        q: torch.Tensor,
        kv: torch.Tensor,
        scales: torch.Tensor,
        weights: torch.Tensor,
        cu_starts: torch.Tensor,
        cu_ends: torch.Tensor,
        clean_logits: bool = True,
        out: torch.Tensor | None = None,
    ) -> torch.Tensor:
        _check(q, kv, scales, weights, cu_starts, cu_ends)
        require(out is None, "the output is the kernel's own here")
        build.launched(NAME)
        logits = scores(q, kv, scales, weights)
        fill = float("-inf") if clean_logits else float("nan")
        return logits.masked_fill(~window(cu_starts, cu_ends, len(kv)), fill)

    def is_supported(num_heads: int, head_dim: int) -> bool:
        return (num_heads, head_dim) == (HEADS, DIM)

    names = {NAME: fp8_mqa_logits, "is_supported": is_supported}
    return build.provide(MODULE, **names)


def _check(
    q: torch.Tensor,
    kv: torch.Tensor,
    scales: torch.Tensor,
    weights: torch.Tensor,
    starts: torch.Tensor,
    ends: torch.Tensor,
) -> None:
    require(q.dim() == 3 and q.shape[1:] == (HEADS, DIM), "q is [M, 32, 128]")
    require(kv.dim() == 2 and kv.shape[1] == DIM, "keys are [N, 128]")
    require(q.dtype in FP8 and kv.dtype == q.dtype, "q and keys are fp8 of one kind")
    require(q.is_contiguous() and kv.is_contiguous(), "q and keys are dense")
    require(scales.shape == (len(kv),) and scales.dtype == torch.float32, "scales are [N] fp32")
    require(weights.shape == q.shape[:2], "weights are [M, 32]")
    require(weights.dtype == torch.float32, "weights are fp32")
    for bound in (starts, ends):
        require(bound.shape == (len(q),) and bound.dtype == torch.int32, "bounds are [M] int32")


def scores(
    q: torch.Tensor, kv: torch.Tensor, scales: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """[M, N] fp32: sum over heads of relu(q . k) * scale[n] * weight[m, h]."""
    products = torch.einsum("mhd,nd->mhn", q.float(), kv.float()).relu()
    return torch.einsum("mhn,mh->mn", products, weights.float()) * scales.float()


def window(starts: torch.Tensor, ends: torch.Tensor, keys: int) -> torch.Tensor:
    """[M, N] bool: the keys that a row sees; empty, inverted and overlong bounds are legal."""
    key = torch.arange(keys, device=starts.device)
    return (key >= starts[:, None]) & (key < ends[:, None])
