"""`aiter.ops.triton.gather_kv_b_proj`: gather cache rows and expand them by kv_b_proj.

Read: the arguments and assertions; that the kernel for a cache viewed as rows
("flat") came after v0.1.20.post1. Inferred: that v0.1.21 has it. Without it, an
unquantized weight is cast to the dtype of an fp8 cache before the product.
"""

from __future__ import annotations

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import require
from backport.parity.versions import at_least

MODULE = "aiter.ops.triton.gather_kv_b_proj"
NAME = "gather_kv_b_proj"
FLAT = "_triton_gather_kv_b_proj_flat"
FLAT_FROM = "0.1.21"
FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


def install(build: Aiter) -> Aiter:
    """Offer the wrapper, and the flat kernel's name where the version has it."""
    flat = at_least(build.version, FLAT_FROM)

    def gather_kv_b_proj(
        k_buffer: torch.Tensor,
        k_scale: torch.Tensor,
        kv_indptr: torch.Tensor,
        kv_indices: torch.Tensor,
        kv_prefix_sum_context_lens: torch.Tensor,
        kv_proj_weight: torch.Tensor,
        kv_proj_scale: torch.Tensor | None,
        k_prefix: torch.Tensor,
        v_prefix: torch.Tensor,
    ) -> None:
        bounds = (kv_indptr, kv_indices, kv_prefix_sum_context_lens)
        _check(k_buffer, k_scale, bounds, kv_proj_weight, k_prefix, v_prefix)
        require(kv_proj_scale is None, "quantized weights are not simulated")
        build.launched(NAME)
        weight = kv_proj_weight
        if not flat and k_buffer.dtype in FP8:
            weight = weight.to(k_buffer.dtype)
        _expand(k_buffer, k_scale, kv_indices, weight, k_prefix, v_prefix)

    names = {NAME: gather_kv_b_proj} | ({FLAT: object()} if flat else {})
    return build.provide(MODULE, **names)


def _check(
    buffer: torch.Tensor,
    scale: torch.Tensor,
    bounds: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    weight: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
) -> None:
    indptr, indices, lengths = bounds
    chunk = 32 if buffer.dtype in FP8 else 16
    require(buffer.dim() == 3 and buffer.is_contiguous(), "the cache is dense [B, S, L + R]")
    require(chunk % buffer.shape[1] == 0, f"the block size divides {chunk}")
    require(scale.shape == (1,) and scale.dtype == torch.float32, "k_scale is [1] fp32")
    kinds = {t.dtype for t in bounds}
    require(kinds == {torch.int32}, "indptr, indices and lengths are int32")
    require(indices.is_contiguous(), "indices are dense")
    tokens = int(lengths[-1])
    require(k.shape[0] == v.shape[0] == tokens, "one row of K and V per context token")
    require(buffer.shape[1] != 1 or int(indptr[-1]) == len(indices) == tokens, "index count")
    require(k.shape[1] == v.shape[1], "K and V have the same heads")
    require(weight.shape[1] == 512 == buffer.shape[2] - 64, "the latent has 512 lanes")
    require(weight.is_contiguous() and k.is_contiguous() and v.is_contiguous(), "dense operands")


def _expand(
    buffer: torch.Tensor,
    scale: torch.Tensor,
    indices: torch.Tensor,
    weight: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
) -> None:
    rows = buffer.view(-1, buffer.shape[-1])[indices.long()].float()
    if buffer.dtype != torch.bfloat16:
        rows = rows * scale
    latent, rope = rows[:, :512].bfloat16(), rows[:, 512:].bfloat16()
    heads, wide = k.shape[1], v.shape[2]
    nope = k.shape[2] - rope.shape[1]
    both = (latent.float() @ weight.float().T).view(len(rows), heads, nope + wide)
    k[..., :nope] = both[..., :nope].to(k.dtype)
    k[..., nope:] = rope[:, None].to(k.dtype)
    v.copy_(both[..., nope:])
