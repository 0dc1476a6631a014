# ruff: noqa: N803, RET505  # upper case and both branches: what is decided at compile time
"""MLA prefill over cached context: gather latent rows, expand them into keys and values.

The release gathers (and dequantizes) the rows of a chunk into a workspace, runs
kv_b_proj on it, and copies keys out of the product. `fused` reads the paged cache
inside the matrix product and writes keys and values where they belong, in one
launch; `gathered` does so in two, its product reading dense rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton.language as tl

from backport.parity.kernels import fp8, k_concat
from backport.parity.kernels.language import (
    INTERPRETED,
    Pointer,
    Tile,
    blocks,
    constexpr,
    jit,
    launch,
    require,
    rounded,
)


@dataclass(frozen=True, slots=True)
class Context:
    """One chunk of cached context; T rows, H heads, L latent, R rope, N nope, V value.

    cache [blocks, block, L + R], fp8 or the dtype of weight, blocks laid out densely;
    rows int32 [T]: block * block_size + offset of each row (`row_indices`);
    k_scale float32 of one element, unused unless the cache is fp8;
    weight [H * (N + V), L]: kv_b_proj's, bfloat16 or float16, dense;
    keys [T, H, N + R], values [T, H, V]: dense, in the dtype of weight.
    """

    cache: torch.Tensor
    rows: torch.Tensor
    k_scale: torch.Tensor
    weight: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor


@dataclass(frozen=True, slots=True)
class Tiling:
    """Rows and latent lanes of a tile, warps and pipeline stages of a program."""

    rows: int = 128
    depth: int = 64
    warps: int = 8
    stages: int = 4


def default_tiling() -> Tiling:
    """Four stages fill the shared memory of an H200; gfx942 has 64 KiB."""
    return Tiling(stages=2) if torch.version.hip else Tiling()


def row_indices(
    block_table: torch.Tensor, starts: torch.Tensor, lengths: torch.Tensor, block_size: int
) -> torch.Tensor:
    """Flat cache rows, int32 [sum(lengths)], of positions starts[i] + [0, lengths[i]).

    block_table int [requests, blocks]; starts and lengths int [requests].
    """
    requests = torch.arange(len(lengths), device=lengths.device).repeat_interleave(lengths)
    firsts = torch.cumsum(lengths, 0) - lengths
    offsets = torch.arange(len(requests), device=lengths.device) - firsts[requests]
    positions = offsets + starts[requests]
    pages = block_table[requests, positions // block_size].long()
    return (pages * block_size + positions % block_size).int()


def fused(context: Context, tiling: Tiling | None = None) -> None:
    """Write keys and values of `context` in one launch.

    An fp8 cache is dequantized after the product (its float32 sum is multiplied by
    k_scale), where the release rounds the dequantized latent first; the rope part
    rounds once in both. Raises ValueError where the contract of `Context` is broken.
    """
    _check(context)
    _launch_expand(context, context.cache, context.rows, tiling or default_tiling())


def gathered(context: Context, workspace: torch.Tensor, tiling: Tiling | None = None) -> None:
    """What `fused` writes, in two launches: `gather` into `workspace` [T, L + R], then expand."""
    gather(context, workspace)
    _launch_expand(context, workspace.unsqueeze(1), None, tiling or default_tiling())


def gather(context: Context, workspace: torch.Tensor) -> None:
    """workspace [T, L + R] = the cache rows, dequantized and rounded once; one launch."""
    _check(context)
    width = context.cache.shape[2]
    require(workspace.shape == (len(context.rows), width), "the workspace is [T, L + R]")
    size = 8
    launch(
        _gather,
        blocks(len(context.rows), size),
        *(fp8.codes(context.cache), context.rows, context.k_scale, workspace),
        *(len(context.rows), width, context.cache.stride(1), workspace.stride(0)),
        ROWS=size,
        WIDTH=1 << (width - 1).bit_length(),
        FROM=fp8.codec_of(context.cache),
    )


def split(context: Context, workspace: torch.Tensor) -> torch.Tensor:
    """The release's sequence: gather, kv_b_proj, and two copies into keys; returns the values.

    The values [T, H, V] are a strided view of the product, as in the release.
    """
    gather(context, workspace)
    heads, value = context.values.shape[1:]
    latent = context.weight.shape[1]
    product = torch.nn.functional.linear(workspace[:, :latent], context.weight)
    both = product.view(len(workspace), heads, -1)
    k_concat.split(both[..., :-value], workspace[:, latent:], context.keys)
    return both[..., -value:]


def reference(context: Context) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of `context` in float64."""
    width = context.cache.shape[2]
    rows = context.cache.reshape(-1, width)[context.rows.long()].double()
    if context.cache.dtype in fp8.FORMATS:
        rows = rows * context.k_scale.double()
    heads, value = context.values.shape[1:]
    latent = context.weight.shape[1]
    product = rows[:, :latent] @ context.weight.double().T
    own = product.view(len(rows), heads, -1)
    shared = rows[:, None, latent:].expand(-1, heads, -1)
    return torch.cat((own[..., :-value], shared), dim=-1), own[..., -value:]


