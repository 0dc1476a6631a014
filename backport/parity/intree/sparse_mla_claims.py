"""The sparse MLA fusion's decline guards and structure, asked of the tree's own code."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any, cast

import torch

from backport.parity.intree.claims import claim, one_signature, raises, same
from backport.parity.intree.extract import Source
from backport.parity.intree.stand_ins import Anything, unconstructed
from backport.parity.values import Claim, World

FLAG = "use_fused_qk_rope_cache"
ROPE_DIM = 64


def impl_flag(
    source: Source,
    dtype: str = "fp8",
    dcp: int = 1,
    pcp: int = 1,
    dense_prefill: bool = False,
    build: bool | None = True,
) -> object:
    """What the impl's constructor decides; `build` is what the predicate answers."""
    from backport.parity.intree.sparse_mla import IMPL

    config = Anything(scheduler_config=SimpleNamespace(max_num_batched_tokens=8))
    module = source.module(
        IMPL,
        torch=torch,
        AiterMLAHelper=Anything(),
        rocm_aiter_ops=SimpleNamespace(is_fused_mla_qkprep_enabled=lambda: build),
        get_current_vllm_config=lambda: config,
        current_workspace_manager=lambda: SimpleNamespace(get_simultaneous=lambda *a: [None]),
    )
    base = type("Base", (), {"init_topk_indices_buffer": lambda self, *a: None})
    made = module.cut("ROCMAiterMLASparseImpl", ["__init__"], base)
    impl = unconstructed(made)
    vars(impl).update(
        dcp_world_size=dcp, pcp_world_size=pcp, supports_dense_mha_prefill=dense_prefill
    )
    shape = (16, 512 + ROPE_DIM, 1.0, 1)
    impl.__init__(*shape, None, None, dtype, None, "decoder", None, kv_lora_rank=512)
    return getattr(impl, FLAG)


def layer_flag(
    source: Source,
    rotary_emb: Any,
    pcp: int = 1,
    hisparse: bool = False,
    impl: Any = None,
) -> tuple[object, object]:
    """The impl's flag and the layer's rotary embedding after the attention layer's constructor."""
    from backport.parity.intree.sparse_mla import ATTENTION

    impl = impl or _impl_stub()
    module = source.module(ATTENTION, **_constructor_names(pcp, hisparse, impl))
    layer = module.cut("MLAAttention", ["__init__"], torch.nn.Module)(
        16, 1.0, 128, ROPE_DIM, 128, 1536, 512, SimpleNamespace(), prefix="layer",
        attn_backend=_backend(impl), use_sparse=True, rotary_emb=rotary_emb,
    )  # fmt: skip
    return getattr(impl, FLAG, "no flag"), layer.rotary_emb


def _impl_stub(**changed: Any) -> SimpleNamespace:
    state = {FLAG: True, "is_sparse": True, "supports_dense_mha_prefill": False}
    return SimpleNamespace(**(state | {"dcp_world_size": 1, "index_group": None} | changed))


def _backend(impl: Any) -> Any:
    return SimpleNamespace(
        is_mla=lambda: True,
        get_name=lambda: "ROCM_AITER_MLA_SPARSE",
        get_impl_cls=lambda: lambda **arguments: impl,
    )


class _HiSparse:
    def cache(self, index: int) -> str:
        return "cache"


def _constructor_names(pcp: int, hisparse: bool, impl: Any) -> dict[str, Any]:
    if hisparse:
        impl.index_group, impl.index_group_index = _HiSparse(), 0
    config = Anything(
        parallel_config=SimpleNamespace(prefill_context_parallel_size=pcp),
        compilation_config=SimpleNamespace(static_forward_context={}),
        kernel_config=SimpleNamespace(enable_jit_warmup=False),
    )
    off = SimpleNamespace(is_fp8bmm_enabled=lambda: False, is_fp4bmm_enabled=lambda: False)
    stubs = ("logger", "AttentionType", "GroupShape", "QuantFP8", "_DecodeConcatQuantFP8")
    return dict.fromkeys((*stubs, "_init_kv_cache_quant", "MLAAttentionImpl"), Anything()) | {
        "torch": torch,
        "cast": cast,
        "Any": Any,
        "get_current_vllm_config": lambda: config,
        "HiSparseMLAIndexGroup": _HiSparse,
        "current_platform": SimpleNamespace(opaque_attention_op=lambda: True),
        "rocm_aiter_ops": off,
        "_canonicalize_sparse_mla_kv_cache_dtype": lambda backend, dtype: dtype,
        "is_quantized_kv_cache": lambda dtype: True,
    }


