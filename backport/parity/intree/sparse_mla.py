"""The sparse MLA layer of a tree: wrapper, attention, backend and op, with a simulated kernel.

What is not the change's is a stand-in: projections hand the inputs through, the
attention keeps its query, the base class writes the cache as the release does.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch

from backport.parity.intree import sparse_mla_claims
from backport.parity.intree.claims import claim
from backport.parity.intree.extract import Source
from backport.parity.intree.stand_ins import unconstructed
from backport.parity.intree.torch_view import torch_with
from backport.parity.simulated import Aiter, qk_rope_cache
from backport.parity.simulated.rounding import quantize, quantize_by_division, rotate
from backport.parity.values import Binding, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases.qk_rope_concat_and_cache import Inputs

OPS = "vllm/_aiter_ops.py"
ATTENTION = "vllm/model_executor/layers/attention/mla_attention.py"
WRAPPER = "vllm/model_executor/layers/mla.py"
IMPL = "vllm/v1/attention/backends/mla/rocm_aiter_mla_sparse.py"
OP = "rocm_aiter_fused_qk_rope_concat_and_cache_mla"
READY = "record_logical_topk_ready"
PADDING = 3
STALE = 10**9


class Rope(torch.nn.Module):
    """The release's rotary embedding: fp32 arithmetic, one rounding; counts its calls."""

    cos_sin_cache: torch.Tensor

    def __init__(self, made: Inputs) -> None:
        super().__init__()
        self.register_buffer("cos_sin_cache", made.table, persistent=False)
        self.is_neox_style = made.is_neox
        self.calls = 0

    def forward(
        self, positions: torch.Tensor, q: torch.Tensor, k: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.calls += 1
        rows = positions.clamp(max=self.cos_sin_cache.shape[0] - 1)
        table = self.cos_sin_cache.to(q.dtype).float()[rows]
        cos, sin = (half[:, None] for half in table.chunk(2, -1))
        turned = [rotate(x.float(), cos, sin, self.is_neox_style).to(x.dtype) for x in (q, k)]
        return turned[0], turned[1]


class Layer:
    """One layer put together from the tree's own definitions.

    `fused` decides the impl's flag; `queries` holds what reached the attention,
    `writes` counts the separate cache writes.
    """

    def __init__(self, source: Source, made: Inputs, build: Aiter, fused: bool) -> None:
        self.made = made
        self.aiter = build
        self.fused = fused
        self.rope = Rope(made)
        self.queries: list[torch.Tensor] = []
        self.writes = 0
        self.context = SimpleNamespace(slots=None, metadata=None)
        self.platform = SimpleNamespace(fp8_dtype=lambda: made.fp8)
        self.mode: Any = None
        self.impl = self._impl(source)
        self.attention = self._attention(source)
        self.wrapper = self._wrapper(source)

    def _impl(self, source: Source) -> Any:
        layer = self

        class Base:
            def do_kv_cache_update(
                self,
                kv_c: torch.Tensor,
                k_pe: torch.Tensor,
                cache: torch.Tensor,
                slots: torch.Tensor,
                kv_cache_dtype: str,
                k_scale: torch.Tensor,
            ) -> None:
                layer.writes += 1
                rows = torch.cat((kv_c, k_pe.squeeze(1)), -1)[: len(slots)]
                codes = quantize_by_division(rows, k_scale, layer.made.fp8).view(torch.uint8)
                live = slots >= 0
                cache.view(torch.uint8).view(-1, rows.shape[-1])[slots[live]] = codes[live]

        methods = ["do_kv_cache_update", "fused_qk_rope_concat_and_cache", READY]
        kept = [m for m in methods if source.has(IMPL, f"ROCMAiterMLASparseImpl.{m}")]
        module = source.module(
            IMPL, torch=torch_with(), current_platform=self.platform, rocm_aiter_ops=ops(source)
        )
        impl = module.cut("ROCMAiterMLASparseImpl", kept, Base)()
        vars(impl).update(
            use_fused_qk_rope_cache=self.fused,
            zero_fused_query=False,  # no speculative decoding: skipped rows stay as they are
            num_heads=self.made.heads,
            head_size=self.made.cache.shape[-1],
            dcp_world_size=1,
            pcp_world_size=1,
            is_sparse=True,
            supports_quant_query_input=False,
            supports_dense_mha_prefill=False,
            forward_mqa=self._attend,
            prepare_for_batch=lambda *a: None,
        )
        if READY not in kept:
            # A pristine release may call what it does not define; see the claims.
            vars(impl)[READY] = lambda *a: None
        return impl

    def _attend(self, q: Any, cache: torch.Tensor, metadata: Any, layer: Any) -> Any:
        """In place of the decode kernel: quantize as the impl does and keep the query."""
        if isinstance(q, tuple):
            q = quantize(torch.cat(q, -1), self.made.q_scale, self.made.fp8)
        self.queries.append(q)
        return torch.zeros(*q.shape[:2], layer.kv_lora_rank, dtype=torch.bfloat16), None

    def _attention(self, source: Source) -> Any:
        module = source.module(ATTENTION, **self._attention_names())
        op, update = (
            module.function(name)
            for name in ("unified_mla_attention_with_output", "unified_mla_kv_cache_update")
        )
        module["torch"] = torch_with(
            unified_mla_attention_with_output=op, unified_mla_kv_cache_update=update
        )
        optional = ("_get_fused_rope_cos_sin", "prepare_kv_cache_update", "update_kv_cache",
                    "_use_sparse_mha")  # fmt: skip
        methods = [m for m in optional if source.has(ATTENTION, f"MLAAttention.{m}")]
        cut = module.cut("MLAAttention", ["forward", "forward_impl", *methods], torch.nn.Module)
        attention = unconstructed(cut)
        for name, value in self._attention_state().items():
            object.__setattr__(attention, name, value)
        return attention

    def attention_context(self, _: str) -> tuple[Any, ...]:
        """In place of the release's function of this name."""
        state = self.context
        return state.metadata, self.attention, self.attention.kv_cache, state.slots

    def forward_context(self) -> SimpleNamespace:
        """In place of the release's `get_forward_context`."""
        return SimpleNamespace(
            attn_metadata={"layer": self.context.metadata},
            slot_mapping={"layer": self.context.slots},
            cudagraph_runtime_mode=self.mode,
        )

    def _attention_names(self) -> dict[str, Any]:
        return {
            "torch": torch,
            "cast": cast,
            "current_platform": self.platform,
            "is_quantized_kv_cache": lambda dtype: dtype.startswith("fp8"),
            "_detect_output_quant_key": lambda *a: None,
            "maybe_gather_mla_latent_cache_inputs": lambda kv, pe, slots, *a: (kv, pe, slots),
            "get_attention_context": self.attention_context,
            "get_forward_context": self.forward_context,
            "_encode_layer_name": lambda name: name,
            "_resolve_layer_name": lambda name: name,
            "nn": torch.nn,
        }

    def _attention_state(self) -> dict[str, Any]:
        made = self.made
        return {
            "impl": self.impl,
            "layer_name": "layer",
            "num_heads": made.heads,
            "qk_nope_head_dim": made.q_nope.shape[-1],
            "qk_rope_head_dim": made.q_pe.shape[-1],
            "v_head_dim": 4,
            "kv_lora_rank": made.kv_c.shape[-1],
            "kv_cache_dtype": "fp8",
            "use_pcp": False,
            "use_direct_call": False,
            "prefill_backend": None,
            "q_pad_num_heads": None,
            "hisparse_cache": None,
            "dcp_manager": None,
            "is_aiter_triton_fp4_bmm_enabled": False,
            "is_aiter_triton_fp8_bmm_enabled": False,
            "is_amx_bmm_enabled": False,
            "rotary_emb": self.rope if self.fused else None,
            "_q_scale": made.q_scale,
            "_k_scale": made.k_scale,
            "W_UK_T": made.w_uk,
            "_v_up_proj": lambda x, out: out.zero_(),
            "kv_cache": made.cache.clone(),
        }

    def _wrapper(self, source: Source) -> Any:
        name = "MultiHeadLatentAttentionWrapper"
        methods = ["forward"]
        if source.has(WRAPPER, f"{name}._defer_rope_to_fused_kernel"):
            methods.append("_defer_rope_to_fused_kernel")
        module = source.module(WRAPPER, torch=torch)
        wrapper = module.cut(name, methods)()
        made = self.made
        vars(wrapper).update(
            q_lora_rank=None,
            kv_lora_rank=made.kv_c.shape[-1],
            qk_rope_head_dim=made.q_pe.shape[-1],
            qk_nope_head_dim=made.q_nope.shape[-1],
            qk_head_dim=made.q_nope.shape[-1] + made.q_pe.shape[-1],
            num_heads=made.heads,
            v_head_dim=4,
            is_sparse=True,
            skip_topk=False,
            indexer=lambda *a: None,
            indexer_rope_emb=None,
            g_proj=None,
            dcp_q_replicate=False,
            fuse_qkv_rmsnorm=False,
            q_proj=lambda x: (padded(torch.cat((made.q_nope, made.q_pe), -1).flatten(1)),),
            kv_a_proj_with_mqa=lambda x: (
                padded(torch.cat((made.kv_c, made.k_pe.squeeze(1)), -1)),
            ),
            kv_a_layernorm=lambda x: x.contiguous(),
            o_proj=lambda x: (x,),
            rotary_emb=self.rope,
            mla_attn=self.attention,
        )
        return wrapper

    def run(self, scaling: torch.Tensor | None = None) -> torch.Tensor:
        """Drive a forward pass with padded rows behind the batch; the query that was attended."""
        tokens = self.made.slots.numel()
        slots = torch.full((tokens + PADDING,), -1)
        slots[:tokens] = self.made.slots
        positions = torch.full((tokens + PADDING,), STALE)
        positions[:tokens] = self.made.positions
        self.context.slots = slots
        self.context.metadata = SimpleNamespace(
            num_actual_tokens=tokens,
            num_decodes=1,
            num_prefills=1,
            num_decode_tokens=min(1, tokens),
            prefill=None,
            prefill_max_seq_len=8,
            topk_tokens=4,
            decode=None,
        )
        with self.aiter.installed():
            self.wrapper.forward(positions, torch.zeros(tokens + PADDING, 8), scaling)
        return self.queries[-1] if self.queries else self._no_query()

    def _no_query(self) -> torch.Tensor:
        made = self.made
        shape = (0, made.heads, made.cache.shape[-1])
        return torch.empty(shape, dtype=made.fp8)


def padded(rows: torch.Tensor) -> torch.Tensor:
    """The rows with PADDING more behind them, as a captured graph has them."""
    return torch.cat((rows, torch.ones(PADDING, *rows.shape[1:], dtype=rows.dtype)))


def ops(source: Source) -> Any:
    """`rocm_aiter_ops` of the tree: the static method, over the op's own implementation."""
    if not source.has(OPS, f"_{OP}_impl"):
        return SimpleNamespace()
    module = source.module(OPS, torch=torch)
    module["torch"] = torch_with(**{OP: module.function(f"_{OP}_impl")})
    return module.cut("rocm_aiter_ops", ["fused_qk_rope_concat_and_cache_mla"])


# ---------------------------------------------------------------- candidates


def _ran(layer: Layer, query: torch.Tensor, expected: int) -> Ran:
    from backport.parity.cases.qk_rope_concat_and_cache import outputs

    found = dict(outputs(layer.made, query, layer.attention.kv_cache))
    if not layer.fused:
        del found["skipped query rows"]
    return Ran(found, layer.aiter.launches[qk_rope_cache.NAME], expected)


def layer_fused(world: World, made: Inputs) -> Ran:
    """The patched layer with the fusion on: one launch, no separate rotation or cache write."""
    layer = Layer(world.patched, made, qk_rope_cache.install(Aiter(world.aiter)), fused=True)
    query = layer.run()
    found = _ran(layer, query, expected=1 if made.slots.numel() else 0)
    claim(layer.rope.calls == 0, "the rotation was not deferred")
    claim(layer.writes == 0, "the separate cache write ran as well")
    return found


def layer_split(world: World, made: Inputs) -> Ran:
    """The patched layer with the fusion off: the release's own launches."""
    layer = Layer(world.patched, made, qk_rope_cache.install(Aiter(world.aiter)), fused=False)
    return _ran(layer, layer.run(), expected=0)


def impl_method(world: World, made: Inputs) -> Ran:
    """The impl's method alone, given the transposed result of the bmm."""
    return _impl_on(Aiter(world.aiter), world, made)


def impl_method_packed(world: World, made: Inputs) -> Ran:
    """The same on a build that reads q_nope as dense memory: `.contiguous()` makes it right."""
    return _impl_on(Aiter("0.1.16", misread=True), world, made)


def _impl_on(build: Aiter, world: World, made: Inputs) -> Ran:
    layer = Layer(world.patched, made, qk_rope_cache.install(build), fused=True)
    with build.installed():
        query = layer.impl.fused_qk_rope_concat_and_cache(
            layer.attention,
            made.ql_nope,
            made.q_pe,
            made.kv_c,
            made.k_pe,
            layer.attention.kv_cache,
            made.slots,
            made.positions,
        )
    return _ran(layer, query, expected=1)


BINDING: Binding[Inputs] = Binding(
    "sparse MLA layer",
    f"{IMPL}::ROCMAiterMLASparseImpl.fused_qk_rope_concat_and_cache",
    {
        "layer, fusion on": layer_fused,
        "layer, fusion off": layer_split,
        "impl method": impl_method,
        "impl method, q_nope read as dense": impl_method_packed,
    },
    sparse_mla_claims.CLAIMS,
    fits=lambda made: not made.identity,
)
