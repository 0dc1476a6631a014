"""Convert the top-k choice of a request into cache slots once for all layers that share it.

Exact: every layer reads what its own conversion would have given it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace

import torch

from backport.parity.intree import index_remap
from backport.parity.simulated.contract import require
from backport.parity.values import EXACT, Case, Decline, Output, Outputs, Ran, Tolerance, World

TOPK, BLOCK, BLOCKS, TOKENS = 4, 2, 6, 5
UNWRITTEN = -7


@dataclass(frozen=True, slots=True)
class Inputs:
    """A model and a batch.

    `kinds`: F a layer with an indexer, S one without. `groups` and `buffers` name
    each layer's attention group and top-k buffer. `conversions` are what a pass of
    this model needs at least. `request` [T], `indptr` [T + 1] and `block_table`
    [requests, BLOCKS] int32.
    """

    label: str
    kinds: str
    groups: str
    buffers: str
    conversions: int
    request: torch.Tensor
    indptr: torch.Tensor
    block_table: torch.Tensor
    speculative: bool = False
    passes: int = 2

    @property
    def selected(self) -> int:
        return int(self.indptr[-1])

    def choice(self, step: int, layer: int) -> torch.Tensor:
        """[T, TOPK] int32: what the indexer of a layer chooses in a pass, different everywhere."""
        source = random.Random(f"{self.label} {step} {layer}")  # noqa: S311 - test data
        rows = [source.sample(range(BLOCK * BLOCKS), TOPK) for _ in range(TOKENS)]
        return torch.tensor(rows, dtype=torch.int32)

    def metadata(self) -> SimpleNamespace:
        """The metadata of one group; its indices are poisoned."""
        return SimpleNamespace(
            num_actual_tokens=TOKENS,
            req_id_per_token=self.request,
            block_table=self.block_table,
            paged_kv_indptr=self.indptr,
            paged_kv_indices=torch.full((TOKENS * TOPK,), UNWRITTEN, dtype=torch.int32),
            block_size=BLOCK,
            topk_tokens=TOPK,
        )


def inputs(_: World) -> Iterator[Inputs]:
    """Shared, leading and split groups, two buffers, speculative decoding, empty rows."""
    for label, kinds, groups, buffers, conversions in (
        ("one indexer for four layers", "FSSSFSSS", "00000000", "00000000", 2),
        ("an indexer in every layer", "FFFF", "0000", "0000", 4),
        ("a stage that starts without an indexer", "SSSFSS", "000000", "000000", 2),
        ("the indexer in another group", "FSSSFSSS", "01110111", "00000000", 4),
        ("groups in halves", "FSSSFSSS", "00110011", "00000000", 4),
        ("a group of one layer", "FSFS", "0010", "0000", 3),
        ("another buffer in between", "FSSS", "0000", "0010", 3),
        ("a single layer", "S", "0", "0", 1),
    ):
        yield _inputs(label, kinds, groups, buffers, conversions)
    drafted = _inputs("speculative decoding", "FSSS", "0000", "0000", 4)
    yield replace(drafted, speculative=True)


def _inputs(label: str, kinds: str, groups: str, buffers: str, conversions: int) -> Inputs:
    made = random.Random(label)  # noqa: S311 - test data
    counts = torch.tensor([made.randint(0, TOPK) for _ in range(TOKENS)])
    indptr = torch.cat((torch.zeros(1), counts.cumsum(0))).int()
    table = [made.sample(range(50), BLOCKS) for _ in range(3)]
    return Inputs(
        label,
        kinds,
        groups,
        buffers,
        conversions,
        torch.tensor([made.randrange(3) for _ in range(TOKENS)], dtype=torch.int32),
        indptr,
        torch.tensor(table, dtype=torch.int32),
    )


# ---------------------------------------------------------------- what is right


def convert(
    request: torch.Tensor,
    block_table: torch.Tensor,
    chosen: torch.Tensor,
    indptr: torch.Tensor,
    block: int,
) -> torch.Tensor:
    """Slots [selected] int32 of every token's first choices.

    Choice i of a request lies in slot block_table[request][i // block] * block + i % block.
    """
    width = (indptr[1:] - indptr[:-1])[:, None]
    mine = torch.arange(chosen.shape[1])[None, :] < width
    blocks = block_table[request.long()].gather(1, (chosen // block).long())
    return (blocks * block + chosen % block)[mine]


def reference(made: Inputs) -> Outputs:
    """Token by token, as the definition of the conversion reads."""
    return outputs([torch.tensor(_slots(made, chosen)) for chosen in _choices(made)])


def _slots(made: Inputs, chosen: torch.Tensor) -> list[int]:
    out = []
    for token in range(TOKENS):
        count = int(made.indptr[token + 1] - made.indptr[token])
        for index in chosen[token, :count].tolist():
            row = made.block_table[int(made.request[token])]
            out.append(int(row[index // BLOCK]) * BLOCK + index % BLOCK)
    return out


def baseline(made: Inputs) -> Outputs:
    """The release: every layer converts."""
    return outputs([_converted(made, chosen) for chosen in _choices(made)])


def _converted(made: Inputs, chosen: torch.Tensor) -> torch.Tensor:
    tensors = (made.request, made.block_table, chosen, made.indptr)
    require(all(t.dtype == torch.int32 for t in tensors), "the conversion reads int32")
    return convert(*tensors, BLOCK)


def _choices(made: Inputs) -> Iterator[torch.Tensor]:
    """What lies in a layer's buffer when it attends, for every pass and layer."""
    buffers = {name: torch.zeros(TOKENS, TOPK, dtype=torch.int32) for name in made.buffers}
    for step in range(made.passes):
        for index, kind in enumerate(made.kinds):
            if kind == "F":
                buffers[made.buffers[index]] = made.choice(step, index)
            yield buffers[made.buffers[index]]


def outputs(seen: list[torch.Tensor]) -> Outputs:
    """The indices that each layer attended with, [passes * layers, selected]."""
    return {"indices": Output(torch.stack(seen).long())}


# ---------------------------------------------------------------- candidates


def rule(_: World, made: Inputs) -> Ran:
    """The rule itself: a group converts after an indexer, and when its layer has another buffer."""
    launches, seen = 0, []
    held: dict[str, tuple[str, torch.Tensor]] = {}
    for index, chosen in enumerate(_choices(made)):
        layer = index % len(made.kinds)
        if layer == 0 or made.kinds[layer] == "F":
            held = {}
        group, buffer = made.groups[layer], made.buffers[layer]
        if made.speculative or group not in held or held[group][0] != buffer:
            held[group] = (buffer, _converted(made, chosen))
            launches += 1
        seen.append(held[group][1])
    return Ran(outputs(seen), launches, made.passes * made.conversions)


DECLINES: dict[str, Decline[Inputs]] = {
    "an int64 block table": Decline(
        "the conversion reads int32 without a check",
        lambda made: replace(made, block_table=made.block_table.long()),
    ),
    "int64 requests": Decline(
        "the conversion reads int32 without a check",
        lambda made: replace(made, request=made.request.long()),
    ),
}

CASE: Case[Inputs] = Case(
    "index_remap",
    "One conversion of shared top-k indices for all layers of a group",
    inputs,
    reference,
    baseline,
    {"the rule": rule},
    {EXACT: Tolerance(0.0, "indices are integers: any difference reads another token's latents")},
    DECLINES,
    (index_remap.BINDING,),
)