class Table(torch.nn.Module):
    """A rotary embedding as far as the constructor looks at it."""

    def __init__(self, width: int = ROPE_DIM) -> None:
        super().__init__()
        self.register_buffer("cos_sin_cache", torch.zeros(8, width))


# ---------------------------------------------------------------- claims


def _impl_opens(world: World) -> None:
    for dtype in ("fp8", "fp8_e4m3"):
        claim(impl_flag(world.patched, dtype) is True, f"{dtype}: the fusion stays off")


def _impl_declines(world: World, **changed: Any) -> None:
    found = impl_flag(world.patched, **changed)
    claim(found is False, f"{changed}: the impl's flag is {found}, not False")


def _layer_opens(world: World) -> None:
    table = Table()
    claim(layer_flag(world.patched, table) == (True, table), "the layer closes an open fusion")
    other = SimpleNamespace(**{k: v for k, v in vars(_impl_stub()).items() if k != FLAG})
    found = layer_flag(world.patched, table, impl=other)
    claim(found == ("no flag", None), "the layer touches an impl that has no such fusion")


def _layer_declines(world: World, table: Any, **changed: Any) -> None:
    found = layer_flag(world.patched, table, **changed)
    claim(found == (False, None), f"the layer leaves {found}, not (False, None)")


def _hisparse(world: World) -> None:
    from backport.parity.intree.sparse_mla import ATTENTION

    if "hisparse_cache" in world.pristine.text(ATTENTION):
        _layer_declines(world, Table(), hisparse=True)


def _no_positions(world: World) -> None:
    from backport.parity.cases.qk_rope_concat_and_cache import Shape, make
    from backport.parity.intree.sparse_mla import Layer
    from backport.parity.simulated import Aiter, qk_rope_cache

    made = make(world, Shape(3, 16, 1, is_neox=True))
    build = qk_rope_cache.install(Aiter(world.aiter))
    layer = Layer(world.patched, made, build, fused=True)
    # The wrapper of another model may not pass them.
    layer.attention.forward = functools.partial(_forget_positions, layer.attention.forward)
    raises(RuntimeError, layer.run, "a fused layer goes on without positions")
    claim(not build.launches, "the kernel ran without positions")


def _speculative(world: World) -> None:
    """With speculative decoding, the query of a row without a slot is zero, not left over."""
    from backport.parity.cases.qk_rope_concat_and_cache import Shape, make
    from backport.parity.intree.sparse_mla import Layer
    from backport.parity.simulated import Aiter, qk_rope_cache

    made = make(world, Shape(5, 16, 64, is_neox=True))
    found = []
    for speculative in (False, True):
        build = qk_rope_cache.install(Aiter(world.aiter))
        layer = Layer(world.patched, made, build, fused=True)
        layer.impl.zero_fused_query = speculative
        found.append(layer.run().view(torch.uint8))
    left, zeroed = found
    claim(not bool(zeroed[~made.live].any()), "a skipped row of the query is not zero")
    claim(torch.equal(left[made.live], zeroed[made.live]), "a row with a slot changes")


def _forget_positions(forward: Any, *args: Any, **kwargs: Any) -> Any:
    return forward(*args, **(kwargs | {"positions": None}))


