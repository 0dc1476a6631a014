"""The shared index remap of a tree: the assignment, and `forward_mqa` of every layer of a model."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch

from backport.parity.intree.claims import claim
from backport.parity.intree.extract import Module, Source
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases.index_remap import Inputs

IMPL = "vllm/v1/attention/backends/mla/rocm_aiter_mla_sparse.py"
CLASS = "ROCMAiterMLASparseImpl"


class Attention(SimpleNamespace):
    """What the tree calls MLAAttention: a layer with an impl and perhaps an indexer."""


class Model:
    """A model's layers, driven pass by pass through the tree's `forward_mqa`.

    The Triton conversion is replaced by `convert` of the case and counted; the
    attention keeps the indices that it is given.
    """

    def __init__(self, source: Source, made: Inputs) -> None:
        self.made = made
        self.launches = 0
        self.seen: list[torch.Tensor] = []
        shape = (made.request.numel(), made.metadata().topk_tokens)
        self.buffers = {b: torch.zeros(shape, dtype=torch.int32) for b in made.buffers}
        self.module = self._module(source)
        self.layers = {str(i): self._layer(i) for i in range(len(made.kinds))}

    def _module(self, source: Source) -> Module:
        return source.module(
            IMPL,
            torch=torch,
            cast=cast,
            MLAAttention=Attention,
            triton_convert_req_index_to_global_index=self._convert,
            AiterMLAHelper=SimpleNamespace(get_mla_padded_q=lambda heads, q: q),
            get_layers_from_vllm_config=_layers_of,
        )

    def _convert(
        self,
        request: torch.Tensor,
        block_table: torch.Tensor,
        chosen: torch.Tensor,
        indptr: torch.Tensor,
        out: torch.Tensor,
        *,
        BLOCK_SIZE: int,  # noqa: N803 - the kernel's own names
        NUM_TOPK_TOKENS: int,  # noqa: N803
    ) -> None:
        from backport.parity.cases.index_remap import convert

        kinds = {t.dtype for t in (request, block_table, chosen, indptr, out)}
        claim(kinds == {torch.int32}, f"the conversion wants int32 everywhere, not {kinds}")
        claim(chosen.shape[1] == NUM_TOPK_TOKENS, "the top-k width is another")
        found = convert(request, block_table, chosen, indptr, BLOCK_SIZE)
        out[: len(found)] = found
        self.launches += 1

    def _layer(self, index: int) -> Attention:
        def attend(_: Any, q: torch.Tensor, __: torch.Tensor, metadata: Any) -> torch.Tensor:
            self.seen.append(metadata.paged_kv_indices[: self.made.selected].clone())
            return q

        impl = SimpleNamespace(
            needs_index_remap=True,
            topk_indices_buffer=self.buffers[self.made.buffers[index]],
            kv_cache_dtype="auto",
            num_heads=16,
            _forward_mla=attend,
        )
        indexer = object() if self.made.kinds[index] == "F" else None
        return Attention(indexer=indexer, impl=impl)

    def assign(self) -> None:
        """Let the tree decide, group by group, which layers convert."""
        config = SimpleNamespace(
            context={name: layer for n in self.layers for name, layer in self._registered(n)},
            speculative_config=object() if self.made.speculative else None,
        )
        for group in dict.fromkeys(self.made.groups):
            members = [n for n, g in zip(self.layers, self.made.groups, strict=True) if g == group]
            # The runner may hand the names over in any order.
            self.module.function("assign_index_remap")(config, members[::-1])

    def _registered(self, name: str) -> list[tuple[str, object]]:
        return [(f"{name}.k_cache", object()), (name, self.layers[name])]

    def forward(self, step: int) -> None:
        """One pass: indexers write their buffer, every layer attends."""
        forward_mqa = self.module.function(f"{CLASS}.forward_mqa")
        metadata = {group: self.made.metadata() for group in self.made.groups}
        for index, layer in enumerate(self.layers.values()):
            if layer.indexer is not None:
                layer.impl.topk_indices_buffer.copy_(self.made.choice(step, index))
            q = torch.zeros(self.made.request.numel(), 16, 8)
            group = self.made.groups[index]
            forward_mqa(layer.impl, q, torch.empty(0), metadata[group], layer)


def _layers_of(config: Any, kind: type) -> dict[str, Any]:
    return {n: layer for n, layer in config.context.items() if isinstance(layer, kind)}


def _passes(source: Source, made: Inputs, assigned: bool) -> Ran:
    from backport.parity.cases.index_remap import outputs

    model = Model(source, made)
    if assigned:
        model.assign()
    for step in range(made.passes):
        model.forward(step)
    wanted = made.conversions if assigned else len(made.kinds)
    return Ran(outputs(model.seen), model.launches, made.passes * wanted)


def shared(world: World, made: Inputs) -> Ran:
    """The patched tree with the assignment made: as few conversions as the case counts."""
    return _passes(world.patched, made, assigned=True)


def unassigned(world: World, made: Inputs) -> Ran:
    """The patched tree before any builder exists, as in the profile run: every layer converts."""
    return _passes(world.patched, made, assigned=False)


def _closed_is_pristine(world: World) -> None:
    from backport.parity.cases.index_remap import inputs

    for made in inputs(world):
        old, new = (_passes(s, made, False) for s in (world.pristine, world.patched))
        claim(old.launches == new.launches, "the patched tree converts another number of times")
        for name, output in old.outputs.items():
            claim(bool(torch.equal(output.value, new.outputs[name].value)), f"{name} differ")


def _default_on(world: World) -> None:
    constants = world.patched.module(IMPL).cut(CLASS, [])
    found = getattr(constants, "needs_index_remap", None)
    claim(found is True, f"needs_index_remap is {found} before a builder decides")


def _builder_assigns(world: World) -> None:
    builder = world.patched.node(IMPL, "ROCMAiterMLASparseMetadataBuilder.__init__")
    claim("assign_index_remap" in _names(builder), "the metadata builder never assigns")


def _names(node: Any) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


CLAIMS: dict[str, Claim] = {
    "every layer converts by default": _default_on,
    "the metadata builder assigns": _builder_assigns,
    "without an assignment equals the pristine tree": _closed_is_pristine,
}

BINDING: Binding[Inputs] = Binding(
    "sparse MLA backend",
    f"{IMPL}::assign_index_remap",
    {"conversions shared": shared, "before any builder": unassigned},
    CLAIMS,
)
