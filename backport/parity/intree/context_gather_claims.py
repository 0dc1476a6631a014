"""The decline guards of the fused context gather and k concat, asked of the tree's own code."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, same
from backport.parity.simulated import Aiter, gather_kv_b_proj, k_concat
from backport.parity.values import Claim, World

if TYPE_CHECKING:
    from backport.parity.cases import context_gather as gather_case
    from backport.parity.cases import k_concat as concat_case
    from backport.parity.intree.context_gather import Prefill

CAT = "_concat_k_nope_k_pe"


def _prefill(world: World, build: Aiter | None = None, made: Any = None) -> Prefill:
    from backport.parity.intree.context_gather import Prefill, flat

    return Prefill(world.patched, build or flat(world), made)


def _stock(world: World, made: Any) -> Prefill:
    from backport.parity.intree.context_gather import Prefill, flat

    return Prefill(world.pristine, flat(world), made)


def _batch(world: World, dtype: torch.dtype = torch.bfloat16) -> gather_case.Inputs:
    from backport.parity.cases.context_gather import make

    return make(world, (9, 5), (2, 3), 4, 2, dtype)


def _same_as_pristine(world: World, prefill: Prefill, result: Any) -> None:
    claim(prefill.build.launches[gather_kv_b_proj.NAME] == 0, "the gather ran")
    stock = _stock(world, prefill.made)
    vars(stock.impl).update(vars(prefill.impl))
    for name, first, second in zip(("context", "lse"), stock.run(), result, strict=True):
        same(name, first, second)
    same("keys", torch.cat(stock.keys), torch.cat(prefill.keys))


def _layer_declines(world: World, version: str = "", **changed: Any) -> None:
    prefill = _prefill(world, Aiter(version) if version else None, _batch(world))
    vars(prefill.impl).update(changed)
    with prefill.build.installed():
        found = prefill.ops.function("supports_context_gather")(prefill.impl)
    claim(found is False, f"the layer opens: {changed or version}")
    if "v_head_dim" not in changed:
        _same_as_pristine(world, prefill, prefill.run())


def _weight_declines(world: World, **changed: Any) -> None:
    prefill = _prefill(world, made=_batch(world))
    vars(prefill.impl.kv_b_proj).update(changed)
    _same_as_pristine(world, prefill, prefill.run())


def _ds_mla(world: World) -> None:
    prefill = _prefill(world, made=_batch(world))
    prefill.impl.kv_cache_dtype = "fp8_ds_mla"
    with prefill.build.installed():
        found = prefill.ops.function("supports_context_gather")(prefill.impl)
    claim(found is False, "the layer opens for fp8_ds_mla")


def _strided_weight(world: World) -> None:
    weight = _batch(world).weight
    _weight_declines(world, weight=torch.cat((weight, weight), 1)[:, : weight.shape[1]])


def _invariant(world: World) -> None:
    prefill = _prefill(world, made=_batch(world))
    prefill.envs.VLLM_BATCH_INVARIANT = True
    _same_as_pristine(world, prefill, prefill.run())


def _fp8_query(world: World) -> None:
    prefill = _prefill(world, made=_batch(world))
    metadata = prefill.metadata()
    metadata.prefill.q_data_type = prefill.fp8
    indices = prefill.ops.function("context_kv_indices")(metadata.prefill, 4)
    claim(indices is None, "indices are made for fp8 queries")


def _opens(world: World) -> None:
    for dtype in (torch.bfloat16, torch.float8_e4m3fn):
        prefill = _prefill(world, made=_batch(world, dtype))
        prefill.run()
        claim(prefill.build.launches[gather_kv_b_proj.NAME] == 1, f"{dtype}: it stays closed")


def _indices(world: World) -> None:
    from backport.parity.cases.context_gather import inputs

    for made in inputs(world):
        prefill = _prefill(world, made=made)
        found = prefill.ops.function("context_kv_indices")(prefill.metadata().prefill, made.block)
        wanted = torch.cat([made.rows(r) for r in range(len(made.context))])
        claim(all(i.dtype == torch.int32 for i in found), "indices are not int32")
        claim(torch.equal(torch.cat(found).long(), wanted), "indices miss the block table")


GATHER: dict[str, Claim] = {
    "opens for bf16 and fp8 caches": _opens,
    "indices walk the block table": _indices,
    "declines an AITER without the flat kernel": functools.partial(
        _layer_declines, version="0.1.19"
    ),
    "declines decode context parallelism": functools.partial(_layer_declines, dcp_world_size=2),
    "declines fp8_ds_mla": _ds_mla,
    "declines another value width": functools.partial(_layer_declines, v_head_dim=64),
    "declines batch invariance": _invariant,
    "declines a quantized weight": functools.partial(_weight_declines, quant_method=object()),
    "declines a bias": functools.partial(_weight_declines, bias=torch.ones(1)),
    "declines a strided weight": _strided_weight,
    "declines fp8 queries": _fp8_query,
}


def _concat_declines(world: World, made: concat_case.Inputs) -> None:
    build = Aiter(world.aiter)
    prefill = _prefill(world, build)
    k = getattr(prefill.impl, CAT)(made.k_nope, made.k_pe)
    claim(build.launches[k_concat.NAME] == 0, "the op ran")
    stock = _stock(world, None)
    same("keys", getattr(stock.impl, CAT)(made.k_nope, made.k_pe), k)


def _spoiled(world: World, name: str) -> None:
    from backport.parity.cases.k_concat import DECLINES, make

    made = make(world, 3, 2, torch.bfloat16)
    _concat_declines(world, DECLINES[name].spoil(made))


def _no_op(world: World) -> None:
    from backport.parity.cases.k_concat import make

    made = make(world, 3, 2, torch.bfloat16)
    build = Aiter(world.aiter)
    prefill = _prefill(world, build)
    prefill.torch.ops = SimpleNamespace(_C=SimpleNamespace())
    k = getattr(prefill.impl, CAT)(made.k_nope, made.k_pe)
    stock = _stock(world, None)
    same("keys", getattr(stock.impl, CAT)(made.k_nope, made.k_pe), k)


CONCAT: dict[str, Claim] = {
    "declines fp32": functools.partial(_spoiled, name="fp32"),
    "declines another rope width": functools.partial(_spoiled, name="another rope width"),
    "declines unaligned rows": functools.partial(_spoiled, name="rows of seven lanes more"),
    "without the op equals the pristine tree": _no_op,
}
