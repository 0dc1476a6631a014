"""The decline guards of the fused indexer, asked of the tree's own code."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, one_signature, raises, same
from backport.parity.simulated import Aiter, indexer_qk
from backport.parity.values import CannotRun, Claim, World

if TYPE_CHECKING:
    from backport.parity.cases.indexer_qk_prep import Inputs
    from backport.parity.intree.indexer_qk import Indexer

OPS = "vllm/_aiter_ops.py"
OP = "rocm_aiter_indexer_qk_rope_quant_cache"


def _indexer(world: World, made: Inputs, version: str = "", pristine: bool = False) -> Indexer:
    from backport.parity.intree.indexer_qk import Indexer

    source = world.pristine if pristine else world.patched
    return Indexer(source, made, Aiter(version or world.aiter))


def _batch(world: World, block: int = 16) -> Inputs:
    from backport.parity.cases.indexer_qk_prep import make

    return make(world, 7, 4, block, True, torch.float8_e4m3fn)


def _declines(world: World, gfx: str = "gfx950", version: str = "", **changed: Any) -> None:
    indexer = _indexer(world, _batch(world), version)
    claim(not indexer.enable(gfx, **changed), f"the fusion is on: {gfx} {version} {changed}")
    claim(not indexer.op.skip_k_cache_insert, "nobody would write k")
    _same_as_pristine(world, indexer)


def _layer_declines(world: World, **changed: Any) -> None:
    indexer = _indexer(world, _batch(world))
    for name, value in changed.items():
        object.__setattr__(indexer.layer, name, value)
    claim(not indexer.enable(), f"the fusion is on: {changed}")


def _same_as_pristine(world: World, indexer: Indexer) -> None:
    stock = _indexer(world, indexer.made, pristine=True)
    for one in (stock, indexer):
        one.run()
    claim(not indexer.build.launches, "the kernel ran")
    if stock.op.given is None or indexer.op.given is None:
        raise CannotRun("the indexer did not reach its op")
    for name, first, second in zip(
        ("query", "weights"), stock.op.given, indexer.op.given, strict=True
    ):
        same(name, first, second)
    same("cache", stock.cache, indexer.cache)


def _absent(world: World) -> None:
    indexer = _indexer(world, _batch(world))
    del indexer.build.provided[indexer_qk.MODULE][indexer_qk.NAME]
    claim(not indexer.enable(), "the fusion is on without the kernel")


def _block_of_eight(world: World) -> None:
    indexer = _indexer(world, _batch(world, block=8))
    claim(indexer.enable(), "the fusion stays off")
    raises(RuntimeError, indexer.run, "blocks of eight rows are accepted")


def _profiling(world: World) -> None:
    indexer = _indexer(world, _batch(world))
    indexer.enable()
    indexer.metadata = None
    indexer.run()
    claim(not indexer.build.launches, "the kernel ran without metadata")
    claim(torch.equal(indexer.cache, indexer.made.cache), "the cache was written")


def _fake(world: World) -> None:
    module = world.patched.module(OPS, torch=torch, LayerNameType=str)
    one_signature(module, f"_{OP}_impl", f"_{OP}_fake")


def _splits_graphs(world: World) -> None:
    text = world.patched.text("vllm/config/compilation.py")
    claim(f'"vllm::{OP}"' in text, "piecewise graphs are not split at the op")


CLAIMS: dict[str, Claim] = {
    "declines another chip": functools.partial(_declines, gfx="gfx1100"),
    "declines decode context parallelism": functools.partial(_declines, dcp=2),
    "declines prefill context parallelism": functools.partial(_declines, pcp=2),
    "declines micro-batches": functools.partial(_declines, ubatching=True),
    "declines fp16 models": functools.partial(_declines, dtype=torch.float16),
    "declines an AITER older than the kernel": functools.partial(_declines, version="0.1.14"),
    "declines an AITER without the kernel": _absent,
    "declines another head size": functools.partial(_layer_declines, head_dim=64),
    "declines another rope width": functools.partial(_layer_declines, rope_dim=32),
    "declines another scale format": functools.partial(_layer_declines, scale_fmt=None),
    "blocks that cannot be tiled are an error": _block_of_eight,
    "a profiling run writes nothing": _profiling,
    "op and fake take the same": _fake,
    "piecewise graphs split at the op": _splits_graphs,
}
