"""Kimi-K3's fused decode of a tree: the same kernel with the identity rotation of one row."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, same
from backport.parity.intree.extract import Source
from backport.parity.intree.sparse_mla import PADDING, Layer, padded
from backport.parity.intree.torch_view import torch_with
from backport.parity.simulated import Aiter, qk_rope_cache
from backport.parity.simulated.rounding import quantize
from backport.parity.values import Binding, Claim, Ran, World
from backport.parity.versions import at_least

if TYPE_CHECKING:
    from backport.parity.cases.qk_rope_concat_and_cache import Inputs

DECODE = "vllm/models/kimi_k3/amd/mla_decode.py"
WRAPPER = "vllm/models/kimi_k3/amd/mla.py"
PIECEWISE = "piecewise"


class Decode:
    """The tree's FusedMLADecode around its MLAAttention, for a batch of decodes with padding."""

    def __init__(self, source: Source, made: Inputs, build: Aiter, **changed: Any) -> None:
        self.made = made
        self.build = qk_rope_cache.install(build)
        self.layer = Layer(source, made, self.build, fused=False)
        self._as_dense_mla(changed)
        self.layer.mode = changed.pop("mode", None)
        for name, value in changed.items():
            object.__setattr__(self.layer.attention, name, value)
        with self.build.installed():
            self.fused = self._class(source)(self.layer.attention)

    def _as_dense_mla(self, changed: dict[str, Any]) -> None:
        def concat(nope: torch.Tensor, rope: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return quantize(torch.cat((nope, rope), -1), scale, self.made.fp8)

        vars(self.layer.impl).update(
            is_sparse=False,
            supports_quant_query_input=changed.pop("supports_quant_query_input", True),
            dcp_world_size=changed.pop("dcp_world_size", 1),
        )
        for name, value in {
            "use_sparse": False,
            "use_direct_call": True,
            "_decode_concat_quant_fp8_op": concat,
        }.items():
            object.__setattr__(self.layer.attention, name, value)

    def _class(self, source: Source) -> type:
        enabled = SimpleNamespace(is_mla_enabled=lambda: True)
        module = source.module(
            DECODE,
            torch=torch_with(),
            rocm_aiter_ops=enabled,
            CUDAGraphMode=SimpleNamespace(PIECEWISE=PIECEWISE),
            get_forward_context=self.layer.forward_context,
            get_attention_context=self.layer.attention_context,
            current_platform=self.layer.platform,
        )
        return module.cut("FusedMLADecode")

    def run(
        self,
        decodes: int | None = None,
        slots: torch.dtype = torch.int64,
        split: bool = False,
        short: bool = False,
    ) -> torch.Tensor:
        """One call with PADDING rows behind the batch; the fp8 query that was attended.

        With `short`, there are fewer positions than tokens.
        """
        made, tokens = self.made, self.made.slots.numel()
        mapping = torch.full((tokens + PADDING,), -1)
        mapping[:tokens] = made.slots
        self.layer.context.slots = mapping.to(slots)
        decodes = tokens if decodes is None else decodes
        self.layer.context.metadata = SimpleNamespace(
            num_actual_tokens=tokens,
            num_decode_tokens=decodes,
            num_decodes=decodes,
            num_prefills=0,
            decode=object(),
            prefill=None,
        )
        q = padded(torch.cat((made.q_nope, made.q_pe), -1))
        latents = (padded(made.kv_c), padded(made.k_pe))
        shape = torch.Size((tokens + PADDING, made.heads * 4))
        with self.build.installed():
            if split:
                self.layer.attention.forward(q, *latents, output_shape=shape)
            else:
                positions = made.positions[:-1] if short else padded(made.positions)
                self.fused(positions, q, *latents, output_shape=shape)
        return self.layer.queries[-1]

    @property
    def launches(self) -> int:
        return self.build.launches[qk_rope_cache.NAME]


def clamping(world: World) -> Aiter:
    """The pinned AITER, or the first that clamps positions where the pinned one does not."""
    bound = qk_rope_cache.CLAMPED_FROM
    return Aiter(world.aiter if at_least(world.aiter, bound) else bound)


def fused(world: World, made: Inputs) -> Ran:
    """The patched tree's decode batch down the fused path."""
    decode = Decode(world.patched, made, clamping(world))
    query = decode.run()
    claim(decode.layer.writes == 0, "the separate cache write ran as well")
    return _ran(decode, query, expected=1)


def split(world: World, made: Inputs) -> Ran:
    """The release's own attention layer on the same batch."""
    decode = Decode(world.patched, made, clamping(world))
    return _ran(decode, decode.run(split=True), expected=0)


def _ran(decode: Decode, query: torch.Tensor, expected: int) -> Ran:
    from backport.parity.cases.qk_rope_concat_and_cache import outputs

    found = dict(outputs(decode.made, query, decode.layer.attention.kv_cache))
    del found["skipped query rows"]
    # Both paths fill the query of a row without a slot: attention reads it.
    claim(not bool(query.float().isnan().any()), "a query row was left unwritten")
    return Ran(found, decode.launches, expected)


# ---------------------------------------------------------------- claims


def _batch(world: World, heads: int = 4) -> Inputs:
    from backport.parity.cases.qk_rope_concat_and_cache import Shape, identity, make

    return identity(make(world, Shape(6, heads, 64, is_neox=True)))


def _layer_declines(world: World, heads: int = 4, **changed: Any) -> None:
    decode = Decode(world.patched, _batch(world, heads), clamping(world), **changed)
    claim(decode.fused.enabled is False, f"the layer opens: {heads} heads, {changed}")


def _unclamped(world: World) -> None:
    decode = Decode(world.patched, _batch(world), Aiter("0.1.19"))
    claim(decode.fused.enabled is False, "the layer opens on an AITER that clamps no position")


def _batch_declines(world: World, mode: str | None = None, **changed: Any) -> None:
    made = _batch(world)
    decode = Decode(world.patched, made, clamping(world), mode=mode)
    claim(decode.fused.enabled, "the layer itself declines")
    query = decode.run(**changed)
    claim(decode.launches == 0, "the kernel ran for a batch it must not take")
    again = Decode(world.patched, made, clamping(world))
    reference = again.run(split=True, decodes=changed.get("decodes"))
    same("query", reference, query)
    same("cache", again.layer.attention.kv_cache, decode.layer.attention.kv_cache)


def _mixed(world: World) -> None:
    decode = Decode(world.patched, _batch(world), clamping(world))
    vars(decode.layer.impl)["forward_mha"] = lambda *_, **__: None
    decode.run(decodes=2)
    claim(decode.launches == 0, "the kernel ran for a batch with prefills")


def _connector(world: World) -> None:
    node = world.patched.node(DECODE, "FusedMLADecode._fused_decode")
    names = {getattr(d, "id", "") for d in node.decorator_list}
    claim("maybe_transfer_kv_layer" in names, "the fused path bypasses the KV connector")


CLAIMS: dict[str, Claim] = {
    "declines an AITER that clamps no position": _unclamped,
    "declines fewer than four heads": functools.partial(_layer_declines, heads=3),
    "declines fp8_e5m2": functools.partial(_layer_declines, kv_cache_dtype="fp8_e5m2"),
    "declines a bf16 cache": functools.partial(_layer_declines, kv_cache_dtype="auto"),
    "declines decode context parallelism": functools.partial(_layer_declines, dcp_world_size=2),
    "declines prefill context parallelism": functools.partial(_layer_declines, use_pcp=True),
    "declines sparse MLA": functools.partial(_layer_declines, use_sparse=True),
    "declines padded heads": functools.partial(_layer_declines, q_pad_num_heads=16),
    "declines another latent width": functools.partial(_layer_declines, kv_lora_rank=256),
    "declines a backend with bf16 queries": functools.partial(
        _layer_declines, supports_quant_query_input=False
    ),
    "declines the fp8 bmm alone": functools.partial(
        _layer_declines, is_aiter_triton_fp8_bmm_enabled=True
    ),
    "declines a piecewise graph": functools.partial(_batch_declines, mode=PIECEWISE),
    "declines a batch with prefills": _mixed,
    "declines int32 slots": functools.partial(_batch_declines, slots=torch.int32),
    "declines fewer positions than tokens": functools.partial(_batch_declines, short=True),
    "keeps the KV connector": _connector,
}

BINDING: Binding[Inputs] = Binding(
    "Kimi-K3 decode",
    f"{DECODE}::FusedMLADecode",
    {"fused": fused, "split": split},
    CLAIMS,
    fits=lambda made: made.identity,
)
