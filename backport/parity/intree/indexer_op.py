"""`rocm_aiter_sparse_attn_indexer` of a tree for a batch of prefills, on one simulated rank."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim
from backport.parity.intree.extract import Namespace, Source
from backport.parity.intree.prefill_logits import OPS, aiter_on, module_of
from backport.parity.intree.stand_ins import Anything
from backport.parity.simulated import Aiter, prefill_logits
from backport.parity.values import World

if TYPE_CHECKING:
    from backport.parity.cases.indexer_shard import Inputs

INDEXER = "vllm/v1/attention/backends/mla/indexer.py"
SHARD = "vllm/v1/attention/backends/mla/indexer_row_shard.py"
OP = "rocm_aiter_sparse_attn_indexer"
SPLIT = "split_indexer_prefill_chunks"
BUILDER = "DeepseekV32IndexerMetadataBuilder"


class Metadata(SimpleNamespace):
    """What the tree calls DeepseekV32IndexerMetadata."""


@dataclass(slots=True)
class Rank:
    """One rank's run: `reduce` stands for the collective, `flip` for its way with ties."""

    source: Source
    made: Inputs
    rank: int = 0
    ranks: int = 1
    reduce: Callable[[torch.Tensor], None] = lambda rows: None
    scored: int = 0
    gathered: int = 0
    collectives: int = 0

    def run(self, build: Aiter | None = None) -> torch.Tensor:
        """The top-k buffer [decodes + M + padding, TOPK + 1] int32 that the op leaves behind."""
        from backport.parity.cases.indexer_shard import DIM, POISON, TOPK

        made = self.made
        total = made.decodes + made.rows + made.padding
        buffer = torch.full((total, TOPK + 1), POISON, dtype=torch.int32)
        on = aiter_on(build) if build else aiter_on(Aiter("v0.1.19"), enabled=False)
        keys = sum(made.lengths)
        with on:
            module = module_of(self.source, **self._names())
            module.function(OP)(
                torch.zeros(total, 1), "layer", torch.zeros(1, 1, DIM), self._padded(made.q),
                None, self._padded(made.weights), DIM, "ue8m0", TOPK, made.q.shape[-1],
                1000, keys, buffer, skip_k_cache_insert=True,
            )  # fmt: skip
        return buffer

    def _padded(self, rows: torch.Tensor) -> torch.Tensor:
        raw = rows.view(torch.uint8) if rows.element_size() == 1 else rows
        before, after = self.made.decodes, self.made.padding
        shape = (before + len(raw) + after, *raw.shape[1:])
        out = raw.new_zeros(shape)
        out[before : before + len(raw)] = raw
        return out.view(rows.dtype)

    def _names(self) -> dict[str, Any]:
        return {
            "torch": Namespace(
                torch, ops=SimpleNamespace(_C=SimpleNamespace(top_k_per_row_prefill=self._top_k))
            ),
            "envs": SimpleNamespace(),
            "FP8_DTYPE": torch.float8_e4m3fn,
            "current_platform": SimpleNamespace(fp8_dtype=lambda: torch.float8_e4m3fn),
            "get_forward_context": lambda: SimpleNamespace(attn_metadata={"layer": self._batch()}),
            "current_workspace_manager": lambda: SimpleNamespace(get_simultaneous=_buffers),
            "DeepseekV32IndexerMetadata": Metadata,
            "cp_gather_indexer_k_quant_cache_triton": self._gather,
            "_get_aiter_top_k_kernel": lambda **_: None,
            "_indexer_k_is_c4a_block_flat": lambda _: False,
            **self._shard_names(),
        }

    def _shard_names(self) -> dict[str, Any]:
        if not self.source.exists(SHARD):
            return {}
        shard = shard_module(self.source, self._all_reduce)
        names = ("iter_rank_chunks", "merge_rank_rows")
        return {name: shard.function(name) for name in names}

    def _all_reduce(self, rows: torch.Tensor, **_: Any) -> None:
        claim(rows.is_contiguous(), "a collective needs dense memory")
        self.collectives += 1
        self.reduce(rows)

    def _top_k(
        self,
        logits: torch.Tensor,
        starts: torch.Tensor,
        ends: torch.Tensor,
        out: torch.Tensor,
        rows: int,
        *_: Any,
    ) -> None:
        from backport.parity.cases.indexer_shard import top_k

        claim(rows == len(logits) == len(starts) == len(ends) == len(out), "rows of the top-k")
        claim(logits.numel() <= self.made.budget or rows == 1, f"{logits.shape} passes the budget")
        self.scored += rows
        out.copy_(top_k(logits, starts, ends, flip=self.rank % 2 == 1))

    def _gather(
        self,
        cache: Any,
        keys: torch.Tensor,
        scales: torch.Tensor,
        table: torch.Tensor,
        *_: Any,
        **__: Any,
    ) -> None:
        """In place of the gather kernel: the keys of the chunk's requests (named by `table`)."""
        made, first = self.made, [0, *itertools.accumulate(self.made.lengths)]
        rows = torch.cat([torch.arange(first[r], first[r + 1]) for r in table.tolist()])
        keys.view(torch.uint8).copy_(made.keys.view(torch.uint8)[rows])
        scales.view(torch.float32).copy_(made.scales[rows, None])
        self.gathered += 1

    def _batch(self) -> Metadata:
        made = self.made
        indexer = indexer_module(self.source)
        prefill = indexer["DeepseekV32IndexerPrefillMetadata"](self.chunks(indexer))
        if self.ranks > 1:
            prefill.m_split_world_size, prefill.m_split_rank = self.ranks, self.rank
        return Metadata(
            slot_mapping=torch.zeros(made.decodes + made.rows, dtype=torch.int64),
            num_decodes=0,
            num_prefills=len(made.queries),
            num_decode_tokens=made.decodes,
            num_prefill_tokens=made.rows,
            prefill=prefill,
            decode=None,
        )

    def chunks(self, indexer: Any) -> list[Any]:
        """The batch cut by the tree's own splitter, as its metadata."""
        made = self.made
        split = {"m_split_world_size": self.ranks} if self.ranks > 1 else {}
        lengths, queries = torch.tensor(made.lengths), torch.tensor(made.queries)
        name = SPLIT if self.source.has(INDEXER, SPLIT) else f"{BUILDER}._{SPLIT}"
        found = indexer.function(name)(lengths, queries, made.workspace, made.budget * 4, **split)
        return [self._chunk(indexer, *ranges) for ranges in found]

    def _chunk(self, indexer: Any, requests: slice, part: slice) -> Any:
        made = self.made
        numbers = list(range(len(made.queries)))[requests]
        before = sum(made.queries[: numbers[0]])
        offset = sum(made.lengths[: numbers[0]])
        rows = slice(before + part.start, before + part.stop)
        starts, ends = (bound[rows] - offset for bound in made.windows)
        first = made.decodes + before
        kind = indexer["DeepseekV32IndexerPrefillChunkMetadata"]
        values = {
            "block_table": torch.tensor(numbers),
            "cu_seqlen_ks": starts,
            "cu_seqlen_ke": ends,
            "cu_seq_lens": torch.zeros(1, dtype=torch.int32),
            "token_to_seq": torch.zeros(1, dtype=torch.int32),
            "total_seq_lens": sum(made.lengths[n] for n in numbers),
            "max_seqlen_k": int((ends - starts).max()),
            "token_start": first + part.start,
            "token_end": first + part.stop,
            "num_reqs": len(numbers),
        }
        known = {field.name for field in dataclasses.fields(kind)}
        return kind(**{name: value for name, value in values.items() if name in known})


