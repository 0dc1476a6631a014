"""Decode batches through the MLA layers of a booted tree: sparse MLA, and Kimi-K3's."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import torch
from torch.utils._pytree import tree_map_only

from backport.parity.intree import kimi_decode, kimi_rmsnorm, sparse_mla
from backport.parity.intree.claims import claim, raises
from backport.parity.intree.kimi_rmsnorm import Norm
from backport.parity.intree.whole_mla import (
    DENSE,
    HIDDEN,
    SPARSE,
    Handing,
    Layer,
    Machine,
    setting,
)
from backport.parity.simulated import dual_rmsnorm, qk_rope_cache
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases import dual_rmsnorm as norm_case
    from backport.parity.cases.qk_rope_concat_and_cache import Inputs

SHARED = "vllm.model_executor.layers.mla.MultiHeadLatentAttentionWrapper"
KIMI = "vllm.models.kimi_k3.amd.mla.KimiK3MultiHeadLatentAttentionWrapper"
CLOSED = {"VLLM_ROCM_USE_AITER_MLA": "0"}
# The schema test compares inputs by arithmetic that fp8 lacks.
CHECKS = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def sparse_layer(machine: Machine, made: Inputs, **changed: Any) -> Layer:
    """The layer that every sparse MLA model builds."""
    return Layer(machine, made, SHARED, SPARSE, **changed)


def bare_layer(machine: Machine, made: Inputs, **changed: Any) -> Layer:
    """The same without a rotary embedding."""
    return Layer(machine, made, SHARED, SPARSE, rotates=False, **changed)


def kimi_layer(machine: Machine, made: Inputs, **changed: Any) -> Layer:
    """Kimi-K3's layer, which rotates nothing; before its class existed, the shared one."""
    return Layer(machine, made, kimi_wrapper(), DENSE, rotates=False, **changed)


def kimi_wrapper() -> str:
    """The class that the tree's model builds."""
    try:
        importlib.import_module(KIMI.rpartition(".")[0])
    except ModuleNotFoundError:
        return SHARED
    return KIMI


Build = Callable[..., Layer]


def fused(build: Build, world: World, made: Inputs) -> Ran:
    """One launch and no separate rotation or cache write."""
    layer = build(cast(Machine, world), made)
    query = layer.run()
    claim(layer.rope.calls == 0, "the rotation was not deferred")
    claim(not layer.machine.writes, "the separate cache write ran as well")
    return _ran(layer, query, expected=1 if made.slots.numel() else 0)


def read_as_dense(world: World, made: Inputs) -> Ran:
    """On an AITER that reads q_nope as dense memory: `.contiguous()` makes it right."""
    build = cast(Machine, world).build
    before = build.version, build.misread
    build.version, build.misread = "0.1.16", True
    try:
        return fused(sparse_layer, world, made)
    finally:
        build.version, build.misread = before


def split(build: Build, world: World, made: Inputs) -> Ran:
    """The same layer, closed by its environment variable: the release's own launches."""
    with setting(**CLOSED):
        layer = build(cast(Machine, world), made)
        query = layer.run()
    claim(bool(layer.machine.writes), "nothing wrote the cache")
    return _ran(layer, query, expected=0)


def _ran(layer: Layer, query: torch.Tensor, expected: int) -> Ran:
    from backport.parity.cases.qk_rope_concat_and_cache import outputs

    live = layer.output[layer.made.live]
    claim(bool(live.isfinite().all()), "the layer's output holds what nobody wrote")
    found = dict(outputs(layer.made, query, layer.attention.kv_cache))
    del found["skipped query rows"]  # a matter of the kernel; the other depth compares them
    return Ran(found, layer.launches[qk_rope_cache.NAME], expected)


def _fits(identity: bool, made: Inputs) -> bool:
    """On this chip's format, with heads that AITER's attention kernel takes."""
    platform = importlib.import_module("vllm.platforms").current_platform
    right = made.fp8 == platform.fp8_dtype() and made.identity is identity
    return right and made.slots.numel() > 0 and (identity or made.heads % 16 == 0)


# ---------------------------------------------------------------- claims


def _batch(world: World, heads: int, rotates: bool) -> Inputs:
    from backport.parity.cases.qk_rope_concat_and_cache import Shape, identity, make

    fp8 = str(cast(Machine, world).fp8).removeprefix("torch.")
    made = make(world, Shape(6, heads, 64, is_neox=True, fp8=fp8))
    return made if rotates else identity(made)


