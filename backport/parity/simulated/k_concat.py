"""`torch.ops._C.fused_kimi_k3_mla_kv_concat`: [k_nope | k_pe] in one launch (read)."""

from __future__ import annotations

from collections.abc import Callable

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import require

NAME = "fused_kimi_k3_mla_kv_concat"
NOPE, ROPE = 128, 64


def kernel(build: Aiter) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], None]:
    """The op, counted on `build`; it moves eight 16-bit elements at a time."""

    def fused_kimi_k3_mla_kv_concat(
        k_nope: torch.Tensor, k_pe: torch.Tensor, k: torch.Tensor
    ) -> None:
        tokens, heads, _ = k_nope.shape
        require(k_nope.shape == (tokens, heads, NOPE), "k_nope is [T, H, 128]")
        require(k_pe.shape == (tokens, ROPE), "k_pe is [T, 64]")
        require(k.shape == (tokens, heads, NOPE + ROPE) and k.is_contiguous(), "k [T, H, 192]")
        require(k_nope.dtype in (torch.bfloat16, torch.float16), "16-bit formats only")
        require(k_nope.dtype == k_pe.dtype == k.dtype, "one dtype for all")
        for operand in (k_nope, k_pe):
            require(operand.stride(-1) == 1, "lanes of a row are adjacent")
            require(all(s % 8 == 0 for s in operand.stride()[:-1]), "strides are whole vectors")
            require(operand.data_ptr() % 16 == 0, "vectors are aligned")
        build.launched(NAME)
        k[..., :NOPE] = k_nope
        k[..., NOPE:] = k_pe[:, None]

    return fused_kimi_k3_mla_kv_concat
