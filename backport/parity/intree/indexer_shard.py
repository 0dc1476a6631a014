"""The sharded indexer of a tree: all ranks of a group, simulated one after the other."""

from __future__ import annotations

import ast
import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, same
from backport.parity.intree.extract import Source
from backport.parity.intree.indexer_op import BUILDER, INDEXER, SHARD, Rank, shard_module
from backport.parity.simulated.modules import installed
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases.indexer_shard import Inputs


class Group:
    """The ranks of a tensor-parallel group.

    The collective is a maximum over all ranks' rows: a first round records what
    each rank brings, a second one hands every rank the maximum.
    """

    def __init__(self, source: Source, made: Inputs) -> None:
        self.ranks = made.ranks if made.shards else 1
        self.brought: list[torch.Tensor] = []
        for rank in range(self.ranks):
            Rank(source, made, rank, self.ranks, self._record).run()
        self.done = [Rank(source, made, r, self.ranks, self._merge) for r in range(self.ranks)]
        self.buffers = [rank.run() for rank in self.done]

    def _record(self, rows: torch.Tensor) -> None:
        self.brought.append(rows.clone())

    def _merge(self, rows: torch.Tensor) -> None:
        rows.copy_(torch.stack(self.brought).amax(0))


def sharded(world: World, made: Inputs) -> Ran:
    """The patched op on every rank of the group; each row is scored once in all."""
    from backport.parity.cases.indexer_shard import POISON, TOPK, outputs

    group = Group(world.patched, made)
    for buffer in group.buffers[1:]:
        claim(torch.equal(buffer, group.buffers[0]), "ranks hold different selections")
    wanted = 1 if group.ranks > 1 else 0
    claim(all(r.collectives == wanted for r in group.done), "a rank is missing from the collective")
    buffer = group.buffers[0]
    rows = slice(made.decodes, made.decodes + made.rows)
    if not _resets_all(world):
        claim(bool((buffer[: made.decodes] == POISON).all()), "decode rows were written")
        claim(bool((buffer[rows.stop :] == POISON).all()), "padding rows were written")
    scored = sum(rank.scored for rank in group.done)
    return Ran(outputs(made, buffer[rows, :TOPK]), scored, made.rows)


def _resets_all(world: World) -> bool:
    """From 0.30.0 on the op begins with -1 in all rows of the batch."""
    from backport.parity.intree.indexer_op import OPS

    return "topk_indices_buffer[: hidden_states.shape[0]] = -1" in world.pristine.text(OPS)


def replicated(world: World, made: Inputs) -> Ran:
    """The patched op with sharding off: the only rank scores all rows."""
    from backport.parity.cases.indexer_shard import TOPK, outputs

    rank = Rank(world.patched, made)
    buffer = rank.run()
    claim(rank.collectives == 0, "a collective runs although nothing is sharded")
    rows = slice(made.decodes, made.decodes + made.rows)
    return Ran(outputs(made, buffer[rows, :TOPK]), rank.scored, made.rows)


# ---------------------------------------------------------------- claims


def _off_is_pristine(world: World) -> None:
    from backport.parity.cases.indexer_shard import inputs

    for made in inputs(world):
        old, new = Rank(world.pristine, made), Rank(world.patched, made)
        same("selections", old.run(), new.run())
        claim(old.gathered == new.gathered, "the patched tree gathers another number of times")


def _one_writer(world: World) -> None:
    shard = shard_module(world.patched, lambda rows, **_: None)
    stripes = shard.function("get_row_stripes")
    longest = shard.function("max_stripe_rows")
    for ranks in (1, 2, 3, 8):
        for rows in (*range(20), 63, 64, 65):
            mine = [stripes(rows, rank, ranks) for rank in range(ranks)]
            owned = sorted(i for part in mine for s in part for i in range(s.start, s.stop))
            claim(owned == list(range(rows)), f"{rows} rows on {ranks} ranks: {owned}")
            sizes = [s.stop - s.start for part in mine for s in part]
            claim(all(0 < size <= longest(rows, ranks) for size in sizes), "a stripe is too long")


def _balanced(world: World) -> None:
    stripes = shard_module(world.patched, lambda rows, **_: None).function("get_row_stripes")
    work = [
        sum(sum(range(s.start + 1, s.stop + 1)) for s in stripes(1024, rank, 8))
        for rank in range(8)
    ]
    claim(max(work) * 8 <= 1.05 * sum(work), f"causal work is uneven: {work}")


def _gathers_once(world: World) -> None:
    from backport.parity.cases.indexer_shard import make

    made = make(world, 2, (40,), (60,), 4000)
    group = Group(world.patched, made)
    claim(all(r.gathered == 1 for r in group.done), "stripes of one chunk gather its keys again")


def _group_size(world: World, rocm: bool = True, **changed: Any) -> int:
    state = {"dcp": 1, "pcp": 1, "enabled": True, "supported": True} | changed
    layer = SimpleNamespace(supports_m_split=True) if state["supported"] else SimpleNamespace()
    config = SimpleNamespace(static_forward_context={"layer": layer})
    module = world.patched.module(
        INDEXER,
        current_platform=SimpleNamespace(is_rocm=lambda: rocm),
        get_tp_group=lambda: SimpleNamespace(world_size=8),
    )
    builder = SimpleNamespace(
        dcp_world_size=state["dcp"],
        pcp_world_size=state["pcp"],
        layer_names=["layer"],
        vllm_config=SimpleNamespace(compilation_config=config),
    )
    ops = SimpleNamespace(is_cp_indexer_enabled=lambda: state["enabled"])
    with installed("vllm", {"vllm._aiter_ops": {"rocm_aiter_ops": ops}}):
        size: int = module.function(f"{BUILDER}._get_m_split_world_size")(builder)
    return size


def _opens(world: World) -> None:
    claim(_group_size(world) == 8, "rows stay replicated although everything allows sharding")


def _declines(world: World, **changed: Any) -> None:
    claim(_group_size(world, **changed) == 1, f"rows are sharded: {changed}")


def _few_rows(world: World) -> None:
    node = world.patched.node(INDEXER, f"{BUILDER}.build")
    texts = {ast.unparse(n) for n in ast.walk(node) if isinstance(n, ast.Compare)}
    claim("num_prefill_tokens < m_split_world_size" in texts, "few rows are sharded all the same")


CLAIMS: dict[str, Claim] = {
    "off equals the pristine tree": _off_is_pristine,
    "every row has one writer": _one_writer,
    "causal work is even": _balanced,
    "the stripes of a chunk share its keys": _gathers_once,
    "opens for the whole group": _opens,
    "declines other platforms": functools.partial(_declines, rocm=False),
    "declines without the switch": functools.partial(_declines, enabled=False),
    "declines without AITER": functools.partial(_declines, enabled=None),
    "declines decode context parallelism": functools.partial(_declines, dcp=2),
    "declines prefill context parallelism": functools.partial(_declines, pcp=2),
    "declines layers that score every row": functools.partial(_declines, supported=False),
    "declines fewer rows than ranks": _few_rows,
}

BINDING: Binding[Inputs] = Binding(
    "indexer op",
    f"{SHARD}::get_row_stripes",
    {"all ranks": sharded, "one rank": replicated},
    CLAIMS,
)
