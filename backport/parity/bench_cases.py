"""What the benchmark measures: per op, sizes, candidates and a check that comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import torch

from backport.parity.bench_timing import Run, void
from backport.parity.kernels import context as contexts
from backport.parity.kernels import dual_rms_norm, fp8, k_concat, qk_rope_cache
from backport.parity.kernels.qk_rope_cache import Decode, Style
from backport.parity.kernels.qk_rope_reference import reference as decode_reference
from backport.parity.kernels.static_quant import quantize

LATENT, ROPE, NOPE, VALUE, Q_RANK = 512, 64, 128, 128, 1536
STYLE = Style(is_neox=False)


class IncorrectError(Exception):
    """A candidate computed something else than the reference; it is not timed."""


@dataclass(frozen=True, slots=True)
class Case:
    """One op at one size: `candidates[FUSED]` against the others.

    `bytes_moved`: every input read once, every output written once. `check` raises
    IncorrectError.
    """

    op: str
    tokens: int
    heads: int
    dtype: str
    bytes_moved: int
    candidates: Mapping[str, Run]
    check: Run


FUSED = "fused"


def qk_rope_case(device: str, tokens: int, heads: int, dtype: torch.dtype) -> Case:
    """QK-RoPE-concat-cache of a bfloat16 model with an fp8 cache, in GPT-J's rope style.

    eager: what an eager release launches: rotation (one kernel for q and k, as its
    rotary_embedding op), torch.cat, quantization, cache write. split, a harder baseline
    than the release: concat and quantization are one kernel, tiled as well as the fused
    one. native: eager with the release's forward_native, op by op, for the rotation.
    """
    step = decode_step(device, tokens, heads, dtype)
    joined = torch.empty(step.q_out.shape, dtype=step.q_nope.dtype, device=device)

    def tail() -> None:
        torch.cat((step.q_nope, step.q_pe), dim=-1, out=joined)
        quantize(joined, step.q_out, step.q_scale)
        qk_rope_cache.concat_and_cache(step, STYLE)

    def eager() -> None:
        qk_rope_cache.rotate_in_place(step, STYLE)
        tail()

    def native() -> None:
        rotate_natively(step)
        tail()

    return Case(
        "qk_rope_concat_and_cache",
        tokens,
        heads,
        _name(step.cache),
        tokens * (heads + 1) * (LATENT + ROPE) * 3 + tokens * (16 + 2 * ROPE),
        {
            FUSED: partial(qk_rope_cache.fused, step, STYLE),
            "split": partial(qk_rope_cache.split, step, STYLE),
            "eager": eager,
            "native": native,
        },
        partial(check_decode, step),
    )


def decode_step(device: str, tokens: int, heads: int, cache_dtype: torch.dtype) -> Decode:
    """A decode step as a release has it: the latent query transposed, q_pe and k_pe views."""
    dtype = torch.bfloat16
    blocks = tokens // 64 + 2
    angles = torch.rand(8192, ROPE // 2, device=device) * 6.3
    kv = torch.randn(tokens, LATENT + ROPE, device=device).to(dtype)
    query = torch.randn(tokens, heads, NOPE + ROPE, device=device).to(dtype)
    return Decode(
        q_nope=torch.randn(heads, tokens, LATENT, device=device).to(dtype).transpose(0, 1),
        q_pe=query[..., NOPE:],
        kv_c=kv[:, :LATENT],
        k_pe=kv[:, LATENT:],
        cache=poisoned((blocks, 64, LATENT + ROPE), cache_dtype, device),
        q_out=poisoned((tokens, heads, LATENT + ROPE), cache_dtype, device),
        slots=torch.randperm(blocks * 64, device=device)[:tokens],
        k_scale=torch.tensor([0.1], device=device),
        q_scale=torch.tensor([0.3], device=device),
        positions=torch.randint(0, 8192, (tokens,), device=device),
        cos=angles.cos().to(dtype),
        sin=angles.sin().to(dtype),
    )


def check_decode(step: Decode) -> None:
    """Fused, split and reference agree to the bit on poisoned outputs."""
    wanted = [fp8.codes(x) for x in decode_reference(step, STYLE)]
    for kernel in (qk_rope_cache.fused, qk_rope_cache.split):
        own = replace(step, **{name: getattr(step, name).clone() for name in ("q_pe", "k_pe")})
        for out in (step.q_out, step.cache):
            fp8.codes(out).fill_(0x5A)
        kernel(own, STYLE)
        for out, want in zip((step.q_out, step.cache), wanted, strict=True):
            _expect(torch.equal(fp8.codes(out), want), f"{kernel.__name__} differs from reference")


def rotate_natively(step: Decode) -> None:
    """The release's forward_native on q_pe and k_pe, in place: torch ops in the model's dtype."""
    cos, sin = step.cos[step.positions], step.sin[step.positions]
    cos, sin = cos.repeat_interleave(2, -1).unsqueeze(1), sin.repeat_interleave(2, -1).unsqueeze(1)
    for x in (step.q_pe, step.k_pe.unsqueeze(1)):
        turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
        x.copy_(x * cos + turned * sin)


def norm_case(device: str, tokens: int) -> Case:
    """The RMS norms of a query latent (1536) and a key latent (512), views of one projection."""
    projected = torch.randn(tokens, Q_RANK + LATENT + ROPE, device=device).bfloat16()

    def norm(x: torch.Tensor) -> dual_rms_norm.Norm:
        weight = torch.rand(x.shape[1], device=device).bfloat16() + 0.5
        return dual_rms_norm.Norm(x, weight, poisoned(tuple(x.shape), x.dtype, device), 1e-6)

    q, kv = norm(projected[:, :Q_RANK]), norm(projected[:, Q_RANK : Q_RANK + LATENT])

    def check() -> None:
        dual_rms_norm.fused(q, kv)
        for one in (q, kv):
            wanted = dual_rms_norm.reference(one)
            close = torch.allclose(one.out.double(), wanted, rtol=2**-8, atol=1e-6)
            _expect(close, "the norm differs from the reference")

    return Case(
        "dual_rmsnorm",
        tokens,
        1,
        _name(q.x),
        (tokens * 2 + 1) * (Q_RANK + LATENT) * 2,
        {
            FUSED: partial(dual_rms_norm.fused, q, kv),
            "split": partial(dual_rms_norm.split, q, kv),
        },
        check,
    )


def k_concat_case(device: str, tokens: int, heads: int) -> Case:
    """Keys of a prefill from kv_b_proj's output; split: the release's two copies."""
    product = torch.randn(tokens, heads, NOPE + VALUE, device=device).bfloat16()
    own, shared = product[..., :NOPE], torch.randn(tokens, ROPE, device=device).bfloat16()
    keys = poisoned((tokens, heads, NOPE + ROPE), own.dtype, device)

    def check() -> None:
        k_concat.fused(own, shared, keys)
        _expect(torch.equal(keys, k_concat.reference(own, shared)), "keys differ")

    return Case(
        "k_concat",
        tokens,
        heads,
        _name(keys),
        tokens * 2 * (heads * (2 * NOPE + ROPE) + ROPE),
        {
            FUSED: lambda: k_concat.fused(own, shared, keys),
            "split": lambda: k_concat.split(own, shared, keys),
        },
        check,
    )


def context_case(device: str, tokens: int, heads: int, dtype: torch.dtype) -> Case:
    """Context gather and expansion; split: gather, matrix product, two copies of keys.

    fused: `expand`, the faster of one_launch (`fused`) and two_launches (`gathered`).
    gemm: the product of the split sequence alone, which no fusion can avoid.
    """
    chunk = context_chunk(device, tokens, heads, dtype)
    space = torch.empty(tokens, LATENT + ROPE, dtype=torch.bfloat16, device=device)
    other = replace(chunk, keys=torch.empty_like(chunk.keys))
    latent = space[:, :LATENT]
    moved = sum(x.numel() * x.element_size() for x in (chunk.weight, chunk.keys, chunk.values))
    return Case(
        "context_gather",
        tokens,
        heads,
        _name(chunk.cache),
        moved + tokens * ((LATENT + ROPE) * chunk.cache.element_size() + 4),
        {
            FUSED: partial(contexts.expand, chunk, space),
            "one_launch": partial(contexts.fused, chunk),
            "two_launches": partial(contexts.gathered, chunk, space),
            "split": lambda: void(contexts.split(other, space)),
            "gemm": lambda: void(torch.nn.functional.linear(latent, chunk.weight)),
        },
        partial(check_context, chunk, space),
    )


def context_chunk(device: str, rows: int, heads: int, dtype: torch.dtype) -> contexts.Context:
    """A chunk of `rows` rows from pages of 64 that lie scattered in the cache."""
    pages = rows // 64
    data = torch.randn(pages, 64, LATENT + ROPE, device=device)
    cache = fp8.encoded(data / 0.05, dtype, 240.0) if dtype in fp8.FORMATS else data.to(dtype)
    weight = torch.randn(heads * (NOPE + VALUE), LATENT, device=device) / LATENT**0.5
    table = torch.randperm(pages, device=device)[None]
    start, length = torch.zeros(1, dtype=torch.long), torch.tensor([rows])
    return contexts.Context(
        cache=cache,
        rows=contexts.row_indices(table, start.to(device), length.to(device), 64),
        k_scale=torch.tensor([0.05], device=device),
        weight=weight.bfloat16(),
        keys=poisoned((rows, heads, NOPE + ROPE), torch.bfloat16, device),
        values=poisoned((rows, heads, VALUE), torch.bfloat16, device),
    )


def check_context(chunk: contexts.Context, space: torch.Tensor) -> None:
    """err(fused) <= 2 * err(split) + one bfloat16 step against float64, on 512 of the rows."""
    some = torch.randperm(len(chunk.rows), device=chunk.rows.device)[:512]
    wanted = contexts.reference(
        replace(chunk, rows=chunk.rows[some], keys=chunk.keys[some], values=chunk.values[some])
    )
    other = replace(chunk, keys=torch.empty_like(chunk.keys))
    split = (other.keys, contexts.split(other, space))
    limits = [2 * _error(x[some], want) + 2**-8 for x, want in zip(split, wanted, strict=True)]
    for run in (
        partial(contexts.fused, chunk),
        partial(contexts.gathered, chunk, space),
        partial(contexts.expand, chunk, space),
    ):
        for out in (chunk.keys, chunk.values):
            out.view(torch.uint8).fill_(0x5A)
        run()
        found = (chunk.keys[some], chunk.values[some])
        for x, want, limit in zip(found, wanted, limits, strict=True):
            _expect(_error(x, want) <= limit, "keys or values are off")
        _expect(torch.equal(chunk.keys[..., NOPE:], other.keys[..., NOPE:]), "rope parts differ")


def _error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found.double() - wanted).abs().max() / wanted.abs().max())


def poisoned(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> torch.Tensor:
    """A tensor of bytes that no kernel writes by chance."""
    tensor = torch.empty(shape, dtype=dtype, device=device)
    tensor.view(torch.uint8).fill_(0x5A)
    return tensor


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise IncorrectError(message)
