"""The DSA indexer's q and k: norm, rotation, fp8, folded weights and the K-cache write.

What counts is the product of q's codes and the weights (how it is split between
them is free) and the dequantized keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity.devices import on
from backport.parity.intree import indexer_qk as tree
from backport.parity.intree.torch_view import poison
from backport.parity.simulated import Aiter, indexer_qk
from backport.parity.simulated.indexer_qk import DIM, ROPE, quantize_rows, read_cache, rope
from backport.parity.simulated.rounding import smallest_normal
from backport.parity.values import Case, Decline, Output, Outputs, Ran, Tolerance, World
from backport.parity.versions import at_least

POSITIONS, SLOTS = 100, 64
EPS = 1e-6


@dataclass(frozen=True, slots=True)
class Inputs:
    """`q` [T, H, 128] and `kw` [T, 128 + H] (k, then weights) bf16; norm parameters [128] fp32.

    `cache` [64 / block, block, 132] bytes; `slots`, `positions` [T] int64; `table`
    [positions, 64] fp32: cos, then sin.
    """

    label: str
    q: torch.Tensor
    kw: torch.Tensor
    norm_weight: torch.Tensor
    norm_bias: torch.Tensor
    cache: torch.Tensor
    slots: torch.Tensor
    positions: torch.Tensor
    table: torch.Tensor
    is_neox: bool
    fp8: torch.dtype

    @property
    def heads(self) -> int:
        return self.q.shape[1]

    @property
    def k(self) -> torch.Tensor:
        return self.kw[:, :DIM]

    @property
    def weights(self) -> torch.Tensor:
        return self.kw[:, DIM:]

    @property
    def factor(self) -> float:
        """softmax scale times the heads' normalisation."""
        return float(DIM**-0.5 * self.heads**-0.5)

    @property
    def live(self) -> torch.Tensor:
        return self.slots >= 0

    @property
    def tiled(self) -> bool:
        return self.cache.shape[1] > 1


def inputs(world: World) -> Iterator[Inputs]:
    """Odd, single and no rows; both rope styles; block sizes 1, 16 and 64; both fp8 kinds."""
    for seed, (tokens, heads, block, neox, fp8) in enumerate((
        (1, 64, 1, False, torch.float8_e4m3fn),
        (33, 5, 64, True, torch.float8_e4m3fn),
        (7, 32, 16, False, torch.float8_e4m3fnuz),
        (0, 5, 64, False, torch.float8_e4m3fn),
    )):  # fmt: skip
        yield make(world, tokens, heads, block, neox, fp8, seed)