def _closes(
    build: Build,
    world: World,
    rotates: bool,
    heads: int = 16,
    run: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
    **changed: Any,
) -> None:
    """No launch of the kernel, and the cache written apart."""
    made = _batch(world, heads, rotates)
    if changed.get("cache_dtype") == "auto":
        empty = torch.zeros(made.cache.shape, dtype=torch.bfloat16)
        made = replace(made, cache=empty)
    with setting(**(environment or {})):
        layer = build(cast(Machine, world), made, **changed)
        layer.run(**(run or {}))
    claim(not layer.launches[qk_rope_cache.NAME], f"the kernel ran: {changed or run or heads}")
    claim(bool(layer.machine.writes), "nothing wrote the cache")


def _no_positions(world: World) -> None:
    layer = sparse_layer(cast(Machine, world), _batch(world, 16, rotates=True))
    forward = layer.attention.forward

    def forgetful(*args: Any, **kwargs: Any) -> Any:
        return forward(*args, **(kwargs | {"positions": None}))

    with patch.object(layer.attention, "forward", forgetful):
        raises(RuntimeError, layer.run, "a fused layer goes on without positions")


def _opcheck(build: Build, rotates: bool, names: tuple[str, ...], world: World) -> None:
    """torch's own check of the registered ops, with the arguments that the layer gives them."""
    layer = build(cast(Machine, world), _batch(world, 16, rotates))
    with layer.step() as positions, torch.no_grad():
        hidden = torch.ones(positions.numel(), HIDDEN, dtype=torch.bfloat16)
        with called(names) as calls:
            layer.wrapper(positions, hidden)
        missing = set(names) - set(calls)
        claim(not missing, f"the layer never called {', '.join(sorted(missing))}")
        for name, (args, kwargs) in calls.items():
            op = getattr(torch.ops.vllm, name).default
            torch.library.opcheck(op, args, kwargs, test_utils=CHECKS)


@contextmanager
def called(names: tuple[str, ...]) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Copies of the arguments of the first call of each of these ops, nested ones too."""
    seen: dict[str, tuple[Any, Any]] = {}

    def spy(name: str) -> Callable[..., Any]:
        real = getattr(torch.ops.vllm, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            seen.setdefault(name, tree_map_only(torch.Tensor, torch.clone, (args, kwargs)))
            return real(*args, **kwargs)

        return call

    with ExitStack() as stack:
        for name in names:
            stack.enter_context(patch.object(torch.ops.vllm, name, spy(name)))
        yield seen


SPARSE_CLAIMS: dict[str, Claim] = {
    "closes without AITER's MLA": functools.partial(
        _closes, sparse_layer, rotates=True, environment=CLOSED
    ),
    "closes for fp8_e5m2": functools.partial(
        _closes, sparse_layer, rotates=True, cache_dtype="fp8_e5m2"
    ),
    "closes without rotary embedding": functools.partial(_closes, bare_layer, rotates=True),
    "missing positions are an error": _no_positions,
    "ops hold torch's opcheck": functools.partial(
        _opcheck, sparse_layer, True, (sparse_mla.OP, "unified_mla_attention_with_output")
    ),
}

KIMI_CLAIMS: dict[str, Claim] = {
    "closes without AITER's MLA": functools.partial(
        _closes, kimi_layer, rotates=False, environment=CLOSED
    ),
    "closes for fp8_e5m2": functools.partial(
        _closes, kimi_layer, rotates=False, cache_dtype="fp8_e5m2"
    ),
    "closes for int32 slots": functools.partial(
        _closes, kimi_layer, rotates=False, run={"slots": torch.int32}
    ),
    "closes for a piecewise graph": functools.partial(
        _closes, kimi_layer, rotates=False, run={"mode": "PIECEWISE"}
    ),
}


# ---------------------------------------------------------------- both norms


def norm_layer(world: World, made: norm_case.Inputs) -> tuple[Layer, tuple[Norm, Norm]]:
    """Kimi-K3's layer with a query latent; what the norms leave reaches the projections."""
    from backport.parity.cases.qk_rope_concat_and_cache import Shape, identity, make

    machine = cast(Machine, world)
    fp8 = str(machine.fp8).removeprefix("torch.")
    tokens = made.latent.shape[0]
    base = identity(make(world, Shape(tokens, 4, 64, is_neox=True, fp8=fp8)))
    norms = Norm(made.q_weight, made.q_eps), Norm(made.kv_weight, made.kv_eps)
    rows = sparse_mla.padded(made.latent)
    layer = kimi_layer(
        machine,
        base,
        q_lora_rank=made.q.shape[1],
        fused_qkv_a_proj=Handing(rows),
        q_a_layernorm=norms[0],
        kv_a_layernorm=norms[1],
        q_b_proj=Kept(sparse_mla.padded(torch.cat((base.q_nope, base.q_pe), -1).flatten(1))),
    )
    return layer, norms


