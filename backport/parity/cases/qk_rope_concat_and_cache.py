"""Rotate q_pe and k_pe, concatenate, quantize the MLA query and write the latent KV cache.

Shapes: T tokens, H heads, L = 512 latent lanes, R = 64 rope lanes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity import portable
from backport.parity.devices import on
from backport.parity.intree import kimi_decode, sparse_mla
from backport.parity.intree.torch_view import poison, poison_byte
from backport.parity.simulated import Aiter, qk_rope_cache
from backport.parity.simulated.rounding import (
    dequantize,
    fp8_dtype,
    quantize,
    quantize_by_division,
    rotate,
    smallest_normal,
)
from backport.parity.values import Case, Decline, Output, Outputs, Ran, Tolerance, World
from backport.parity.versions import at_least

L, R, P = 512, 64, 32
POSITIONS = 256
SLOTS = 128
FNUZ = "float8_e4m3fnuz"


@dataclass(frozen=True, slots=True)
class Inputs:
    """One batch of one layer; bf16 unless said otherwise.

    `q_nope` [T, H, P] times `w_uk` [H, P, L] (entries 0 or a power of two, so that
    the product has no rounding) gives `ql_nope` [T, H, L], a transposed view as the
    bmm leaves it. `q_pe` [T, H, R], `kv_c` [T, L], `k_pe` [T, 1, R] are not rotated.
    `cache` [SLOTS / block, block, L + R] uint8 before the call, `slots` and
    `positions` [T] int64, `table` [positions, R]: cos, then sin.
    """

    label: str
    q_nope: torch.Tensor
    w_uk: torch.Tensor
    q_pe: torch.Tensor
    kv_c: torch.Tensor
    k_pe: torch.Tensor
    cache: torch.Tensor
    slots: torch.Tensor
    positions: torch.Tensor
    table: torch.Tensor
    is_neox: bool
    k_scale: torch.Tensor
    q_scale: torch.Tensor
    fp8: torch.dtype
    identity: bool = False

    @property
    def heads(self) -> int:
        return self.q_pe.shape[1]

    @property
    def ql_nope(self) -> torch.Tensor:
        return torch.bmm(self.q_nope.transpose(0, 1), self.w_uk).transpose(0, 1)

    @property
    def live(self) -> torch.Tensor:
        return self.slots >= 0

    @property
    def halves(self) -> tuple[torch.Tensor, torch.Tensor]:
        """cos and sin [positions, R/2], contiguous, in the dtype of kv_c."""
        cos, sin = self.table.to(self.kv_c.dtype).chunk(2, -1)
        return cos.contiguous(), sin.contiguous()


def inputs(world: World) -> Iterator[Inputs]:
    """Odd sizes, both rope styles, block sizes 1 and 64, 1 to 128 heads, skipped and no rows.

    fp8 is e4m3fn (gfx950) and e4m3fnuz (gfx942).
    """
    grid = [
        Shape(1, 16, 1, is_neox=False),
        Shape(33, 16, 64, is_neox=True, table=torch.float32),
        Shape(7, 128, 1, is_neox=False, fp8=FNUZ),
        Shape(5, 128, 64, is_neox=True),
        Shape(9, 3, 64, is_neox=False, fp8=FNUZ),
        Shape(0, 16, 64, is_neox=False),
    ]
    yield from (make(world, shape, seed) for seed, shape in enumerate(grid))
    for shape in (Shape(6, 4, 64, is_neox=True), Shape(5, 12, 1, is_neox=False, fp8=FNUZ)):
        yield identity(make(world, shape, seed=shape.heads))


@dataclass(frozen=True, slots=True)
class Shape:
    """What makes one batch differ from another; `table` is the dtype of cos and sin."""

    tokens: int
    heads: int
    block: int
    is_neox: bool
    table: torch.dtype = torch.bfloat16
    fp8: str = "float8_e4m3fn"

    @property
    def label(self) -> str:
        style = "neox" if self.is_neox else "gpt-j"
        table = str(self.table).removeprefix("torch.")
        size = f"T={self.tokens} H={self.heads} block={self.block}"
        return f"{size} {style} table={table} {self.fp8.removeprefix('float8_')}"


def make(world: World, shape: Shape, seed: int = 0) -> Inputs:
    """A batch with random latents; of more than two tokens, the second has slot -1."""
    made = torch.Generator().manual_seed(seed)
    tokens, heads = shape.tokens, shape.heads

    def bf16(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=made).bfloat16()

    slots = torch.randperm(SLOTS, generator=made)[:tokens]
    if tokens > 2:
        slots[1] = -1
    found = Inputs(
        shape.label,
        bf16(tokens, heads, P),
        selection(heads),
        bf16(tokens, heads, R),
        bf16(tokens, L),
        bf16(tokens, L + R)[:, None, L:],
        torch.randint(0, 64, (SLOTS // shape.block, shape.block, L + R), generator=made).to(
            torch.uint8
        ),
        slots,
        torch.randint(0, POSITIONS, (tokens,), generator=made),
        rope_table(POSITIONS).to(shape.table),
        shape.is_neox,
        torch.tensor(0.1),
        torch.tensor(0.3),
        fp8_dtype(shape.fp8),
    )
    return on(world.device, found)


def selection(heads: int) -> torch.Tensor:
    """[H, P, L] bf16 with one power of two per column: a bmm with it is exact."""
    lane = torch.arange(L)
    weight = torch.zeros(heads, P, L)
    for head in range(heads):
        weight[head, (lane + head) % P, lane] = 2.0 ** ((lane // P + head) % 3 - 1)
    return weight.bfloat16()


def rope_table(positions: int) -> torch.Tensor:
    """[positions, R] fp32: cosines, then sines."""
    frequency = 10000.0 ** (-torch.arange(0, R, 2) / R)
    angle = torch.outer(torch.arange(positions).float(), frequency)
    return torch.cat((angle.cos(), angle.sin()), -1)


def identity(made: Inputs) -> Inputs:
    """No rotation (K3 has none): one row of cos 1 and sin 0, and positions far past it."""
    table = torch.cat((torch.ones(1, R // 2), torch.zeros(1, R // 2)), -1)
    positions = 2**20 - torch.arange(made.slots.numel())
    return replace(
        made,
        label=f"identity rotation {made.label}",
        table=table.bfloat16().to(made.table.device),
        positions=positions.to(made.table.device),
        identity=True,
    )


def _cos_sin(made: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    rows = made.positions.clamp(max=made.table.shape[0] - 1)
    cos, sin = made.halves
    return cos[rows], sin[rows]


# ---------------------------------------------------------------- what is right


def reference(made: Inputs) -> Outputs:
    """fp64 without any rounding; the cache rows that no token owns keep their bytes."""
    cos, sin = (half.double() for half in _cos_sin(made))
    q_pe = rotate(made.q_pe.double(), cos[:, None], sin[:, None], made.is_neox)
    k_pe = rotate(made.k_pe.squeeze(1).double(), cos, sin, made.is_neox)
    q = torch.cat((made.ql_nope.double(), q_pe), -1)[made.live]
    k = torch.cat((made.kv_c.double(), k_pe), -1)[made.live]
    unit = smallest_normal(made.fp8)
    name = str(made.fp8).removeprefix("torch.")
    kept = torch.full(
        (int((~made.live).sum()), made.heads, L + R), poison_byte(made.fp8), dtype=torch.uint8
    )
    return {
        "query": Output(q, name, unit * float(made.q_scale)),
        "cache": Output(k, name, unit * float(made.k_scale)),
        "other cache rows": Output(made.cache.view(-1, L + R)[_others(made)]),
        "skipped query rows": Output(kept.to(q.device)),
    }


def baseline(made: Inputs) -> Outputs:
    """The release's order: rotate in fp32, round to bf16, concatenate, quantize, write."""
    cos, sin = (half.float() for half in _cos_sin(made))
    q_pe = rotate(made.q_pe.float(), cos[:, None], sin[:, None], made.is_neox).bfloat16()
    k_pe = rotate(made.k_pe.squeeze(1).float(), cos, sin, made.is_neox).bfloat16()
    query = quantize(torch.cat((made.ql_nope, q_pe), -1), made.q_scale, made.fp8)
    rows = quantize_by_division(torch.cat((made.kv_c, k_pe), -1), made.k_scale, made.fp8)
    cache = made.cache.clone()
    cache.view(-1, L + R)[made.slots[made.live]] = rows[made.live].view(torch.uint8)
    return outputs(made, query, cache)


