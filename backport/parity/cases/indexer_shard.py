"""Score the indexer's prefill rows on the tensor-parallel rank that owns them, then merge.

Operands are small integers, so that every logit is exact and many are equal.
Ranks break ties differently, as real top-k kernels may: the scores that are
selected are compared, not the keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity.intree import indexer_shard as tree
from backport.parity.simulated.contract import require
from backport.parity.simulated.prefill_logits import scores, window
from backport.parity.values import EXACT, Case, Decline, Output, Outputs, Ran, Tolerance, World

HEADS, DIM, TOPK = 2, 16, 6
POISON = -99


@dataclass(frozen=True, slots=True)
class Inputs:
    """A batch of prefills after `decodes` decode rows, scored by `ranks` ranks.

    `queries` and `lengths` are tokens and keys per request. `q` [M, 2, 16] and
    `keys` [sum of lengths, 16] fp8, `scales` and `weights` fp32. `budget` bounds
    the logits of one launch (elements), `workspace` the keys of one chunk.
    """

    label: str
    ranks: int
    queries: tuple[int, ...]
    lengths: tuple[int, ...]
    q: torch.Tensor
    keys: torch.Tensor
    scales: torch.Tensor
    weights: torch.Tensor
    decodes: int = 2
    padding: int = 3
    budget: int = 4000
    workspace: int = 200

    @property
    def rows(self) -> int:
        return sum(self.queries)

    @property
    def shards(self) -> bool:
        """Fewer rows than ranks are replicated."""
        return self.ranks > 1 and self.rows >= self.ranks

    @property
    def windows(self) -> tuple[torch.Tensor, torch.Tensor]:
        """First and one-past-last key [M] int32 of every row among all requests' keys."""
        starts, ends, first = [], [], 0
        for queries, length in zip(self.queries, self.lengths, strict=True):
            starts += [first] * queries
            ends += [first + length - queries + 1 + i for i in range(queries)]
            first += length
        return torch.tensor(starts, dtype=torch.int32), torch.tensor(ends, dtype=torch.int32)


def inputs(world: World) -> Iterator[Inputs]:
    """One to eight ranks; ragged halves, fewer rows than ranks, several and split chunks."""
    for ranks, queries, lengths, budget in (
        (1, (5,), (9,), 4000),
        (2, (7,), (7,), 4000),
        (8, (33, 4), (40, 60), 4000),
        (8, (3, 2), (30, 2), 4000),
        (4, (4,), (4,), 4000),
        (3, (50, 20, 9), (90, 80, 100), 300),
    ):
        yield make(world, ranks, queries, lengths, budget)


def make(
    _: World,
    ranks: int,
    queries: tuple[int, ...],
    lengths: tuple[int, ...],
    budget: int,
    size: tuple[int, int] = (HEADS, DIM),
) -> Inputs:
    """Operands in -1, 0, 1; scales and weights powers of two."""
    made = torch.Generator().manual_seed(ranks + sum(queries))
    rows, keys, fp8 = sum(queries), sum(lengths), torch.float8_e4m3fn

    def small(*shape: int) -> torch.Tensor:
        return torch.randint(-1, 2, shape, generator=made).float().to(fp8)

    def power(*shape: int) -> torch.Tensor:
        return 2.0 ** torch.randint(-1, 2, shape, generator=made).float()

    label = f"{ranks} ranks, rows {queries} of {lengths} keys, budget {budget}"
    operands = (small(rows, *size), small(keys, size[1]), power(keys), power(rows, size[0]))
    return Inputs(label, ranks, queries, lengths, *operands, budget=budget)


def wide(world: World) -> Inputs:
    """A batch with 32 heads of 128 lanes, for the kernel that takes nothing else."""
    return make(world, 1, (9, 12), (30, 40), 4000, (32, 128))


# ---------------------------------------------------------------- what is right


def reference(made: Inputs) -> Outputs:
    """The largest scores of every row, sorted, by a loop over rows."""
    starts, ends = made.windows
    logits = scores(made.q, made.keys, made.scales, made.weights).double()
    rows = []
    for row in range(made.rows):
        seen = sorted(logits[row, int(starts[row]) : int(ends[row])].tolist(), reverse=True)
        rows.append((seen + [float("-inf")] * TOPK)[:TOPK])
    return {
        "scores": Output(torch.tensor(rows, dtype=torch.float64).reshape(-1, TOPK)),
        "wrong entries": Output(torch.zeros(made.rows, dtype=torch.int64)),
    }