class Kept(Handing):
    """A projection that also keeps what it got."""

    got: torch.Tensor

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        self.got = x
        return super().forward(x)


def norms_fused(world: World, made: norm_case.Inputs) -> Ran:
    """One launch for both norms, neither of which runs itself."""
    layer, norms = norm_layer(world, made)
    layer.launches.clear()
    found = _normed(layer, made)
    claim(not sum(norm.calls for norm in norms), "a separate norm ran as well")
    return Ran(found, layer.launches[dual_rmsnorm.NAME], 1)


def norms_split(world: World, made: norm_case.Inputs) -> Ran:
    """The same layer with AITER off."""
    with setting(VLLM_ROCM_USE_AITER="0"):
        layer, _ = norm_layer(world, made)
        found = _normed(layer, made)
    return Ran(found, layer.launches[dual_rmsnorm.NAME], 0)


def _normed(layer: Layer, made: norm_case.Inputs) -> Any:
    from backport.parity.cases.dual_rmsnorm import outputs

    tokens = made.latent.shape[0]
    seen: list[torch.Tensor] = []

    def attend(*tensors: Any, **_: Any) -> torch.Tensor:
        seen.append(tensors[-2])
        return torch.zeros(tokens + sparse_mla.PADDING, 8, dtype=torch.bfloat16)

    # Over the module of that name, too: an instance's own attribute is found first.
    names = [name for name in ("_attn", "mla_attn") if hasattr(layer.wrapper, name)]
    with patch.dict(vars(layer.wrapper), {names[0]: attend}):
        layer.run()
    return outputs(made, layer.wrapper.q_b_proj.got[:tokens], seen[-1][:tokens])


# ---------------------------------------------------------------- closed gates


def closed_sparse(machine: Machine) -> Iterator[torch.Tensor]:
    """Query, cache and output of sparse layers with the gate closed."""
    yield from _left(sparse_layer, machine, _batch(machine, 16, rotates=True))


def closed_kimi(machine: Machine) -> Iterator[torch.Tensor]:
    """Query, cache and output of Kimi-K3's layers with the gate closed."""
    yield from _left(kimi_layer, machine, _batch(machine, 4, rotates=False))


def closed_norms(machine: Machine) -> Iterator[torch.Tensor]:
    """Both normalised latents with the gate closed."""
    from backport.parity.cases.dual_rmsnorm import make

    with setting(VLLM_ROCM_USE_AITER="0"):
        made = make(machine, 5, torch.bfloat16)
        layer, _ = norm_layer(machine, made)
        yield from (output.value for output in _normed(layer, made).values())


def _left(build: Build, machine: Machine, made: Inputs) -> Iterator[torch.Tensor]:
    with setting(**CLOSED):
        layer = build(machine, made)
        yield layer.run()
    yield layer.attention.kv_cache
    yield layer.output


SPARSE_BINDING: Binding[Inputs] = Binding(
    "booted sparse MLA layer",
    sparse_mla.BINDING.anchor,
    {
        "fused": functools.partial(fused, sparse_layer),
        "fused, q_nope read as dense": read_as_dense,
        "split": functools.partial(split, sparse_layer),
    },
    SPARSE_CLAIMS,
    fits=functools.partial(_fits, False),
)
KIMI_BINDING: Binding[Inputs] = Binding(
    "booted Kimi-K3 layer",
    kimi_decode.BINDING.anchor,
    {
        "fused": functools.partial(fused, kimi_layer),
        "split": functools.partial(split, kimi_layer),
    },
    KIMI_CLAIMS,
    fits=functools.partial(_fits, True),
)
NORM_BINDING: Binding[norm_case.Inputs] = Binding(
    "booted Kimi-K3 layer",
    kimi_rmsnorm.BINDING.anchor,
    {"fused": norms_fused, "split": norms_split},
)
