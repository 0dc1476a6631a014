"""`aiter.ops.cache.fused_qk_rope_concat_and_cache_mla`, decode kernels.

Contract read in AITER's C++ at v0.1.19, the position clamp and
`compute_all_q_rope` at v0.1.19.post1, the strides of q_nope at v0.1.17.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import memory, packed, require, without
from backport.parity.simulated.rounding import quantize, rotate
from backport.parity.versions import at_least

NAME = "fused_qk_rope_concat_and_cache_mla"
MODULE = "aiter.ops.cache"
CLAMPED_FROM = "0.1.19.post1"
STRIDES_FROM = "0.1.17"
FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


def install(build: Aiter) -> Aiter:
    """Offer the kernel with the signature that this version has; returns the build."""

    def fused_qk_rope_concat_and_cache_mla(
        q_nope: torch.Tensor,
        q_pe: torch.Tensor,
        kv_c: torch.Tensor,
        k_pe: torch.Tensor,
        kv_cache: torch.Tensor,
        q_out: torch.Tensor,
        slot_mapping: torch.Tensor,
        k_scale: torch.Tensor,
        q_scale: torch.Tensor,
        positions: torch.Tensor,
        cos_cache: torch.Tensor,
        sin_cache: torch.Tensor,
        is_neox: bool,
        is_nope_first: bool,
        compute_all_q_rope: bool = False,
    ) -> None:
        tensors = (q_nope, q_pe, kv_c, k_pe, kv_cache, q_out, slot_mapping)
        _check(tensors, k_scale, q_scale, is_nope_first)
        tables = (positions, cos_cache, sin_cache)
        _launch(build, tensors, (k_scale, q_scale), tables, is_neox, compute_all_q_rope)

    kernel: Callable[..., None] = fused_qk_rope_concat_and_cache_mla
    if not _clamps(build):
        kernel = without(kernel, "compute_all_q_rope")
    return build.provide(MODULE, **{NAME: kernel})


def _clamps(build: Aiter) -> bool:
    return at_least(build.version, CLAMPED_FROM)


Tensors = tuple[torch.Tensor, ...]


def _launch(
    build: Aiter,
    tensors: Tensors,
    scales: Tensors,
    tables: Tensors,
    is_neox: bool,
    every_query: bool,
) -> None:
    q_nope, q_pe, kv_c, k_pe, kv_cache, q_out, slots = tensors
    build.launched(NAME)
    slots = _as_int64(build, slots, q_nope.shape[0], "slot_mapping")
    live = slots >= 0
    wanted = torch.ones_like(live) if every_query else live
    cos, sin = _tables(build, tensors, tables, wanted)
    q_nope = _nope(build, q_nope)
    q = torch.cat((q_nope.float(), rotate(q_pe.float(), cos[:, None], sin[:, None], is_neox)), -1)
    k = torch.cat((kv_c.float(), rotate(k_pe.float(), cos, sin, is_neox)), -1)
    _store(q_out, wanted.nonzero().flatten(), quantize(q, scales[1], q_out.dtype)[wanted])
    rows = kv_cache.view(-1, kv_cache.shape[-1])
    _store(rows, slots[live], quantize(k, scales[0], kv_cache.dtype)[live])


def _check(
    tensors: Tensors, k_scale: torch.Tensor, q_scale: torch.Tensor, is_nope_first: bool
) -> None:
    q_nope, q_pe, kv_c, k_pe, kv_cache, q_out, slots = tensors
    require(q_nope.dim() == 3 and q_pe.dim() == 3, "q_nope and q_pe are [T, H, *]")
    tokens, heads, rank = q_nope.shape
    rope = q_pe.shape[-1]
    require(kv_c.dim() == 2 and k_pe.dim() == 2, "3-D kv_c or k_pe selects the prefill kernels")
    require(q_pe.shape == (tokens, heads, rope), "q_pe is [T, H, R]")
    require(kv_c.shape == (tokens, rank) and k_pe.shape == (tokens, rope), "kv_c, k_pe rows")
    require(kv_cache.dim() == 3 and kv_cache.shape[-1] == rank + rope, "cache is [B, S, L + R]")
    require(q_out.shape == (tokens, heads, rank + rope), "q_out is [T, H, L + R]")
    require(kv_cache.dtype in FP8 and q_out.dtype in FP8, "an fp8 query needs an fp8 cache view")
    require(kv_cache.is_contiguous() and q_out.is_contiguous(), "cache and q_out are dense")
    require(all(t.stride(-1) == 1 for t in tensors[:4]), "last dimensions have stride 1")
    require(len({t.dtype for t in tensors[:4]}) == 1, "one dtype for the four operands")
    require(slots.numel() <= tokens, "one row is launched per slot")
    for scale in (k_scale, q_scale):
        require(scale.numel() == 1 and scale.dtype == torch.float32, "scales are one fp32 each")
    require(is_nope_first, "nope comes first in an MLA cache")


def _as_int64(build: Aiter, given: torch.Tensor, tokens: int, name: str) -> torch.Tensor:
    """Slots and positions are read as int64 whatever they are; missing ones mean no launch."""
    if build.unchecked(given.dtype == torch.int64, f"{name} is read as int64"):
        given = memory(given, torch.int64)
    given = given[:tokens]
    fill = given.new_full((tokens - given.numel(),), -1)
    return torch.cat((given, fill))


def _nope(build: Aiter, q_nope: torch.Tensor) -> torch.Tensor:
    strided = at_least(build.version, STRIDES_FROM)
    if not strided and build.unchecked(q_nope.is_contiguous(), "q_nope is read as dense memory"):
        return packed(q_nope, tuple(q_nope.shape))
    return q_nope


def _tables(
    build: Aiter, tensors: Tensors, tables: Tensors, wanted: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin [T, R/2] in fp32 for the wanted rows, read the way the kernel addresses them."""
    positions, cos_cache, sin_cache = tables
    positions = _as_int64(build, positions, wanted.numel(), "positions").clone()
    positions[~wanted] = 0
    limit = cos_cache.shape[0] - 1
    if _clamps(build) and not _general(tensors):
        positions = positions.clamp(0, limit)
    inside = bool(((positions >= 0) & (positions <= limit)).all())
    build.unchecked(inside, "a position lies outside the cos and sin tables")
    dtype, half = tensors[2].dtype, tensors[1].shape[-1] // 2
    return (
        _rows(build, cos_cache, positions, dtype, half),
        _rows(build, sin_cache, positions, dtype, half),
    )