def make(
    world: World,
    tokens: int,
    heads: int,
    block: int,
    is_neox: bool,
    fp8: torch.dtype,
    seed: int = 0,
) -> Inputs:
    """A batch; of more than two tokens, the second has slot -1."""
    made = torch.Generator().manual_seed(seed)
    slots = torch.randperm(SLOTS, generator=made)[:tokens]
    if tokens > 2:
        slots[1] = -1
    angle = torch.outer(torch.arange(POSITIONS), 1e4 ** (-torch.arange(0, ROPE, 2) / ROPE))
    style = "neox" if is_neox else "gpt-j"
    name = str(fp8).removeprefix("torch.float8_")
    found = Inputs(
        f"T={tokens} H={heads} block={block} {style} {name}",
        torch.randn(tokens, heads, DIM, generator=made).bfloat16(),
        torch.randn(tokens, DIM + heads, generator=made).bfloat16(),
        1 + 0.1 * torch.randn(DIM, generator=made),
        0.1 * torch.randn(DIM, generator=made),
        torch.randint(0, 64, (SLOTS // block, block, DIM + 4), generator=made).to(torch.uint8),
        slots,
        torch.randint(0, POSITIONS, (tokens,), generator=made),
        torch.cat((angle.cos(), angle.sin()), -1).float(),
        is_neox,
        fp8,
    )
    return on(world.device, found)


# ---------------------------------------------------------------- what is right


def _tables(made: Inputs, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    cos, sin = made.table.bfloat16()[made.positions].to(dtype).chunk(2, -1)
    return cos, sin


def reference(made: Inputs) -> Outputs:
    """fp64 without rounding; `cache` bytes that no token owns stay as they are.

    Normalised keys have unit size and may cancel against the bias: below one step
    of bf16, in which old builds take the norm's parameters, errors count absolutely.
    """
    live, tables = made.live, _tables(made, torch.float64)
    q = rope(made.q.double(), tables, made.is_neox)
    weighted = q * (made.weights.double() * made.factor)[..., None]
    keys = rope(_norm(made).double(), tables, made.is_neox)
    name, unit = str(made.fp8).removeprefix("torch."), smallest_normal(made.fp8)
    limit = torch.finfo(made.fp8).max
    return {
        "weighted query": Output(weighted[live], name, unit * _peak(weighted[live]) / limit),
        "keys": Output(keys[live], name, max(unit * _peak(keys[live]) / limit, 2**-8)),
        "other cache bytes": Output(_others(made, made.cache)),
        "rows without a slot": Output(torch.zeros(int((~live).sum()), dtype=torch.float64)),
    }


def _peak(values: torch.Tensor) -> float:
    return float(values.abs().max()) if values.numel() else 1.0


def _norm(made: Inputs) -> torch.Tensor:
    wide = made.k.double()
    centred = wide - wide.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    normed = centred / (variance + EPS).sqrt()
    return normed * made.norm_weight.double() + made.norm_bias.double()


def baseline(made: Inputs) -> Outputs:
    """The release: norm rounded to bf16, rotation in fp32 rounded to bf16, then fp8 (ue8m0)."""
    tables = _tables(made, torch.float32)
    q = rope(made.q.float(), tables, made.is_neox).bfloat16()
    codes, scale = quantize_rows(q, made.fp8, power_of_two=True)
    weights = made.weights.float() * scale * made.factor
    params = (made.norm_weight, made.norm_bias)
    normed = torch.nn.functional.layer_norm(made.k.float(), (DIM,), *params, EPS).bfloat16()
    k = rope(normed.float(), tables, made.is_neox).bfloat16()
    cache = made.cache.clone()
    rows = quantize_rows(k[made.live], made.fp8, power_of_two=True)
    indexer_qk.write_cache(cache, made.slots[made.live], *rows, made.tiled)
    return outputs(made, codes, weights, cache)


def outputs(
    made: Inputs, codes: torch.Tensor, weights: torch.Tensor, cache: torch.Tensor
) -> Outputs:
    """`codes` [T, H, 128] fp8, `weights` [T, H] fp32 and the whole cache after a run."""
    name = str(made.fp8).removeprefix("torch.")
    weighted = codes.float().double() * weights.double()[..., None]
    keys = read_cache(cache, made.slots[made.live], made.fp8, made.tiled)
    idle = weights.double().abs().sum(1) + codes.view(torch.uint8).double().sum((1, 2))
    return {
        "weighted query": Output(weighted[made.live], name),
        "keys": Output(keys, name),
        "other cache bytes": Output(_others(made, cache)),
        "rows without a slot": Output(idle[~made.live]),
    }


def _others(made: Inputs, cache: torch.Tensor) -> torch.Tensor:
    """Bytes of the cache that belong to no token's row or scale."""
    owned = torch.zeros_like(made.cache)
    ones = torch.full((int(made.live.sum()), DIM), 255, dtype=torch.uint8)
    scales = torch.full((len(ones),), -1, dtype=torch.int32).view(torch.float32)
    indexer_qk.write_cache(owned, made.slots[made.live], ones, scales, made.tiled)
    return cache[owned == 0]


# ---------------------------------------------------------------- candidates


def simulated(world: World, made: Inputs) -> Ran:
    """The kernel of the pinned AITER, its norm parameters in the dtype that it takes."""
    build = indexer_qk.install(Aiter(world.aiter))
    new = at_least(world.aiter, indexer_qk.FP32_NORM_FROM)
    params = (p.to(torch.float32 if new else made.q.dtype) for p in norm_parameters(made))
    return launch(build, made, *params)


def norm_parameters(made: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of k's norm."""
    return made.norm_weight, made.norm_bias


def launch(build: Aiter, made: Inputs, weight: torch.Tensor, bias: torch.Tensor) -> Ran:
    """One call of the kernel of a build, as its contract wants it."""
    kernel = build.provided[indexer_qk.MODULE][indexer_qk.NAME]
    codes = poison(torch.empty(made.q.shape, dtype=made.fp8, device=made.q.device))
    weights = poison(torch.empty(made.q.shape[:2], device=made.q.device))
    cache = made.cache.clone()
    cos, sin = made.table.to(made.q.dtype).chunk(2, -1)
    kernel(
        made.q, codes, made.weights, weights, made.k, cache, made.slots, weight, bias,
        made.positions, cos, sin, EPS, DIM, "ue8m0", made.factor, made.tiled, made.is_neox,
    )  # fmt: skip
    found = dict(outputs(made, codes, weights, cache))
    del found["rows without a slot"]  # the kernel leaves them; its caller clears them
    return Ran(found, build.launches[indexer_qk.NAME])


DECLINES: dict[str, Decline[Inputs]] = {
    "fp16 q": Decline("q, k and weights are bf16", lambda made: replace(made, q=made.q.half())),
    "int32 slots": Decline(
        "slots are read as int64", lambda made: replace(made, slots=made.slots.int())
    ),
    "blocks of eight rows": Decline(
        "tiles are 16 rows high",
        lambda made: replace(made, cache=made.cache.view(-1, 8, DIM + 4)),
    ),
}

_ORIGIN = (
    "half a step of e4m3 (2^-4) for both paths and up to one binade of scale between them; "
    "upstream scores rel-L2 <= 5e-2, elements within 13 %; measured 2.5e-2 and 10.7 %"
)

CASE: Case[Inputs] = Case(
    "indexer_qk_prep",
    "The DSA indexer's q and k in one launch",
    inputs,
    reference,
    baseline,
    {"simulated AITER": simulated},
    {
        "float8_e4m3fn": Tolerance(2e-3, _ORIGIN),
        "float8_e4m3fnuz": Tolerance(2e-3, _ORIGIN),
    },
    DECLINES,
    (tree.BINDING,),
    optional=frozenset({"rows without a slot"}),
)
