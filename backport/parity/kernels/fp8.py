# ruff: noqa: N803, RET505  # upper case and both branches: what is decided at compile time
"""The two e4m3 formats: OCP (`fn`) and the one of AMD's gfx942 (`fnuz`).

A GPU that has a format casts it in hardware; elsewhere, and in Triton's
interpreter whose own casts do not round to nearest even, the same codes are made
with integer arithmetic. Codes travel as uint8.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton.language as tl

from backport.parity.kernels.language import INTERPRETED, Pointer, Tile, constexpr, jit, rounded

KEEP = tl.constexpr(0)  # no fp8: the destination's own dtype
FN = tl.constexpr(1)
FNUZ = tl.constexpr(2)

FORMATS: dict[torch.dtype, int] = {torch.float8_e4m3fn: 1, torch.float8_e4m3fnuz: 2}
LARGEST: dict[torch.dtype, float] = {torch.float8_e4m3fn: 448.0, torch.float8_e4m3fnuz: 240.0}
# Where vLLM's static quantization saturates (csrc/quantization/utils.cuh); its cache writer
# saturates at LARGEST.
QUANT_LIMIT: dict[torch.dtype, float] = {
    torch.float8_e4m3fn: 448.0,
    torch.float8_e4m3fnuz: 224.0,
}


@dataclass(frozen=True, slots=True)
class Codec:
    """How kernels read and write values of one dtype: a compile-time argument."""

    FORMAT: int
    LIMIT: float = 0.0  # values saturate at +-LIMIT
    HARDWARE: bool = False  # the GPU casts, not integer arithmetic


AS_IS = Codec(FORMAT=0)  # no fp8


def codec_of(tensor: torch.Tensor, limits: dict[torch.dtype, float] = LARGEST) -> Codec:
    """How kernels treat `tensor`: as it is, or as fp8 that saturates at `limits` of its dtype."""
    dtype = tensor.dtype
    if dtype not in FORMATS:
        return AS_IS
    return Codec(FORMATS[dtype], limits[dtype], in_hardware(dtype, tensor.device))


def codes(tensor: torch.Tensor) -> torch.Tensor:
    """An fp8 tensor as its uint8 codes, any other one as it is; no copy."""
    return tensor.view(torch.uint8) if tensor.dtype in FORMATS else tensor


def in_hardware(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether Triton casts to and from `dtype` with instructions of `device`."""
    if INTERPRETED.value or device.type == "cpu" or dtype not in FORMATS:
        return False
    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        arch = properties.gcnArchName.split(":")[0]
        wanted = "gfx94" if dtype == torch.float8_e4m3fnuz else "gfx95"
        return bool(arch.startswith(wanted))
    return dtype == torch.float8_e4m3fn and (properties.major, properties.minor) >= (8, 9)


def preferred() -> torch.dtype:
    """The e4m3 format that GPUs like the one at hand, or most if there is none, cast."""
    device = torch.device("cuda")
    prefers_fnuz = torch.cuda.is_available() and in_hardware(torch.float8_e4m3fnuz, device)
    return torch.float8_e4m3fnuz if prefers_fnuz else torch.float8_e4m3fn


def encoded(x: torch.Tensor, dtype: torch.dtype, limit: float) -> torch.Tensor:
    """The reference: `x` (any float dtype) saturated at +-`limit` and cast to fp8 `dtype`.

    torch alone turns 1e4 into NaN for e4m3fnuz, so the clamp comes first.
    """
    return x.float().clamp(-limit, limit).to(dtype)


@jit
def encode(x: Tile, TO: constexpr) -> Tile:
    """The uint8 codes of finite float32 `x`, saturated as TO says, to nearest even."""
    clamped = tl.minimum(tl.maximum(x, -TO.LIMIT), TO.LIMIT)
    if TO.FORMAT == FN:
        if TO.HARDWARE:
            return clamped.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
        else:
            return _encode_bits(clamped, 7)
    else:
        if TO.HARDWARE:
            return clamped.to(tl.float8e4b8).to(tl.uint8, bitcast=True)
        else:
            code = _encode_bits(clamped, 8)
            return tl.where(code == 0x80, 0, code).to(tl.uint8)  # fnuz has no negative zero


@jit
def decode(code: Tile, FROM: constexpr) -> Tile:
    """The float32 values of uint8 `code`, exactly."""
    if FROM.FORMAT == FN:
        if FROM.HARDWARE:
            return code.to(tl.float8e4nv, bitcast=True).to(tl.float32)
        else:
            value = _decode_bits(code, 7)
            return tl.where((code & 0x7F) == 0x7F, float("nan"), value)
    else:
        if FROM.HARDWARE:
            return code.to(tl.float8e4b8, bitcast=True).to(tl.float32)
        else:
            value = _decode_bits(code, 8)
            return tl.where(code == 0x80, float("nan"), value)


@jit
def store(to: Pointer, x: Tile, mask: Tile, TO: constexpr) -> None:
    """Write float32 `x` to `to`: as codes, or rounded to the dtype of `to`."""
    if TO.FORMAT == KEEP:
        tl.store(to, rounded(x, to.dtype.element_ty), mask=mask)
    else:
        tl.store(to, encode(x, TO), mask=mask)


@jit
def _encode_bits(x: Tile, BIAS: constexpr) -> Tile:
    """e4m3 codes with exponent bias BIAS of float32 `x` inside the format's range.

    A normal value is rounded by carrying into its upper 12 bits. A value below
    the smallest normal one is rounded by the adder: the last place of the magic
    constant 2**(21 - BIAS) + |x| is the last place of a subnormal code.
    """
    bits = x.to(tl.uint32, bitcast=True)
    sign = (bits >> 24) & 0x80
    size = bits & 0x7FFFFFFF
    normal = ((size + 0x7FFFF + ((size >> 20) & 1)) >> 20) - ((127 - BIAS) << 3)
    magic: tl.constexpr = float(1 << (21 - BIAS))
    sum_bits = (tl.abs(x) + magic).to(tl.uint32, bitcast=True)
    small = sum_bits - ((148 - BIAS) << 23)
    smallest_normal: tl.constexpr = (128 - BIAS) << 23
    return (sign | tl.where(size < smallest_normal, small, normal)).to(tl.uint8)


@jit
def _decode_bits(code: Tile, BIAS: constexpr) -> Tile:
    """Float32 values of e4m3 codes: moved into float32's fields, then scaled by the biases."""
    wide = code.to(tl.uint32)
    bits = ((wide & 0x80) << 24) | ((wide & 0x7F) << 20)
    scale: tl.constexpr = float(1 << (127 - BIAS))
    return bits.to(tl.float32, bitcast=True) * scale