def _general(tensors: Tensors) -> bool:
    """True where neither the per-head nor the optimised kernel takes the call (read)."""
    q_nope, q_pe, _, _, kv_cache, _, slots = tensors
    heads, rank = q_nope.shape[1:]
    rope = q_pe.shape[-1]
    per_head = kv_cache.shape[1] == 1 and rope == 64 and rank <= 512 and slots.numel() < 256
    return not per_head and not (rank == 512 and rope == 64 and rank * heads >= 2048)


def _rows(
    build: Aiter, table: torch.Tensor, positions: torch.Tensor, dtype: torch.dtype, half: int
) -> torch.Tensor:
    """Rows addressed as position * R/2 from the first element; NaN past the table's memory."""
    build.unchecked(table.dtype == dtype, "cos and sin are read in the dtype of kv_c")
    build.unchecked(table.is_contiguous(), "cos and sin rows lie R/2 elements apart")
    flat = memory(table, dtype).float()
    index = positions[:, None] * half + torch.arange(half, device=positions.device)
    outside = (index < 0) | (index >= flat.numel())
    rows = flat[index.masked_fill(outside, 0)]
    return rows.masked_fill(outside, float("nan"))


def _store(target: torch.Tensor, rows: torch.Tensor, codes: torch.Tensor) -> None:
    target.view(torch.uint8)[rows] = codes.view(torch.uint8)
