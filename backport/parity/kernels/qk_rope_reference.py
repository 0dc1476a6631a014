"""The release's own order of operations for MLA decode, in torch: what kernels must match.

rotate -> concat -> static fp8 quantization of q (csrc/.../w8a8/fp8/common.cu: multiply
by 1 / scale, saturate, cast) and concat -> paged write of k (csrc/.../cache_kernels.cu:
divide by the scale, saturate, cast). Float32 arithmetic except where `Rounding` says
otherwise.
"""

from __future__ import annotations

import torch

from backport.parity.kernels import fp8
from backport.parity.kernels.qk_rope_cache import Decode, Rounding, Style


def reference(step: Decode, style: Style) -> tuple[torch.Tensor, torch.Tensor]:
    """The q_out and cache that `step` must end with, as new tensors of their dtypes."""
    tokens = len(step.slots)
    rows = step.positions[:tokens].clamp(0, len(step.cos) - 1)
    cos, sin = step.cos[rows].float(), step.sin[rows].float()
    q_pe = rotated(step.q_pe[:tokens], cos.unsqueeze(1), sin.unsqueeze(1), style)
    k_pe = rotated(step.k_pe[:tokens], cos, sin, style)
    q = torch.cat((step.q_nope[:tokens].float(), q_pe), dim=-1)
    k = torch.cat((step.kv_c[:tokens].float(), k_pe), dim=-1)
    live = step.slots >= 0
    written = torch.ones_like(live) if style.fills_q else live
    q_out = step.q_out.clone()
    values = _quantized(q, step.q_scale, q_out.dtype, fp8.QUANT_LIMIT, divides=False)
    fp8.codes(q_out)[:tokens][written] = fp8.codes(values)[written]
    cache = step.cache.clone()
    values = _quantized(k, step.k_scale, cache.dtype, fp8.LARGEST, divides=style.divides_k)
    flat = fp8.codes(cache).view(-1, cache.shape[-1])
    flat[step.slots[live]] = fp8.codes(values)[live]
    return q_out, cache


def rotated(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, style: Style) -> torch.Tensor:
    """Float32 values of x [..., R] rotated by float32 cos and sin [..., R / 2]."""
    first, second = x.float().chunk(2, dim=-1) if style.is_neox else _pairs(x.float())
    if style.rounding == Rounding.EACH:
        first_cos, second_sin = (first * cos).to(x.dtype), (second * sin).to(x.dtype)
        second_cos, first_sin = (second * cos).to(x.dtype), (first * sin).to(x.dtype)
        halves = (first_cos - second_sin, second_cos + first_sin)
    else:
        halves = (first * cos - second * sin, second * cos + first * sin)
    stacked = torch.stack(halves, dim=-2 if style.is_neox else -1)
    joined = stacked.flatten(-2)
    return joined if style.rounding == Rounding.NOT else joined.to(x.dtype).float()


def _pairs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x[..., ::2], x[..., 1::2]


def _quantized(
    x: torch.Tensor,
    scale: torch.Tensor,
    dtype: torch.dtype,
    limits: dict[torch.dtype, float],
    *,
    divides: bool,
) -> torch.Tensor:
    if dtype not in fp8.FORMATS:
        return x.to(dtype)
    scaled = x / scale if divides else x * (1.0 / scale)
    return fp8.encoded(scaled, dtype, limits[dtype])