def outputs(made: Inputs, query: torch.Tensor, cache: torch.Tensor) -> Outputs:
    """What a run left: `query` [T, H, L + R] fp8, `cache` like the input's.

    The codes of the lanes that are only passed through are compared as they are.
    """
    name = str(made.fp8).removeprefix("torch.")
    rows = cache.view(torch.uint8).view(-1, L + R)
    written = rows[made.slots[made.live]].view(made.fp8)
    live = query[made.live]
    return {
        "query": Output(dequantize(live, made.q_scale), name),
        "query codes, latent lanes": Output(live.view(torch.uint8)[..., :L]),
        "cache": Output(dequantize(written, made.k_scale), name),
        "cache codes, latent lanes": Output(written.view(torch.uint8)[..., :L]),
        "other cache rows": Output(rows[_others(made)]),
        "skipped query rows": Output(query.view(torch.uint8)[~made.live]),
    }


def _others(made: Inputs) -> torch.Tensor:
    mask = torch.ones(SLOTS, dtype=torch.bool, device=made.cache.device)
    mask[made.slots[made.live]] = False
    return mask


# ---------------------------------------------------------------- candidates


def simulated(world: World, made: Inputs) -> Ran:
    """The simulated kernel of the pinned AITER; a one-row table needs the build that clamps."""
    version = world.aiter
    if made.identity and not at_least(version, qk_rope_cache.CLAMPED_FROM):
        version = qk_rope_cache.CLAMPED_FROM
    return launch(Aiter(version), made)


