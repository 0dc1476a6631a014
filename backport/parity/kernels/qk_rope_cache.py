# ruff: noqa: N803  # upper case and both branches: what is decided at compile time
"""MLA decode: rotate q and k, concatenate, quantize q, write the paged cache.

`fused` does it in one launch; `split` in the three launches of a release whose
query concat and quantization are already one kernel: `rotate_in_place`,
`concat_and_quantize`, `concat_and_cache`. Both call the functions of `mla_rows`.
The order of tensors in `Decode` is that of AITER's
`fused_qk_rope_concat_and_cache_mla`; what differs from AITER is that q_nope, q_pe,
kv_c, k_pe, cos and sin may be strided views and that the dtypes are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import torch
import triton.language as tl

from backport.parity.kernels import fp8
from backport.parity.kernels.language import (
    Pointer,
    Tile,
    blocks,
    constexpr,
    jit,
    launch,
    require,
)
from backport.parity.kernels.mla_rows import (
    EXACT,
    cache_start,
    load_angles,
    load_pairs,
    rotate,
    store_pairs,
    write_rows,
)


class Rounding(IntEnum):
    """How a rotated value is rounded before it is quantized."""

    NOT = 0  # float32 to the end, as AITER's kernel
    ONCE = 1  # to the model's dtype, as the release's rotary_embedding op
    EACH = 2  # products and sum to the model's dtype, as the release's forward_native


@dataclass(frozen=True, slots=True)
class Style:
    """What may differ between two implementations of the same step."""

    is_neox: bool = True
    rounding: Rounding = Rounding.ONCE
    divides_k: bool = True  # x / k_scale as the release's cache writer, else x * (1 / k_scale)
    fills_q: bool = True  # q_out rows of slots < 0 too; AITER's kernel leaves them as they were


@dataclass(frozen=True, slots=True)
class Decode:
    """The tensors of one decode step; T tokens, H heads, L (power of two) latent, R rope.

    q_nope [T', H, L], q_pe [T', H, R], kv_c [T', L], k_pe [T', R]: one of bfloat16,
    float16, float32, last dimension dense, T' >= T; cache [blocks, block, L + R] and
    q_out [T', H, L + R]: fp8 or the dtype of q; slots int64 [T] (< 0: not cached);
    k_scale, q_scale: float32 of one element, unused for a cache or q_out that is not
    fp8; positions int64 [T'], clamped into the rows of cos and sin [rows, R / 2].
    """

    q_nope: torch.Tensor
    q_pe: torch.Tensor
    kv_c: torch.Tensor
    k_pe: torch.Tensor
    cache: torch.Tensor
    q_out: torch.Tensor
    slots: torch.Tensor
    k_scale: torch.Tensor
    q_scale: torch.Tensor
    positions: torch.Tensor
    cos: torch.Tensor
    sin: torch.Tensor


@dataclass(frozen=True, slots=True)
class Tiling:
    """Query heads per program and warps per program."""

    heads: int
    warps: int = 4


def default_tiling(heads: int, most: int = 8) -> Tiling:
    """At most `most` heads, and no more than there are, as a power of two.

    8 heads (8 KiB of bfloat16) and 4 warps were within 2% of the best tiling of an H200
    from 1 to 4096 tokens; a rotation alone, whose rows are short, prefers 64 heads.
    """
    return Tiling(min(most, 1 << (heads - 1).bit_length()))


def fused(step: Decode, style: Style, tiling: Tiling | None = None) -> None:
    """Write `q_out` and the cache rows of `step` in one launch.

    Raises ValueError where the tensors break the contract of `Decode`.
    """
    _launch_rows(step, style, tiling, rotates=True, query=True, cache=True)


def split(step: Decode, style: Style, tiling: Tiling | None = None) -> None:
    """What `fused` writes, in three launches; q_pe and k_pe are rotated in place."""
    rotate_in_place(step, style, tiling)
    concat_and_quantize(step, style, tiling)
    concat_and_cache(step, style, tiling)


def concat_and_quantize(step: Decode, style: Style, tiling: Tiling | None = None) -> None:
    """q_out = quantized [q_nope | q_pe], q_pe being rotated already; one launch."""
    _launch_rows(step, style, tiling, rotates=False, query=True, cache=False)


def concat_and_cache(step: Decode, style: Style, tiling: Tiling | None = None) -> None:
    """cache[slots] = quantized [kv_c | k_pe], k_pe being rotated already; one launch."""
    _launch_rows(step, style, tiling, rotates=False, query=False, cache=True)


def rotate_in_place(step: Decode, style: Style, tiling: Tiling | None = None) -> None:
    """Rotate q_pe and k_pe of `step` in place; one launch.

    Raises ValueError for `Rounding.NOT`: what is stored is rounded.
    """
    check(step)
    require(style.rounding != Rounding.NOT, "values rotated in place are rounded")
    tokens, heads = step.slots.numel(), step.q_pe.shape[1]
    tiling = tiling or default_tiling(heads, most=64)
    launch(
        _rotate,
        tokens * (blocks(heads, tiling.heads) + 1),
        *(step.q_pe, step.k_pe, step.positions, step.cos, step.sin),
        *(heads, step.cos.shape[0], step.cos.stride(0)),
        (*step.q_pe.stride()[:2], step.k_pe.stride(0)),
        PLAN=_plan(step, style, tiling, rotates=True),
        num_warps=tiling.warps,
        **EXACT,
    )


def check(step: Decode) -> None:
    """Raise ValueError where `step` breaks the contract of `Decode`."""
    _, heads, latent = step.q_nope.shape
    rope, width = step.q_pe.shape[2], latent + step.q_pe.shape[2]
    tokens = step.slots.numel()
    inputs = (step.q_nope, step.q_pe, step.kv_c, step.k_pe)
    require(latent & (latent - 1) == 0, "the latent width is a power of two")
    require(step.q_pe.shape[1] == heads, "q_nope and q_pe have the same heads")
    require(step.kv_c.dim() == 2 and step.k_pe.dim() == 2, "kv_c and k_pe have two dimensions")
    require(step.kv_c.shape[1] == latent and step.k_pe.shape[1] == rope, "k is as wide as q")
    require(step.cache.shape[2] == width, "a cache row is latent + rope wide")
    require(step.q_out.shape[1:] == (heads, width), "a q_out row is latent + rope wide")
    require(step.cos.shape[1] * 2 == rope, "cos holds half of the rope width")
    require(step.cos.stride() == step.sin.stride(), "cos and sin have the same strides")
    require(len({x.dtype for x in inputs}) == 1, "q and k have one dtype")
    require(step.slots.dtype == step.positions.dtype == torch.int64, "slots, positions: int64")
    require(min(len(x) for x in (*inputs, step.positions, step.q_out)) >= tokens, "rows >= slots")
    dense = (*inputs, step.cache, step.q_out, step.cos, step.sin)
    require(all(x.stride(-1) == 1 for x in dense), "last dimensions are dense")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the kernels are compiled for."""

    NOPE: int
    HALF: int
    HEADS: int
    QUERY: bool
    CACHE: bool
    ROTATES: bool
    NEOX: bool
    ROUNDING: int
    FILLS_Q: bool
    K_DIVIDES: bool
    Q_TO: fp8.Codec
    K_TO: fp8.Codec
    AS_IS: fp8.Codec = fp8.AS_IS


def _plan(
    step: Decode,
    style: Style,
    tiling: Tiling,
    *,
    rotates: bool,
    query: bool = True,
    cache: bool = True,
) -> _Plan:
    return _Plan(
        NOPE=step.q_nope.shape[2],
        HALF=step.cos.shape[1],
        HEADS=tiling.heads,
        QUERY=query,
        CACHE=cache,
        ROTATES=rotates,
        NEOX=style.is_neox,
        ROUNDING=int(style.rounding),
        FILLS_Q=style.fills_q,
        K_DIVIDES=style.divides_k,
        Q_TO=fp8.codec_of(step.q_out, fp8.QUANT_LIMIT),
        K_TO=fp8.codec_of(step.cache),
    )


def _launch_rows(
    step: Decode, style: Style, tiling: Tiling | None, *, rotates: bool, query: bool, cache: bool
) -> None:
    check(step)
    tokens, heads = step.slots.numel(), step.q_nope.shape[1]
    tiling = tiling or default_tiling(heads)
    launch(
        _rows,
        tokens * (blocks(heads, tiling.heads) * query + cache),
        *(step.q_nope, step.q_pe, step.kv_c, step.k_pe),
        *(fp8.codes(step.cache), fp8.codes(step.q_out), step.slots),
        *(step.k_scale, step.q_scale, step.positions, step.cos, step.sin),
        *(heads, step.cos.shape[0], step.cache.shape[1], step.cos.stride(0)),
        (*step.q_nope.stride()[:2], *step.q_pe.stride()[:2]),
        (step.kv_c.stride(0), step.k_pe.stride(0)),
        (*step.cache.stride()[:2], *step.q_out.stride()[:2]),
        PLAN=_plan(step, style, tiling, rotates=rotates, query=query, cache=cache),
        num_warps=tiling.warps,
        **EXACT,
    )


@jit
def _rotate(
    q_pe: Pointer,
    k_pe: Pointer,
    positions: Pointer,
    cos: Pointer,
    sin: Pointer,
    heads: Tile,
    angle_rows: Tile,
    angle_row: Tile,
    strides: Tile,
    PLAN: constexpr,
) -> None:
    """One program rotates HEADS heads of a token's q_pe, or (group 0) its k_pe, in place."""
    groups = tl.cdiv(heads, PLAN.HEADS) + 1
    token = (tl.program_id(0) // groups).to(tl.int64)
    group = tl.program_id(0) % groups
    cos, sin = load_angles(cos, sin, tl.load(positions + token), angle_rows, angle_row, PLAN.HALF)
    if group == 0:
        one = tl.zeros((1, 1), tl.int64)
        _rotate_rows(k_pe + token * strides[2] + one, one == 0, cos, sin, PLAN)
    else:
        head = ((group - 1) * PLAN.HEADS + tl.arange(0, PLAN.HEADS)[:, None]).to(tl.int64)
        start = q_pe + token * strides[0] + head * strides[1]
        _rotate_rows(start, head < heads, cos, sin, PLAN)


@jit
def _rotate_rows(start: Pointer, mask: Tile, cos: Tile, sin: Tile, PLAN: constexpr) -> None:
    as_is: tl.constexpr = PLAN.AS_IS
    first, second = load_pairs(start, mask, PLAN.NEOX, PLAN.HALF)
    first, second = rotate(first, second, cos, sin, PLAN.ROUNDING)
    store_pairs(start, first, second, mask, PLAN.NEOX, PLAN.HALF, as_is)


@jit
def _rows(
    q_nope: Pointer,
    q_pe: Pointer,
    kv_c: Pointer,
    k_pe: Pointer,
    cache: Pointer,
    q_out: Pointer,
    slots: Pointer,
    k_scale: Pointer,
    q_scale: Pointer,
    positions: Pointer,
    cos: Pointer,
    sin: Pointer,
    heads: Tile,
    angle_rows: Tile,
    block_size: Tile,
    angle_row: Tile,
    q_strides: Tile,
    k_strides: Tile,
    out_strides: Tile,
    PLAN: constexpr,
) -> None:
    """One program makes HEADS query rows of a token, or (group 0 with CACHE) its cache row."""
    groups = tl.cdiv(heads, PLAN.HEADS) * PLAN.QUERY + PLAN.CACHE
    token = (tl.program_id(0) // groups).to(tl.int64)
    group = tl.program_id(0) % groups - PLAN.CACHE
    slot = tl.load(slots + token)
    position = tl.load(positions + token)
    cos, sin = load_angles(cos, sin, position, angle_rows, angle_row, PLAN.HALF)
    q_to: tl.constexpr = PLAN.Q_TO
    k_to: tl.constexpr = PLAN.K_TO
    if group < 0:
        one = tl.zeros((1, 1), tl.int64)
        entry = one + cache_start(cache, slot, block_size, out_strides[0], out_strides[1])
        latent, rope = kv_c + token * k_strides[0] + one, k_pe + token * k_strides[1] + one
        live = one + slot >= 0
        write_rows(entry, latent, rope, live, k_scale, cos, sin, PLAN.K_DIVIDES, k_to, PLAN)
    elif PLAN.QUERY:
        head = (group * PLAN.HEADS + tl.arange(0, PLAN.HEADS)[:, None]).to(tl.int64)
        mask = head < heads
        if not PLAN.FILLS_Q:
            mask = mask & (slot >= 0)
        out = q_out + token * out_strides[2] + head * out_strides[3]
        nope = q_nope + token * q_strides[0] + head * q_strides[1]
        pe = q_pe + token * q_strides[2] + head * q_strides[3]
        write_rows(out, nope, pe, mask, q_scale, cos, sin, False, q_to, PLAN)
