"""Small inputs for kernels: odd sizes, strided views, poisoned outputs."""

from __future__ import annotations

import torch

from backport.parity.kernels import fp8
from backport.parity.kernels.context import Context, row_indices
from backport.parity.kernels.qk_rope_cache import Decode


def poisoned(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> torch.Tensor:
    """A tensor of bytes that no kernel writes by chance."""
    tensor = torch.empty(shape, dtype=dtype, device=device)
    tensor.view(torch.uint8).fill_(0x5A)
    return tensor


def decode_step(
    device: str,
    dtype: torch.dtype,
    *,
    model: torch.dtype = torch.bfloat16,
    tokens: int = 4,
    heads: int = 3,
    block_size: int = 4,
    latent: int = 32,
    rope: int = 16,
) -> Decode:
    """A decode step with a transposed latent query, views of q and kv, and a slot of -1."""
    seeded = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=seeded).to(model).to(device)

    blocks = 1 + (tokens + 3) // block_size
    slots = torch.randperm(blocks * block_size, generator=seeded)[:tokens]
    slots[2] = -1
    angles = torch.rand(64, rope // 2, generator=seeded) * 6.3
    kv = draw(tokens, latent + rope)
    return Decode(
        q_nope=draw(heads, tokens, latent).transpose(0, 1),
        q_pe=draw(tokens, heads, 8 + rope)[..., 8:],
        kv_c=kv[:, :latent],
        k_pe=kv[:, latent:],
        cache=poisoned((blocks, block_size, latent + rope), dtype, device),
        q_out=poisoned((tokens, heads, latent + rope), dtype, device),
        slots=slots.to(device),
        k_scale=torch.tensor([0.1], device=device),
        q_scale=torch.tensor([0.3], device=device),
        positions=torch.randint(0, 64, (tokens,), generator=seeded).to(device),
        cos=angles.cos().to(model).to(device),
        sin=angles.sin().to(model).to(device),
    )


def context_chunk(
    device: str,
    dtype: torch.dtype,
    *,
    model: torch.dtype = torch.bfloat16,
    heads: int = 2,
    block_size: int = 4,
    latent: int = 32,
    lengths: tuple[int, ...] = (7, 0, 12),
    nope: int = 16,
    value: int = 16,
) -> Context:
    """Three requests, one without context, that start at odd positions of a paged cache."""
    seeded = torch.Generator().manual_seed(11)
    rope = 16
    requests, pages = len(lengths), 6
    table = torch.randperm(requests * pages, generator=seeded).view(requests, pages).int()
    starts = torch.tensor([3, 0, 5])
    rows = row_indices(table, starts, torch.tensor(lengths), block_size)
    data = torch.randn(requests * pages, block_size, latent + rope, generator=seeded)
    weight = torch.randn(heads * (nope + value), latent, generator=seeded) / latent**0.5
    if dtype in fp8.FORMATS:
        cache = fp8.encoded(data / 0.05, dtype, fp8.LARGEST[dtype])
    else:
        cache = data.to(dtype)
    return Context(
        cache=cache.to(device),
        rows=rows.to(device),
        k_scale=torch.tensor([0.05], device=device),
        weight=weight.to(model).to(device),
        keys=poisoned((len(rows), heads, nope + rope), model, device),
        values=poisoned((len(rows), heads, value), model, device),
    )