def launch(build: Aiter, made: Inputs) -> Ran:
    """One call of the kernel of a build, as its contract wants it."""
    cache = made.cache.clone()
    shape = (made.slots.numel(), made.heads, L + R)
    query = poison(torch.empty(shape, dtype=made.fp8, device=cache.device))
    kernel = qk_rope_cache.install(build).provided[qk_rope_cache.MODULE][qk_rope_cache.NAME]
    kernel(
        made.ql_nope.contiguous(),
        made.q_pe,
        made.kv_c,
        made.k_pe.squeeze(1),
        cache.view(made.fp8),
        query,
        made.slots,
        made.k_scale,
        made.q_scale,
        made.positions,
        *made.halves,
        made.is_neox,
        True,
    )
    return Ran(outputs(made, query, cache), build.launches[qk_rope_cache.NAME])


DECLINES: dict[str, Decline[Inputs]] = {
    "operands of two dtypes": Decline(
        "the four operands are read in one dtype",
        lambda made: replace(made, kv_c=made.kv_c.half()),
    ),
    "a scale per token": Decline(
        "scales are one fp32 number each",
        lambda made: replace(made, q_scale=made.q_scale.expand(made.heads).contiguous()),
    ),
    "a bf16 scale": Decline(
        "scales are one fp32 number each",
        lambda made: replace(made, k_scale=made.k_scale.bfloat16()),
    ),
    "a position past the table": Decline(
        "no build clamps in the general kernel, none before 0.1.19.post1 clamps at all",
        lambda made: replace(
            made,
            q_nope=made.q_nope[:, :1],
            w_uk=made.w_uk[:1],
            q_pe=made.q_pe[:, :1],
            cache=made.cache.view(-1, 64, L + R),
            positions=made.positions + POSITIONS,
        ),
    ),
    "int32 slots": Decline(
        "slots are read as int64", lambda made: replace(made, slots=made.slots.int())
    ),
}

_FP8_ORIGIN = (
    "half a step of e4m3 is 2^-4 of the value for both paths, doubled by the factor; "
    "vllm-project/vllm#47757 allows 1e-3 + 0.15 |x|"
)

CASE: Case[Inputs] = Case(
    "qk_rope_concat_and_cache",
    "QK-RoPE, query concat and quantize, latent concat and KV-cache write in one launch",
    inputs,
    reference,
    baseline,
    {"simulated AITER": simulated},
    {
        "float8_e4m3fn": Tolerance(1e-3, _FP8_ORIGIN),
        "float8_e4m3fnuz": Tolerance(1e-3, _FP8_ORIGIN),
    },
    DECLINES,
    (sparse_mla.BINDING, kimi_decode.BINDING),
    optional=frozenset({"skipped query rows"}),
    portable={"Triton": portable.qk_rope_cache},
)