def _check(context: Context) -> None:
    heads, value = context.values.shape[1:]
    latent = context.weight.shape[1]
    rope = context.cache.shape[2] - latent
    nope = context.weight.shape[0] // heads - value
    rows = len(context.rows)
    dtype = context.weight.dtype
    require(context.cache.dtype in (*fp8.FORMATS, dtype), "the cache is fp8 or as the weight")
    require(context.cache.is_contiguous(), "the cache is dense")
    require(context.rows.dtype == torch.int32, "rows are int32")
    require(context.weight.is_contiguous(), "the weight is dense")
    require(context.keys.shape == (rows, heads, nope + rope), "keys are [T, H, N + R]")
    require(context.values.shape[0] == rows, "values are [T, H, V]")
    require(context.keys.dtype == context.values.dtype == dtype, "outputs are as the weight")
    require(context.keys.is_contiguous() and context.values.is_contiguous(), "outputs are dense")
    require(all(_is_power_of_two(x) for x in (nope, value, rope)), "widths are powers of two")


def _is_power_of_two(count: int) -> bool:
    return count > 0 and count & (count - 1) == 0


@dataclass(frozen=True, slots=True)
class _Plan:
    """What `_expand` is compiled for."""

    ROWS: int
    DEPTH: int
    LATENT: int
    NOPE: int
    VALUE: int
    ROPE: int
    GATHERS: bool
    FROM: fp8.Codec


def _launch_expand(
    context: Context, cache: torch.Tensor, rows: torch.Tensor | None, tiling: Tiling
) -> None:
    count, heads, value = context.values.shape
    latent = context.weight.shape[1]
    require(latent % tiling.depth == 0, "the depth of a tile divides the latent width")
    plan = _Plan(
        ROWS=tiling.rows,
        DEPTH=tiling.depth,
        LATENT=latent,
        NOPE=context.weight.shape[0] // heads - value,
        VALUE=value,
        ROPE=cache.shape[2] - latent,
        GATHERS=rows is not None,
        FROM=fp8.codec_of(cache),
    )
    launch(
        _expand,
        blocks(count, tiling.rows) * heads,
        *(fp8.codes(cache), context.rows if rows is None else rows, context.k_scale),
        *(context.weight, context.keys, context.values),
        *(count, heads, cache.stride(-2)),
        PLAN=plan,
        num_warps=tiling.warps,
        num_stages=tiling.stages,
    )


