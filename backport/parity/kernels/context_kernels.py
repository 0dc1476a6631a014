# ruff: noqa: N803, RET505  # upper case and both branches: what is decided at compile time
"""The two kernels of `context`: gather rows, and gather while multiplying."""

from __future__ import annotations

from dataclasses import dataclass

import triton.language as tl

from backport.parity.kernels import fp8
from backport.parity.kernels.language import INTERPRETED, Pointer, Tile, constexpr, jit, rounded


@dataclass(frozen=True, slots=True)
class Plan:
    """What `expand_tile` is compiled for."""

    ROWS: int
    COLUMNS: int
    DEPTH: int
    LATENT: int
    NOPE: int
    VALUE: int
    ROPE: int
    GATHERS: bool
    FROM: fp8.Codec


@jit
def expand_tile(
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
    """One program makes COLUMNS columns of one head's [keys | values] for ROWS rows.

    Columns and heads run fastest, so that the programs at work share their rows and
    the weight in the L2 cache. The first of a head's programs writes the rope part.
    """
    dtype: tl.constexpr = keys.dtype.element_ty
    source: tl.constexpr = PLAN.FROM
    size: tl.constexpr = PLAN.ROWS
    width: tl.constexpr = PLAN.COLUMNS
    parts: tl.constexpr = (PLAN.NOPE + PLAN.VALUE) // PLAN.COLUMNS
    item = tl.program_id(0) // parts
    head, part = item % heads, tl.program_id(0) % parts
    token = (item // heads) * size + tl.arange(0, size)
    row = tl.minimum(token, count - 1)
    if PLAN.GATHERS:
        row = tl.load(rows + row)
    start = cache + row.to(tl.int64)[:, None] * row_stride
    lane, column = tl.arange(0, PLAN.DEPTH), part * width + tl.arange(0, width)
    columns = weight + (head * (PLAN.NOPE + PLAN.VALUE) + column)[None, :] * PLAN.LATENT
    total = tl.zeros((size, width), tl.float32)
    for depth in tl.range(0, PLAN.LATENT, PLAN.DEPTH):
        latent = _operand(tl.load(start + depth + lane[None, :]), dtype, source)
        total = _product(latent, tl.load(columns + lane[:, None] + depth), total)
    scale = 1.0
    if source.FORMAT != fp8.KEEP:
        scale = tl.load(k_scale)
    mask = (token < count)[:, None]
    entry = token.to(tl.int64)[:, None] * heads + head
    key = keys + entry * (PLAN.NOPE + PLAN.ROPE)
    value = values + entry * PLAN.VALUE
    _store_columns(key, value, rounded(total * scale, dtype), mask, part, PLAN)
    if part == 0:
        rope = PLAN.LATENT + tl.arange(0, PLAN.ROPE)[None, :]
        shared = rounded(_dequantized(tl.load(start + rope), scale, source), dtype)
        tl.store(key + (PLAN.NOPE - PLAN.LATENT) + rope, shared, mask=mask)


@jit
def _store_columns(
    key: Pointer, value: Pointer, x: Tile, mask: Tile, part: Tile, PLAN: constexpr
) -> None:
    """Write `x`, part `part` of [keys | values], to the rows that begin at key and value."""
    lane = tl.arange(0, PLAN.COLUMNS)[None, :]
    first = part * PLAN.COLUMNS
    if PLAN.NOPE % PLAN.COLUMNS == 0:  # all of it keys or all of it values
        if first < PLAN.NOPE:
            tl.store(key + first + lane, x, mask=mask)
        else:
            tl.store(value + (first - PLAN.NOPE) + lane, x, mask=mask)
    else:
        column = first + lane
        tl.store(key + column, x, mask=mask & (column < PLAN.NOPE))
        tl.store(value + (column - PLAN.NOPE), x, mask=mask & (column >= PLAN.NOPE))


@jit
def gather_rows(
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
