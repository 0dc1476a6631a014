# ruff: noqa: N803  # upper case: what is decided at compile time
"""Static fp8 quantization of a dense tensor: the release's kernel after a concatenation."""

from __future__ import annotations

import torch
import triton.language as tl

from backport.parity.kernels import fp8
from backport.parity.kernels.language import Pointer, Tile, blocks, constexpr, jit, launch, require
from backport.parity.kernels.mla_rows import scaled


def quantize(x: torch.Tensor, out: torch.Tensor, scale: torch.Tensor) -> None:
    """out = saturated fp8 of x * (1 / scale), in one launch.

    x of any shape in bfloat16, float16 or float32, out of the same shape in an e4m3
    format, both dense; scale float32 of one element. Raises ValueError otherwise.
    """
    require(x.is_contiguous() and out.is_contiguous(), "x and out are dense")
    require(x.shape == out.shape and out.dtype in fp8.FORMATS, "out is fp8, shaped as x")
    size = 4096
    codec = fp8.codec_of(out, fp8.QUANT_LIMIT)
    launch(
        _quantize,
        blocks(x.numel(), size),
        *(x, fp8.codes(out), scale, x.numel()),
        SIZE=size,
        TO=codec,
    )


@jit
def _quantize(
    x: Pointer, out: Pointer, scale: Pointer, count: Tile, SIZE: constexpr, TO: constexpr
) -> None:
    item = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    values = tl.load(x + item, mask=item < count)
    fp8.store(out + item, scaled(values, scale, False, TO), item < count, TO)
