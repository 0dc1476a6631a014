# ruff: noqa: N803  # upper case and both branches: what is decided at compile time
"""The RMS norms of MLA's query and key latents: one launch, or one for each.

The two launches and the one share `_norm`, so they agree to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton.language as tl

from backport.parity.kernels.language import (
    Pointer,
    Tile,
    constexpr,
    jit,
    launch,
    require,
    rounded,
)


@dataclass(frozen=True, slots=True)
class Norm:
    """One RMS norm: x [T, D] (rows may be strided), weight [D] dense, out [T, D].

    One of bfloat16, float16, float32; the weight may differ from x. `eps` is added
    to the mean square.
    """

    x: torch.Tensor
    weight: torch.Tensor
    out: torch.Tensor
    eps: float


def fused(q: Norm, kv: Norm, *, rounds_first: bool = False) -> None:
    """Write both norms' `out` in one launch.

    out = round(x * rsqrt(mean(x^2) + eps) * weight), in float32 up to the single
    rounding as AITER's kernel does; with `rounds_first` the normalised x is rounded
    to the dtype of x before the weight multiplies it, as vLLM's rms_norm does.
    Raises ValueError where a shape or stride breaks the contract of `Norm`.
    """
    _check(q)
    _check(kv)
    require(len(q.x) == len(kv.x), "q and kv have the same rows")
    _launch(q, kv, norms=2, rounds_first=rounds_first)


def split(q: Norm, kv: Norm, *, rounds_first: bool = False) -> None:
    """What `fused` writes, in two launches."""
    for norm in (q, kv):
        _check(norm)
        _launch(norm, norm, norms=1, rounds_first=rounds_first)


def reference(norm: Norm) -> torch.Tensor:
    """The norm of `norm.x` in float64: [T, D]."""
    x = norm.x.double()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + norm.eps) * norm.weight.double()


def _check(norm: Norm) -> None:
    require(norm.x.dim() == 2 and norm.out.shape == norm.x.shape, "x and out are [T, D]")
    require(norm.weight.shape == norm.x.shape[1:], "weight is [D]")
    require(norm.x.stride(1) == norm.out.stride(1) == 1, "rows are dense")
    require(norm.weight.is_contiguous(), "the weight is contiguous")


def _launch(first: Norm, second: Norm, *, norms: int, rounds_first: bool) -> None:
    widest = max(first.x.shape[1], second.x.shape[1])
    launch(
        _dual,
        len(first.x) * norms,
        *(first.x, first.weight, first.out, second.x, second.weight, second.out),
        *(first.x.shape[1], second.x.shape[1], first.eps, second.eps),
        (first.x.stride(0), first.out.stride(0), second.x.stride(0), second.out.stride(0)),
        NORMS=norms,
        FIRST_BLOCK=1 << (first.x.shape[1] - 1).bit_length(),
        SECOND_BLOCK=1 << (second.x.shape[1] - 1).bit_length(),
        ROUNDS_FIRST=rounds_first,
        num_warps=8 if widest > 2048 else 4,
    )


@jit
def _dual(
    first: Pointer,
    first_weight: Pointer,
    first_out: Pointer,
    second: Pointer,
    second_weight: Pointer,
    second_out: Pointer,
    first_width: Tile,
    second_width: Tile,
    first_eps: Tile,
    second_eps: Tile,
    strides: Tile,
    NORMS: constexpr,
    FIRST_BLOCK: constexpr,
    SECOND_BLOCK: constexpr,
    ROUNDS_FIRST: constexpr,
) -> None:
    """One program normalises one row of one of the NORMS inputs."""
    row = (tl.program_id(0) // NORMS).to(tl.int64)
    if tl.program_id(0) % NORMS == 0:
        x, out = first + row * strides[0], first_out + row * strides[1]
        _norm(x, first_weight, out, first_width, first_eps, FIRST_BLOCK, ROUNDS_FIRST)
    else:
        x, out = second + row * strides[2], second_out + row * strides[3]
        _norm(x, second_weight, out, second_width, second_eps, SECOND_BLOCK, ROUNDS_FIRST)


@jit
def _norm(
    x: Pointer,
    weight: Pointer,
    out: Pointer,
    width: Tile,
    eps: Tile,
    BLOCK: constexpr,
    ROUNDS_FIRST: constexpr,
) -> None:
    lane = tl.arange(0, BLOCK)
    mask = lane < width
    values = tl.load(x + lane, mask=mask, other=0.0)
    scales = tl.load(weight + lane, mask=mask, other=0.0).to(tl.float32)
    wide = values.to(tl.float32)
    normal = wide * tl.rsqrt(tl.sum(wide * wide) / width + eps)
    if ROUNDS_FIRST:
        normal = rounded(normal, values.dtype).to(tl.float32)
    tl.store(out + lane, rounded(normal * scales, out.dtype.element_ty), mask=mask)
