"""Number formats: saturating fp8 casts, rope in fp32, and their fp64 counterparts."""

from __future__ import annotations

import torch


def fp8_dtype(name: str) -> torch.dtype:
    """The torch dtype of `float8_e4m3fn` (gfx950) or `float8_e4m3fnuz` (gfx942)."""
    dtype: torch.dtype = getattr(torch, name)
    return dtype


def quantize(values: torch.Tensor, scale: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """fp8 of `values * (1 / scale)`, saturated: the cast alone would give NaN in e4m3fnuz."""
    limit = torch.finfo(dtype).max
    return (values.float() * (1.0 / scale.float())).clamp(-limit, limit).to(dtype)


def quantize_by_division(
    values: torch.Tensor, scale: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """fp8 of `values / scale`, saturated: the order of vLLM's own cache writer."""
    limit = torch.finfo(dtype).max
    return (values.float() / scale.float()).clamp(-limit, limit).to(dtype)


def dequantize(codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """fp64 values of fp8 codes."""
    return codes.float().double() * scale.double()


def smallest_normal(dtype: torch.dtype) -> float:
    """Below this the format's steps are absolute."""
    return float(torch.finfo(dtype).smallest_normal)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, is_neox: bool) -> torch.Tensor:
    """x [..., R] rotated by cos and sin [..., R/2], in the dtype of the arguments.

    Neox pairs lane i with lane i + R/2, GPT-J pairs neighbours.
    """
    if is_neox:
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