def indexer_module(source: Source) -> Any:
    """The indexer's metadata of a tree: its classes and its splitter."""
    names: dict[str, Any] = {"torch": torch}
    names["envs"] = Anything()
    if source.exists(SHARD):
        shard = shard_module(source, lambda rows, **_: None)
        names |= {n: shard.function(n) for n in ("max_stripe_rows", "num_row_stripes")}
    return source.module(INDEXER, **names)


def shard_module(source: Source, all_reduce: Callable[..., None]) -> Any:
    """The row partition of a tree over a simulated collective."""
    distributed = SimpleNamespace(all_reduce=all_reduce, ReduceOp=SimpleNamespace(MAX="max"))
    return source.module(
        SHARD,
        torch=Namespace(torch, distributed=distributed),
        cdiv=lambda a, b: -(-a // b),
        get_tp_group=lambda: SimpleNamespace(device_group=None),
    )


def _buffers(*wanted: tuple[tuple[int, ...], torch.dtype]) -> list[torch.Tensor]:
    return [torch.zeros(shape, dtype=torch.uint8).view(dtype) if dtype.itemsize == 1
            else torch.zeros(shape, dtype=dtype) for shape, dtype in wanted]  # fmt: skip


def selects_inside_windows(world: World) -> None:
    """With the HIP kernel, whose logits are NaN outside the windows, selections stay the same."""
    from backport.parity.cases import indexer_shard

    made = indexer_shard.wide(world)
    build = prefill_logits.install(Aiter(world.aiter))
    rank = Rank(world.patched, made)
    rows = slice(made.decodes, made.decodes + made.rows)
    found = rank.run(build)[rows, : indexer_shard.TOPK]
    claim(build.launches[prefill_logits.NAME] > 0, "the op does not reach the HIP kernel")
    want = indexer_shard.reference(made)
    for name, output in indexer_shard.outputs(made, found).items():
        claim(torch.equal(output.value, want[name].value), f"{name} differ from the reference")


__all__ = ["BUILDER", "INDEXER", "OP", "OPS", "SHARD", "Rank", "indexer_module", "shard_module"]