def baseline(made: Inputs) -> Outputs:
    """The release: every rank scores every row."""
    return outputs(made, choose(made, torch.arange(made.rows), flip=False))


def outputs(made: Inputs, chosen: torch.Tensor) -> Outputs:
    """`chosen` [M, TOPK]: keys relative to a row's window, -1 for none.

    Entries that repeat, lie outside the window, or are missing count as wrong.
    """
    starts, ends = (bound.long() for bound in made.windows)
    logits = scores(made.q, made.keys, made.scales, made.weights).double()
    chosen = chosen.long()
    there = chosen != -1
    inside = (chosen >= 0) & (chosen < (ends - starts)[:, None])
    key = (starts[:, None] + chosen).clamp(0, len(made.keys) - 1)
    found = logits.gather(1, key).masked_fill(~inside, float("-inf"))
    order = chosen.sort(1).values
    repeated = ((order[:, 1:] == order[:, :-1]) & (order[:, 1:] >= 0)).sum(1)
    wanted = (ends - starts).clamp(max=TOPK)
    wrong = (there & ~inside).sum(1) + repeated + (inside.sum(1) - wanted).abs()
    return {
        "scores": Output(found.sort(1, descending=True).values),
        "wrong entries": Output(wrong),
    }


def choose(made: Inputs, rows: torch.Tensor, flip: bool) -> torch.Tensor:
    """[rows, TOPK] int32: top-k of these rows, ties to the lowest key, or the highest."""
    starts, ends = (bound[rows] for bound in made.windows)
    logits = scores(made.q[rows], made.keys, made.scales, made.weights[rows])
    return top_k(logits.masked_fill(~window(starts, ends, len(made.keys)), float("-inf")),
                 starts, ends, flip)  # fmt: skip


def top_k(
    logits: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor, flip: bool
) -> torch.Tensor:
    """Keys [rows, TOPK] int32 relative to each window, -1 behind them; reads windows only."""
    chosen = torch.full((len(logits), TOPK), -1, dtype=torch.int32)
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        seen = logits[row, start:end]
        seen = seen.flip(0) if flip else seen
        keys = seen.argsort(descending=True, stable=True)[:TOPK]
        chosen[row, : len(keys)] = (len(seen) - 1 - keys if flip else keys).int()
    return chosen


# ---------------------------------------------------------------- candidates


def mirrored(_: World, made: Inputs) -> Ran:
    """Each rank takes a stripe of the first half and the mirrored one of the second."""
    require(made.q.dtype == made.keys.dtype, "q and keys are fp8 of one kind")
    require(made.weights.dtype == torch.float32, "weights are fp32")
    ranks = made.ranks if made.shards else 1
    parts, launched = [], 0
    for rank in range(ranks):
        part = torch.full((made.rows, TOPK), -1, dtype=torch.int32)
        rows = torch.tensor(owned(made.rows, rank, ranks), dtype=torch.int64)
        part[rows] = choose(made, rows, flip=rank % 2 == 1)
        launched += len(rows)
        parts.append(part)
    return Ran(outputs(made, torch.stack(parts).amax(0)), launched, made.rows)


def owned(rows: int, rank: int, ranks: int) -> list[int]:
    """The rows of a rank: equal work where later rows see more keys."""
    half = (rows + 1) // 2
    out: list[int] = []
    for first, last, part in ((0, half, rank), (half, rows, ranks - 1 - rank)):
        size = last - first
        out += range(first + size * part // ranks, first + size * (part + 1) // ranks)
    return out


DECLINES: dict[str, Decline[Inputs]] = {
    "bf16 keys": Decline("keys are fp8", lambda made: replace(made, keys=made.keys.bfloat16())),
    "bf16 weights": Decline(
        "weights are fp32", lambda made: replace(made, weights=made.weights.bfloat16())
    ),
}

CASE: Case[Inputs] = Case(
    "indexer_shard",
    "The indexer's prefill rows scored by the rank that owns them",
    inputs,
    reference,
    baseline,
    {"mirrored halves": mirrored},
    {EXACT: Tolerance(0.0, "integers in, exact sums out: a selection is right or wrong")},
    DECLINES,
    (tree.BINDING,),
)