def _closed_is_pristine(world: World) -> None:
    from backport.parity.cases.qk_rope_concat_and_cache import inputs
    from backport.parity.intree.sparse_mla import Layer
    from backport.parity.simulated import Aiter

    for made in inputs(world):
        layers = [
            Layer(source, made, Aiter(world.aiter), fused=False)
            for source in (world.pristine, world.patched)
        ]
        first, second = (layer.run() for layer in layers)
        same("query", first, second)
        same("cache", *(layer.attention.kv_cache for layer in layers))


def _answers(world: World) -> None:
    from backport.parity.intree.sparse_mla import IMPL, READY, WRAPPER

    called = READY in world.patched.text(WRAPPER)
    defined = world.patched.has(IMPL, f"ROCMAiterMLASparseImpl.{READY}")
    claim(defined or not called, f"the wrapper calls {READY}, which the impl does not have")


def _attention_fake(world: World) -> None:
    from backport.parity.intree.sparse_mla import ATTENTION

    op = "unified_mla_attention_with_output"
    names = [name for name, _ in world.patched.parameters(ATTENTION, op)]
    claim(names[-1] == "positions", f"{op} does not take positions")
    if world.patched.has(ATTENTION, f"{op}_fake"):
        module = world.patched.module(ATTENTION, torch=torch)
        one_signature(module, op, f"{op}_fake")


def _aiter_fake(world: World) -> None:
    from backport.parity.intree.sparse_mla import OP, OPS

    module = world.patched.module(OPS, torch=torch)
    one_signature(module, f"_{OP}_impl", f"_{OP}_fake")


def _kernel_absent(world: World) -> None:
    from backport.parity.intree.sparse_mla import OPS
    from backport.parity.simulated import Aiter, qk_rope_cache

    name = "_has_aiter_fused_qk_rope_concat_and_cache_mla"
    without = Aiter(world.aiter).provide(qk_rope_cache.MODULE)
    for build, there in ((without, False), (qk_rope_cache.install(Aiter(world.aiter)), True)):
        module = world.patched.module(OPS, torch=torch)
        with build.installed():
            found = module.function(name)()
        claim(found is there, f"{name} answers {found} where the kernel is {there}")


def _quant_pass(world: World) -> None:
    path = "vllm/compilation/passes/fusion/mla_attn_quant_fusion.py"
    text = world.patched.text(path)
    start = text.index("class MLAAttnQuantFusionPass")
    guard, registered = (text.find(word, start) for word in (FLAG, "self.register("))
    claim(0 < guard < registered, "the output-quant pass registers patterns for a fused layer")


CLAIMS: dict[str, Claim] = {
    "opens for fp8 and fp8_e4m3": _impl_opens,
    "declines a bf16 cache": functools.partial(_impl_declines, dtype="auto"),
    "declines fp8_ds_mla": functools.partial(_impl_declines, dtype="fp8_ds_mla"),
    "declines fp8_e5m2": functools.partial(_impl_declines, dtype="fp8_e5m2"),
    "declines decode context parallelism": functools.partial(_impl_declines, dcp=2),
    "declines prefill context parallelism": functools.partial(_impl_declines, pcp=2),
    "declines a dense-MHA prefill": functools.partial(_impl_declines, dense_prefill=True),
    "declines without AITER": functools.partial(_impl_declines, build=None),
    "declines an AITER without the kernel": _kernel_absent,
    "layer keeps an open fusion": _layer_opens,
    "layer declines a caller without rotary embedding": lambda w: _layer_declines(w, None),
    "layer declines a table of another width": lambda w: _layer_declines(w, Table(32)),
    "layer declines an embedding without a table": lambda w: _layer_declines(
        w, torch.nn.Identity()
    ),
    "layer declines prefill context parallelism": lambda w: _layer_declines(w, Table(), pcp=2),
    "layer declines a HiSparse cache": _hisparse,
    "speculative decoding: skipped rows are zero": _speculative,
    "missing positions are an error": _no_positions,
    "closed gate equals the pristine tree": _closed_is_pristine,
    "impl answers what the wrapper calls": _answers,
    "attention op and fake take the same": _attention_fake,
    "AITER op and fake take the same": _aiter_fake,
    "output-quant pass keeps away": _quant_pass,
}
