# ruff: noqa: N803  # upper case and both branches: what is decided at compile time
"""Prefill keys: each head's own part beside the rotated part that all heads share."""

from __future__ import annotations

import torch
import triton.language as tl

from backport.parity.kernels.language import Pointer, Tile, blocks, constexpr, jit, launch, require


def fused(k_nope: torch.Tensor, k_pe: torch.Tensor, k: torch.Tensor, *, heads: int = 16) -> None:
    """k = [k_nope | k_pe] in one launch, bit for bit.

    k_nope [T, H, N] (a strided view of kv_b_proj's output, say), k_pe [T, R],
    k [T, H, N + R]: one dtype of any kind, last dimensions dense, N and R powers of
    two. `heads` is how many heads a program copies. Raises ValueError otherwise.
    """
    tokens, count, nope = k_nope.shape
    rope = k_pe.shape[1]
    require(k.shape == (tokens, count, nope + rope), "k is [T, H, N + R]")
    require(k_pe.shape[0] == tokens, "k_pe has the rows of k_nope")
    require(k_nope.dtype == k_pe.dtype == k.dtype, "k_nope, k_pe and k have one dtype")
    require(k_nope.stride(2) == k_pe.stride(1) == k.stride(2) == 1, "last dimensions are dense")
    require(nope & (nope - 1) == 0 and rope & (rope - 1) == 0, "widths are powers of two")
    launch(
        _concat,
        tokens * blocks(count, heads),
        *(k_nope, k_pe, k, count),
        (*k_nope.stride()[:2], k_pe.stride(0), *k.stride()[:2]),
        NOPE=nope,
        ROPE=rope,
        HEADS=heads,
    )


def split(k_nope: torch.Tensor, k_pe: torch.Tensor, k: torch.Tensor) -> None:
    """The release's two copies (`_concat_k_nope_k_pe`), in torch."""
    k[..., : k_nope.shape[2]] = k_nope
    k[..., k_nope.shape[2] :] = k_pe.unsqueeze(1)


def reference(k_nope: torch.Tensor, k_pe: torch.Tensor) -> torch.Tensor:
    """[k_nope | k_pe] by torch.cat: [T, H, N + R]."""
    return torch.cat((k_nope, k_pe.unsqueeze(1).expand(-1, k_nope.shape[1], -1)), dim=-1)


@jit
def _concat(
    k_nope: Pointer,
    k_pe: Pointer,
    k: Pointer,
    count: Tile,
    strides: Tile,
    NOPE: constexpr,
    ROPE: constexpr,
    HEADS: constexpr,
) -> None:
    """One program writes HEADS heads of one token."""
    groups = tl.cdiv(count, HEADS)
    token = (tl.program_id(0) // groups).to(tl.int64)
    head = (tl.program_id(0) % groups) * HEADS + tl.arange(0, HEADS)[:, None]
    nope, rope = tl.arange(0, NOPE)[None, :], tl.arange(0, ROPE)[None, :]
    out = k + token * strides[3] + head * strides[4]
    mask = head < count
    own = tl.load(k_nope + token * strides[0] + head * strides[1] + nope, mask=mask)
    shared = tl.load(k_pe + token * strides[2] + rope)
    tl.store(out + nope, own, mask=mask)
    tl.store(out + NOPE + rope, tl.broadcast_to(shared, (HEADS, ROPE)), mask=mask)
