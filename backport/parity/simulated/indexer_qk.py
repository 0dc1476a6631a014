"""`aiter.indexer_qk_rope_quant_and_cache`: the DSA indexer's q and k prepared in one launch.

Read: argument order, dtype and layout rules. k's norm parameters have q's dtype
from v0.1.15 to v0.1.19 and are fp32 from v0.1.19.post1 on (the check aborts the
process); the scale of q is amax / 448 until then, a power of two afterwards.
"""

from __future__ import annotations

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import require
from backport.parity.simulated.rounding import rotate
from backport.parity.versions import at_least

MODULE = "aiter"
NAME = "indexer_qk_rope_quant_and_cache"
FP32_NORM_FROM = "0.1.19.post1"
DIM, ROPE, TILE = 128, 64, 16
SMALLEST = 1e-4


def install(build: Aiter) -> Aiter:
    """Offer the kernel; returns the build."""

    def indexer_qk_rope_quant_and_cache(
        q: torch.Tensor,
        q_out: torch.Tensor,
        weights: torch.Tensor,
        weights_out: torch.Tensor,
        k: torch.Tensor,
        kv_cache: torch.Tensor,
        slot_mapping: torch.Tensor,
        norm_weight: torch.Tensor,
        norm_bias: torch.Tensor,
        positions: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        eps: float,
        quant_block: int,
        scale_fmt: str,
        weights_scale: float,
        preshuffle: bool,
        is_neox: bool,
    ) -> None:
        _check_rows(q, q_out, weights, weights_out, k)
        _check_norm(build, q, norm_weight, norm_bias)
        _check_rest(q, kv_cache, slot_mapping, positions, cos, sin, preshuffle)
        require(quant_block == DIM and scale_fmt == "ue8m0", "one ue8m0 scale per row")
        require(len(slot_mapping) == len(positions) == len(q) == len(k), "one slot per row")
        build.launched(NAME)
        live = slot_mapping >= 0
        tables = (cos[positions[live]].float(), sin[positions[live]].float())
        power_of_two = at_least(build.version, FP32_NORM_FROM)
        q32 = rope(q[live].float(), tables, is_neox)
        codes, scale = quantize_rows(q32, q_out.dtype, power_of_two)
        q_out.view(torch.uint8)[live] = codes.view(torch.uint8)
        weights_out[live] = weights[live].float() * scale * weights_scale
        normed = torch.nn.functional.layer_norm(
            k[live].float(), (DIM,), norm_weight.float(), norm_bias.float(), eps
        )
        rows, scales = quantize_rows(rope(normed, tables, is_neox), q_out.dtype, True)
        write_cache(kv_cache, slot_mapping[live], rows, scales, preshuffle)

    return build.provide(MODULE, **{NAME: indexer_qk_rope_quant_and_cache})


def _check_rows(
    q: torch.Tensor,
    q_out: torch.Tensor,
    weights: torch.Tensor,
    weights_out: torch.Tensor,
    k: torch.Tensor,
) -> None:
    require(q.dim() == 3 and q.shape[2] == DIM, "q is [T, H, 128]")
    require(k.shape == (len(q), DIM), "k is [T, 128]")
    require(q_out.shape == q.shape and q_out.element_size() == 1, "q_out is fp8 like q")
    require(weights.shape == weights_out.shape == q.shape[:2], "weights are [T, H]")
    require(weights_out.dtype == torch.float32, "weights_out is fp32")
    require(q.dtype == k.dtype == weights.dtype == torch.bfloat16, "q, k and weights are bf16")
    require(q.stride(-1) == k.stride(-1) == 1, "lanes of a row are adjacent")


def _check_norm(build: Aiter, q: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> None:
    wanted = torch.float32 if at_least(build.version, FP32_NORM_FROM) else q.dtype
    kinds = {weight.dtype, bias.dtype}
    require(kinds == {wanted}, f"AITER {build.version} takes the norm in {wanted} and aborts")


def _check_rest(
    q: torch.Tensor,
    cache: torch.Tensor,
    slots: torch.Tensor,
    positions: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    preshuffle: bool,
) -> None:
    require(cache.dtype == torch.uint8 and cache.is_contiguous(), "the cache is dense bytes")
    require(cache.dim() == 3 and cache.shape[2] == DIM + 4, "the cache is [B, S, 132]")
    require(slots.dtype == positions.dtype == torch.int64, "slots and positions are int64")
    require(cos.dtype == sin.dtype == q.dtype, "cos and sin have q's dtype")
    require(cos.stride(-1) == sin.stride(-1) == 1, "lanes of cos and sin are adjacent")
    require(preshuffle == (cache.shape[1] > 1), "blocks of more than one row are tiled")
    require(not preshuffle or cache.shape[1] % TILE == 0, "tiles are 16 rows high")


def rope(x: torch.Tensor, tables: tuple[torch.Tensor, torch.Tensor], is_neox: bool) -> torch.Tensor:
    """The leading 64 lanes of x [T, (H,) 128] rotated; no rounding but the dtype's."""
    cos, sin = (t if x.dim() == 2 else t[:, None] for t in tables)
    return torch.cat((rotate(x[..., :ROPE], cos, sin, is_neox), x[..., ROPE:]), -1)


def quantize_rows(
    x: torch.Tensor, dtype: torch.dtype, power_of_two: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """fp8 codes of x [..., 128] and their fp32 scales [...]."""
    limit = torch.finfo(dtype).max
    scale = x.float().abs().amax(-1).clamp_min(SMALLEST) / limit
    if power_of_two:
        scale = torch.exp2(torch.ceil(torch.log2(scale)))
    return (x.float() / scale[..., None]).clamp(-limit, limit).to(dtype), scale


def write_cache(
    cache: torch.Tensor,
    slots: torch.Tensor,
    codes: torch.Tensor,
    scales: torch.Tensor,
    tiled: bool,
) -> None:
    """A block holds its codes first (in 16 x 16 tiles if `tiled`), then its fp32 scales."""
    block = cache.shape[1]
    flat = cache.view(cache.shape[0], -1)
    for slot, row, scale in zip(slots.tolist(), codes.view(torch.uint8), scales, strict=True):
        number, offset = divmod(slot, block)
        flat[number, _places(offset, tiled)] = row
        at = block * DIM + 4 * offset
        flat[number, at : at + 4] = scale.reshape(1).view(torch.uint8)


def read_cache(
    cache: torch.Tensor, slots: torch.Tensor, dtype: torch.dtype, tiled: bool
) -> torch.Tensor:
    """Dequantized rows [len(slots), 128] fp64."""
    block = cache.shape[1]
    flat = cache.view(cache.shape[0], -1)
    rows = [torch.zeros(0, DIM, dtype=torch.float64)]
    for slot in slots.tolist():
        number, offset = divmod(slot, block)
        codes = flat[number, _places(offset, tiled)].view(dtype).float().double()
        at = block * DIM + 4 * offset
        rows.append((codes * flat[number, at : at + 4].clone().view(torch.float32))[None])
    return torch.cat(rows)


def _places(offset: int, tiled: bool) -> torch.Tensor:
    lane = torch.arange(DIM)
    if not tiled:
        return offset * DIM + lane
    tile, row = divmod(offset, TILE)
    return tile * TILE * DIM + lane // TILE * TILE * TILE + row * TILE + lane % TILE
