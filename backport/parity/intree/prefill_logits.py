"""`rocm_fp8_mqa_logits` of a tree: which kernel it takes, and what comes out."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, same
from backport.parity.intree.extract import Module, Source
from backport.parity.intree.stand_ins import Anything
from backport.parity.simulated import Aiter, prefill_logits
from backport.parity.simulated.modules import installed
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases.prefill_logits import Inputs

OPS = "vllm/v1/attention/ops/rocm_aiter_mla_sparse.py"
TRITON = "aiter.ops.triton.fp8_mqa_logits"
FLYDSL = "aiter.ops.flydsl"


def module_of(source: Source, gfx: str = "gfx950", **supplied: Any) -> Module:
    """The file of the indexer's ops on a simulated chip."""
    names = {
        "torch": torch,
        "triton": Anything(),
        "tl": Anything(),
        "_ON_GFX942": gfx == "gfx942",
        "_ON_GFX950": gfx == "gfx950",
    }
    return source.module(OPS, **(names | supplied))


@contextmanager
def aiter_on(build: Aiter, enabled: bool = True) -> Iterator[None]:
    """`import aiter` gives the build, and the tree's predicates answer as told."""
    ops = SimpleNamespace(
        is_enabled=lambda: enabled,
        is_rdna_aiter_enabled=lambda: False,
        is_indexer_top_k_supported=lambda *_, **__: False,
    )
    imported: dict[str, dict[str, Any]] = {
        "vllm._aiter_ops": {"rocm_aiter_ops": ops},
        "vllm.utils.torch_utils": {"_resolve_layer_name": lambda name: name},
    }
    with build.installed(), installed("vllm", imported):
        yield


def with_split_kernels(build: Aiter) -> Aiter:
    """The build also has the kernels that the release uses (counted under their own names)."""

    def kernel(name: str, *given: Any, clean_logits: bool = True) -> torch.Tensor:
        q, keys, scales, weights, starts, ends = given
        build.launched(name)
        logits = prefill_logits.scores(q, keys, scales.reshape(-1), weights)
        fill = -math.inf if clean_logits else math.nan
        return logits.masked_fill(~prefill_logits.window(starts, ends, len(keys)), fill)

    build.provide(TRITON, fp8_mqa_logits=functools.partial(kernel, "triton"))
    return build.provide(FLYDSL, flydsl_fp8_mqa_logits=functools.partial(kernel, "flydsl"))


def _run(
    source: Source, made: Inputs, build: Aiter, gfx: str = "gfx950", enabled: bool = True
) -> torch.Tensor:
    function = module_of(source, gfx).function("rocm_fp8_mqa_logits")
    cleaning = {} if made.clean else {"clean_logits": False}
    keys = (made.keys, made.scales)
    with aiter_on(with_split_kernels(build), enabled):
        logits: torch.Tensor = function(
            made.q, keys, made.weights, made.starts, made.ends, **cleaning
        )
    return logits


def _ran(made: Inputs, logits: torch.Tensor, build: Aiter, expected: int) -> Ran:
    from backport.parity.cases.prefill_logits import outputs

    return Ran(outputs(made, logits), build.launches[prefill_logits.NAME], expected)


def hip(world: World, made: Inputs) -> Ran:
    """The patched dispatch where the HIP kernel is there."""
    build = prefill_logits.install(Aiter(world.aiter))
    return _ran(made, _run(world.patched, made, build), build, expected=1)


def split(world: World, made: Inputs) -> Ran:
    """The patched dispatch where it is not: the release's Triton kernel."""
    build = Aiter(world.aiter)
    logits = _run(world.patched, made, build)
    # Later releases do not ask their own kernel for clean logits.
    cleaned = not bool(logits.isnan().any())
    return _ran(replace(made, clean=made.clean and cleaned), logits, build, expected=0)


# ---------------------------------------------------------------- claims


def _batch(world: World) -> Inputs:
    from backport.parity.cases.prefill_logits import make

    return make(world, 7, clean=True)


def _declines(
    world: World, made: Inputs, build: Aiter, gfx: str = "gfx950", enabled: bool = True
) -> None:
    logits = _run(world.patched, made, build, gfx, enabled)
    claim(build.launches[prefill_logits.NAME] == 0, "the HIP kernel ran")
    stock = Aiter(world.aiter)
    same("logits", _run(world.pristine, made, stock, gfx, enabled), logits)
    claim(stock.launches == build.launches, f"{build.launches}, not {stock.launches}")


def _elsewhere(world: World) -> None:
    made, version = _batch(world), world.aiter
    _declines(world, made, prefill_logits.install(Aiter(version)), gfx="gfx942")
    _declines(world, made, prefill_logits.install(Aiter(version)), gfx="gfx1100")


def _without_aiter(world: World) -> None:
    build = prefill_logits.install(Aiter(world.aiter))
    _declines(world, _batch(world), build, enabled=False)


def _other_heads(world: World) -> None:
    made = _batch(world)
    narrow = replace(made, q=made.q[:, :16].contiguous(), weights=made.weights[:, :16])
    _declines(world, narrow, prefill_logits.install(Aiter(world.aiter)))


def _strided_keys(world: World) -> None:
    made = _batch(world)
    wide = torch.cat((made.keys, made.keys), 1)[:, : made.keys.shape[1]]
    _declines(world, replace(made, keys=wide), prefill_logits.install(Aiter(world.aiter)))


def _half_a_module(world: World) -> None:
    build = prefill_logits.install(Aiter(world.aiter))
    del build.provided[prefill_logits.MODULE]["is_supported"]
    _declines(world, _batch(world), build)


def _absent(world: World) -> None:
    _declines(world, _batch(world), Aiter(world.aiter))


def _garbage(world: World) -> None:
    """The op asks for uncleaned logits: nothing outside a window may be selected."""
    from backport.parity.intree.indexer_op import selects_inside_windows

    selects_inside_windows(world)


CLAIMS: dict[str, Claim] = {
    "declines other chips": _elsewhere,
    "declines without AITER": _without_aiter,
    "declines another head count": _other_heads,
    "declines strided keys": _strided_keys,
    "declines a module without is_supported": _half_a_module,
    "without the module equals the pristine tree": _absent,
    "what is not cleaned is not selected": _garbage,
}

BINDING: Binding[Inputs] = Binding(
    "prefill logits",
    f"{OPS}::hip_mqa_logits_module",
    {"HIP kernel": hip, "Triton kernel": split},
    CLAIMS,
)
