"""The context loop of a booted tree's prefill: a constructed backend over a paged cache."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch

from backport.parity.intree import context_gather as depth_a
from backport.parity.intree.claims import claim
from backport.parity.intree.whole_decode import SHARED
from backport.parity.intree.whole_mla import (
    DENSE,
    KVProjection,
    Layer,
    Machine,
    poisoned,
    setting,
)
from backport.parity.simulated import k_concat
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases import context_gather as gather_case
    from backport.parity.cases import k_concat as concat_case

OPS = "vllm.v1.attention.ops.rocm_mla_context_gather"
CLOSED = {"VLLM_BATCH_INVARIANT": "1"}


class Prefill(depth_a.Prefill):
    """The impl that the tree's own attention layer constructed, driven as at the other depth."""

    def __init__(self, machine: Machine, made: gather_case.Inputs) -> None:
        self.made = made
        self.build = machine.build
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        kind = "auto" if made.cache.dtype == torch.bfloat16 else "fp8"
        projection = KVProjection(made.weight)
        # The shared wrapper: 0.32.0's Kimi-K3 class cannot be built with both quantized bmms off.
        layer = Layer(
            machine, _shape(made), SHARED, DENSE, kind, rotates=False, kv_b_proj=projection
        )
        self.impl = layer.attention.impl
        self.ops = _functions()

    def once(self, split: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """One pass over the context; without indices where it is to be split."""
        metadata = self.metadata()
        if split:
            metadata.context_kv_indices = None
        with torch.inference_mode(), poisoned():
            found: tuple[torch.Tensor, torch.Tensor] = self.run(metadata)
        return found


def _functions() -> Any:
    """The stack's module, asked by name as the extracted one is; None in a pristine tree."""
    try:
        module = importlib.import_module(OPS)
    except ModuleNotFoundError:
        return None
    return SimpleNamespace(function=lambda name: getattr(module, name))


def _shape(made: gather_case.Inputs) -> Any:
    """What the layer's constructor wants to know of a batch that it never runs."""
    from backport.parity.cases.context_gather import NOPE, ROPE, L
    from backport.parity.cases.qk_rope_concat_and_cache import rope_table

    heads = made.heads
    return SimpleNamespace(
        heads=heads,
        w_uk=made.weight.view(heads, -1, L)[:, :NOPE],
        q_nope=torch.zeros(1, heads, NOPE),
        q_pe=torch.zeros(1, heads, ROPE),
        kv_c=torch.zeros(1, L),
        k_pe=torch.zeros(1, 1, ROPE),
        table=rope_table(1),
        is_neox=True,
        cache=made.cache,
        k_scale=made.k_scale,
        q_scale=made.k_scale,
    )


def gathered(world: World, made: gather_case.Inputs) -> Ran:
    """One gather per chunk."""
    prefill = Prefill(cast(Machine, world), made)
    return depth_a.ran(prefill, prefill.once(), fused=True)


def split(world: World, made: gather_case.Inputs) -> Ran:
    """The same impl without indices: the release's gather op, GEMM and copies."""
    prefill = Prefill(cast(Machine, world), made)
    return depth_a.ran(prefill, prefill.once(split=True), fused=False)


def concatenated(world: World, made: concat_case.Inputs) -> Ran:
    """The constructed impl's method with the tree's compiled op there."""
    from backport.parity.cases.k_concat import outputs

    machine = cast(Machine, world)
    prefill = Prefill(machine, _context(machine))
    with poisoned():
        k = getattr(prefill.impl, depth_a.CAT)(made.k_nope, made.k_pe)
    return Ran(outputs(k), machine.build.launches[k_concat.NAME])


def _fits(made: gather_case.Inputs) -> bool:
    platform = importlib.import_module("vllm.platforms").current_platform
    return made.cache.dtype in (torch.bfloat16, platform.fp8_dtype())


def _context(world: World) -> gather_case.Inputs:
    from backport.parity.cases.context_gather import make

    return make(world, (20, 0, 17, 3), (3, 2, 1, 2), 4, 4, torch.bfloat16)


def _batch_invariant(world: World) -> None:
    machine = cast(Machine, world)
    with setting(**CLOSED):
        prefill = Prefill(machine, _context(world))
        prefill.once()
    claim(not machine.build.launches[depth_a.KERNEL], "the kernel ran")


def closed(machine: Machine) -> Iterator[torch.Tensor]:
    """Keys, values, output and log-sum-exp of the context loop with the gate closed."""
    with setting(**CLOSED):
        prefill = Prefill(machine, _context(machine))
        yield from prefill.once()
    yield from (*prefill.keys, *prefill.values)


CLAIMS: dict[str, Claim] = {"closes for batch invariance": _batch_invariant}
GATHER: Binding[gather_case.Inputs] = Binding(
    "booted MLA prefill",
    depth_a.GATHER.anchor,
    {"gathered": gathered, "split": split},
    CLAIMS,
    fits=_fits,
)
CONCAT: Binding[concat_case.Inputs] = Binding(
    "booted MLA prefill", depth_a.CONCAT.anchor, {"concatenated": concatenated}
)