@jit
def _expand(
    cache: Pointer,
    rows: Pointer,
    k_scale: Pointer,
    weight: Pointer,
    keys: Pointer,
    values: Pointer,
    count: Tile,
    heads: Tile,
    row_stride: Tile,
    PLAN: constexpr,
) -> None:
    """One program makes keys and values of one head for ROWS rows.

    Heads run fastest, so that the programs at work share their rows and the
    weight in the L2 cache. The two products share each tile of latent rows.
    """
    dtype: tl.constexpr = keys.dtype.element_ty
    source: tl.constexpr = PLAN.FROM
    size: tl.constexpr = PLAN.ROWS
    own: tl.constexpr = PLAN.NOPE
    width: tl.constexpr = PLAN.VALUE
    latent_width: tl.constexpr = PLAN.LATENT
    head = tl.program_id(0) % heads
    token = (tl.program_id(0) // heads) * size + tl.arange(0, size)
    row = tl.minimum(token, count - 1)
    if PLAN.GATHERS:
        row = tl.load(rows + row)
    start = cache + row.to(tl.int64)[:, None] * row_stride
    lane, rope = tl.arange(0, PLAN.DEPTH), tl.arange(0, PLAN.ROPE)[None, :]
    nope, out = tl.arange(0, own)[None, :], tl.arange(0, width)[None, :]
    key_weight = weight + (head * (own + width) + nope) * latent_width + lane[:, None]
    value_weight = weight + (head * (own + width) + own + out) * latent_width + lane[:, None]
    key = tl.zeros((size, own), tl.float32)
    value = tl.zeros((size, width), tl.float32)
    for depth in tl.range(0, latent_width, PLAN.DEPTH):
        latent = _operand(tl.load(start + depth + lane[None, :]), dtype, source)
        key = _product(latent, tl.load(key_weight + depth), key)
        value = _product(latent, tl.load(value_weight + depth), value)
    scale = 1.0
    if source.FORMAT != fp8.KEEP:
        scale = tl.load(k_scale)
    mask = (token < count)[:, None]
    item = token.to(tl.int64)[:, None] * heads + head
    key_out = keys + item * (own + PLAN.ROPE)
    tl.store(key_out + nope, rounded(key * scale, dtype), mask=mask)
    tl.store(values + item * width + out, rounded(value * scale, dtype), mask=mask)
    shared = _dequantized(tl.load(start + latent_width + rope), scale, source)
    tl.store(key_out + own + rope, rounded(shared, dtype), mask=mask)


@jit
def _gather(
    cache: Pointer,
    rows: Pointer,
    k_scale: Pointer,
    workspace: Pointer,
    count: Tile,
    width: Tile,
    row_stride: Tile,
    out_stride: Tile,
    ROWS: constexpr,
    WIDTH: constexpr,
    FROM: constexpr,
) -> None:
    """One program dequantizes ROWS rows into the workspace."""
    token = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    row = tl.load(rows + token, mask=token < count, other=0).to(tl.int64)[:, None]
    lane = tl.arange(0, WIDTH)[None, :]
    mask = (token < count)[:, None] & (lane < width)
    values = tl.load(cache + row * row_stride + lane, mask=mask)
    scale = 1.0
    if FROM.FORMAT != fp8.KEEP:
        scale = tl.load(k_scale)
    values = rounded(_dequantized(values, scale, FROM), workspace.dtype.element_ty)
    tl.store(workspace + token.to(tl.int64)[:, None] * out_stride + lane, values, mask=mask)


@jit
def _dequantized(values: Tile, scale: Tile, FROM: constexpr) -> Tile:
    """Float32 values of cache entries."""
    if FROM.FORMAT == fp8.KEEP:
        return values.to(tl.float32)
    else:
        return fp8.decode(values, FROM) * scale


@jit
def _operand(values: Tile, DTYPE: constexpr, FROM: constexpr) -> Tile:
    """Cache entries without their scale in DTYPE, which holds every e4m3 value exactly."""
    if FROM.FORMAT == fp8.KEEP:
        return values
    else:
        return rounded(fp8.decode(values, FROM), DTYPE)


@jit
def _product(left: Tile, right: Tile, total: Tile) -> Tile:
    """left @ right + total in float32; Triton's interpreter has no bfloat16 product."""
    if INTERPRETED:
        return tl.dot(left.to(tl.float32), right.to(tl.float32), total, input_precision="ieee")
    else:
        return tl.dot(left, right, total)
