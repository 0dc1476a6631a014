"""MLA prefill over cached context: gather latent rows, expand them into keys and values.

The release gathers (and dequantizes) the rows of a chunk into a workspace, runs
kv_b_proj on it, and copies keys out of the product. `fused` reads the paged cache
inside the matrix product and writes keys and values where they belong, in one
launch; `gathered` does so in two, its product reading dense rows. `expand` takes
the faster of the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from backport.parity.kernels import fp8, k_concat
from backport.parity.kernels.context_kernels import Plan, expand_tile, gather_rows
from backport.parity.kernels.language import blocks, launch, require


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
    """Rows, columns and latent lanes of a tile, warps and pipeline stages of a program.

    At most `columns` of a head's N + V columns, a power of two.
    """

    rows: int = 128
    columns: int = 128
    depth: int = 64
    warps: int = 8
    stages: int = 3


def default_tiling(*, converts: bool) -> Tiling:
    """The best measured on an H200, for tiles of codes (`converts`) and for others.

    Three stages of 128 x 128 leave room for two programs on a multiprocessor, one of
    which multiplies while the other stores. Codes are converted on their way into the
    product, so that a tile with all columns of a head, which converts them once, wins.
    gfx942 has 64 KiB of shared memory, hence two stages.
    """
    if torch.version.hip:
        return Tiling(stages=2)
    return Tiling(rows=64, columns=256, warps=4) if converts else Tiling()


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


def expand(context: Context, workspace: torch.Tensor) -> None:
    """Write keys and values of `context` the faster way.

    That is one launch for a cache in the dtype of weight and two for an fp8 cache, where
    converting each row once costs less than a launch (measured on an H200).
    `workspace` [T, L + R] is in the dtype of weight. Raises ValueError where the
    contract of `Context` is broken.
    """
    if context.cache.dtype in fp8.FORMATS:
        gathered(context, workspace)
    else:
        fused(context)


def fused(context: Context, tiling: Tiling | None = None) -> None:
    """Write keys and values of `context` in one launch.

    An fp8 cache is dequantized after the product (its float32 sum is multiplied by
    k_scale), where the release rounds the dequantized latent first; the rope part
    rounds once in both. Raises ValueError where the contract of `Context` is broken.
    """
    _check(context)
    _launch_expand(context, context.cache, context.rows, tiling)


def gathered(context: Context, workspace: torch.Tensor, tiling: Tiling | None = None) -> None:
    """What `fused` writes, in two launches: `gather` into `workspace` [T, L + R], then expand."""
    gather(context, workspace)
    _launch_expand(context, workspace.unsqueeze(1), None, tiling)


def gather(context: Context, workspace: torch.Tensor) -> None:
    """workspace [T, L + R] = the cache rows, dequantized and rounded once; one launch."""
    _check(context)
    width = context.cache.shape[2]
    require(workspace.shape == (len(context.rows), width), "the workspace is [T, L + R]")
    size = 8
    launch(
        gather_rows,
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


def _launch_expand(
    context: Context, cache: torch.Tensor, rows: torch.Tensor | None, tiling: Tiling | None
) -> None:
    count, heads, value = context.values.shape
    both, latent = context.weight.shape[0] // heads, context.weight.shape[1]
    tiling = tiling or default_tiling(converts=cache.dtype in fp8.FORMATS)
    require(latent % tiling.depth == 0, "the depth of a tile divides the latent width")
    columns = min(tiling.columns, both & -both)  # the largest power of two that divides N + V
    plan = Plan(
        ROWS=tiling.rows,
        COLUMNS=columns,
        DEPTH=tiling.depth,
        LATENT=latent,
        NOPE=both - value,
        VALUE=value,
        ROPE=cache.shape[2] - latent,
        GATHERS=rows is not None,
        FROM=fp8.codec_of(cache),
    )
    launch(
        expand_tile,
        blocks(count, tiling.rows) * heads * (both // columns),
        *(fp8.codes(cache), context.rows if rows is None else rows, context.k_scale),
        *(context.weight, context.keys, context.values),
        *(count, heads, cache.stride(-2)),
        PLAN=plan,
        num_warps=tiling.warps,
        num_stages=tiling.stages,
    )
