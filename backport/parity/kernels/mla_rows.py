# ruff: noqa: N803, RET505  # upper case and both branches: what is decided at compile time
"""One row of MLA's query or cache inside a kernel: latent part, rotated part, quantization.

The fused kernel and the split kernels are both made of these functions, which is
why their outputs agree to the bit. A row is [nope | rope].

Kernels that rotate are launched with EXACT: a GPU with a bfloat16 (or float16)
multiply-add would otherwise contract the rotation into it and lose the rounding of
a product that `EACH` asks for.
"""

from __future__ import annotations

import triton.language as tl

from backport.parity.kernels import fp8
from backport.parity.kernels.language import Pointer, Tile, constexpr, jit, rounded

# How a rotated value is rounded before it is quantized.
NOT = tl.constexpr(0)  # float32 to the end: AITER's fused kernel
ONCE = tl.constexpr(1)  # the rotary_embedding op of the release: once, to the model's dtype
EACH = tl.constexpr(2)  # the release's forward_native: both products and their sum

EXACT = {"enable_fp_fusion": False}  # launch options: every product is rounded


@jit
def load_angles(
    cos: Pointer, sin: Pointer, position: Tile, rows: Tile, stride: Tile, HALF: constexpr
) -> Tile:
    """Float32 cos and sin [1, HALF] at `position`, which is clamped into [0, rows)."""
    row = tl.minimum(tl.maximum(position, 0), rows - 1).to(tl.int64)
    lane = tl.arange(0, HALF)[None, :]
    return (
        tl.load(cos + row * stride + lane).to(tl.float32),
        tl.load(sin + row * stride + lane).to(tl.float32),
    )


@jit
def load_pairs(start: Pointer, mask: Tile, NEOX: constexpr, HALF: constexpr) -> Tile:
    """The two halves [N, HALF] that rotate against each other, of rows that begin at `start`.

    NEOX pairs lane i with lane i + HALF, GPT-J's style lane 2i with 2i + 1.
    """
    if NEOX:
        lane = tl.arange(0, HALF)[None, :]
        return tl.load(start + lane, mask=mask), tl.load(start + HALF + lane, mask=mask)
    else:
        both = tl.load(start + tl.arange(0, 2 * HALF)[None, :], mask=mask)
        return tl.split(tl.reshape(both, (both.shape[0], HALF, 2)))


@jit
def store_pairs(
    start: Pointer,
    first: Tile,
    second: Tile,
    mask: Tile,
    NEOX: constexpr,
    HALF: constexpr,
    TO: constexpr,
) -> None:
    """Write float32 halves [N, HALF] back where `load_pairs` would find them."""
    if NEOX:
        lane = tl.arange(0, HALF)[None, :]
        fp8.store(start + lane, first, mask, TO)
        fp8.store(start + HALF + lane, second, mask, TO)
    else:
        both = tl.reshape(tl.join(first, second), (first.shape[0], 2 * HALF))
        fp8.store(start + tl.arange(0, 2 * HALF)[None, :], both, mask, TO)


@jit
def rotate(x: Tile, y: Tile, cos: Tile, sin: Tile, ROUNDING: constexpr) -> Tile:
    """The rotated pair in float32, rounded to the dtype of `x` as ROUNDING says."""
    dtype: tl.constexpr = x.dtype
    x_cos, y_sin = x.to(tl.float32) * cos, y.to(tl.float32) * sin
    y_cos, x_sin = y.to(tl.float32) * cos, x.to(tl.float32) * sin
    if ROUNDING == EACH:
        x_cos, y_sin = _through(x_cos, dtype), _through(y_sin, dtype)
        y_cos, x_sin = _through(y_cos, dtype), _through(x_sin, dtype)
    first, second = x_cos - y_sin, y_cos + x_sin
    if ROUNDING == NOT:
        return first, second
    else:
        return _through(first, dtype), _through(second, dtype)


@jit
def _through(x: Tile, DTYPE: constexpr) -> Tile:
    return rounded(x, DTYPE).to(tl.float32)


@jit
def scaled(x: Tile, scale: Pointer, DIVIDES: constexpr, TO: constexpr) -> Tile:
    """Float32 x / scale, or x * (1 / scale); `x` itself when nothing is quantized."""
    wide = x.to(tl.float32)
    if TO.FORMAT == fp8.KEEP:
        return wide
    elif DIVIDES:
        return tl.div_rn(wide, tl.load(scale))
    else:
        return wide * tl.div_rn(1.0, tl.load(scale))


@jit
def write_rows(
    to: Pointer,
    latent: Pointer,
    rope: Pointer,
    mask: Tile,
    scale: Pointer,
    cos: Tile,
    sin: Tile,
    DIVIDES: constexpr,
    TO: constexpr,
    PLAN: constexpr,
) -> None:
    """Quantize [latent | rope], the rows [N, 1] that begin at these pointers, into `to`."""
    lane = tl.arange(0, PLAN.NOPE)[None, :]
    values = tl.load(latent + lane, mask=mask, eviction_policy="evict_first")
    first, second = load_pairs(rope, mask, PLAN.NEOX, PLAN.HALF)
    fp8.store(to + lane, scaled(values, scale, DIVIDES, TO), mask, TO)
    if PLAN.ROTATES:
        first, second = rotate(first, second, cos, sin, PLAN.ROUNDING)
    first, second = scaled(first, scale, DIVIDES, TO), scaled(second, scale, DIVIDES, TO)
    store_pairs(to + PLAN.NOPE, first, second, mask, PLAN.NEOX, PLAN.HALF, TO)


@jit
def cache_start(
    cache: Pointer, slot: Tile, block_size: Tile, block_stride: Tile, entry_stride: Tile
) -> Tile:
    """Where `slot` of a paged cache begins."""
    block = (slot // block_size).to(tl.int64)
    return cache + block * block_stride + (slot % block_size) * entry_stride
