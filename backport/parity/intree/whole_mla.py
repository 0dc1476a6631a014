"""The MLA layer of a booted tree: its own wrapper, attention layer and backend, constructed.

Stand-ins: the projections (they hand the inputs through), the rotary embedding (fp32,
one rounding, as the release's kernel), and what AITER and the compiled ops do.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch

from backport.parity.intree.sparse_mla import PADDING, STALE, Rope, padded
from backport.parity.intree.torch_view import poison
from backport.parity.simulated import Aiter
from backport.parity.values import World

if TYPE_CHECKING:
    from backport.parity.cases.qk_rope_concat_and_cache import Inputs

DENSE = "vllm.v1.attention.backends.mla.rocm_aiter_mla"
SPARSE = "vllm.v1.attention.backends.mla.rocm_aiter_mla_sparse"
NAME = "layer.attn"
HIDDEN = 8
KEYS = 3  # that each token attends
V = 128  # lanes of a value head
SCALE = 0.1


@dataclass(frozen=True, slots=True)
class Machine(World):
    """A booted tree: `writes` gets a word per separate cache write, `fp8` is the chip's format."""

    build: Aiter = field(default_factory=lambda: Aiter("0.1.19"))
    writes: list[str] = field(default_factory=list)
    fp8: torch.dtype = torch.float8_e4m3fn


class Handing(torch.nn.Module):
    """A projection that gives this, or what it gets."""

    def __init__(self, given: torch.Tensor | None = None) -> None:
        super().__init__()
        self.given = given

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return (x if self.given is None else self.given.clone()), None


class Dense(torch.nn.Module):
    """A norm as far as it leaves dense memory."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.contiguous()


class KVProjection(torch.nn.Module):
    """kv_b_proj, not quantized: [heads * (nope + V), latent], fp32 sums."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        linear = importlib.import_module("vllm.model_executor.layers.linear")
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.quant_method = linear.UnquantizedLinearMethod()
        self.params_dtype = weight.dtype
        self.bias = None

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return (x.float() @ self.weight.float().T).to(x.dtype), None


def kv_weight(w_uk: torch.Tensor) -> torch.Tensor:
    """The projection's weight with these key lanes [H, P, L] and random value lanes."""
    heads, nope, latent = w_uk.shape
    made = torch.Generator().manual_seed(heads)
    w_uv = torch.randn(heads, V, latent, generator=made) / latent**0.5
    return torch.cat((w_uk, w_uv.to(w_uk.dtype)), 1).reshape(heads * (nope + V), latent)


@contextmanager
def setting(**variables: str) -> Iterator[None]:
    """The tree with these environment variables, as if they had been there at its start."""
    ops = importlib.import_module("vllm._aiter_ops").rocm_aiter_ops
    try:
        with patch.dict(os.environ, variables):
            ops.refresh_env_variables()
            yield
    finally:
        ops.refresh_env_variables()


@contextmanager
def poisoned() -> Iterator[None]:
    """`torch.empty` and `new_empty` leave poison: a row that nobody writes cannot look right."""
    real, real_new = torch.empty, torch.Tensor.new_empty

    def empty(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = real(*args, **kwargs)
        return poison(made) if made.is_contiguous() and "out" not in kwargs else made

    def new_empty(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        return poison(real_new(self, *args, **kwargs))

    with patch.object(torch, "empty", empty), patch.object(torch.Tensor, "new_empty", new_empty):
        yield


def attend(queries: list[torch.Tensor]) -> Any:
    """In place of AITER's decode kernel: exact attention over each token's keys."""

    def mla_decode_fwd(
        q: torch.Tensor,
        kv_buffer: torch.Tensor,
        o: torch.Tensor,
        _qo_indptr: torch.Tensor,
        kv_indptr: torch.Tensor,
        kv_indices: torch.Tensor,
        *_others: Any,
        sm_scale: float = 1.0,
        q_scale: torch.Tensor | None = None,
        kv_scale: torch.Tensor | None = None,
        **__: Any,
    ) -> None:
        queries.append(q)
        unit = torch.tensor(1.0)
        keys = kv_buffer.reshape(-1, kv_buffer.shape[-1]).float()
        for token, row in enumerate(q.float() * (unit if q_scale is None else q_scale)):
            chosen = keys[kv_indices[kv_indptr[token] : kv_indptr[token + 1]].long()]
            chosen = chosen * (unit if kv_scale is None else kv_scale)
            weights = torch.softmax(row @ chosen.T * sm_scale, -1)
            o[token] = (weights @ chosen[:, : o.shape[-1]]).to(o.dtype)

    return mla_decode_fwd


class Layer:
    """One constructed layer; `queries` holds what reached AITER's attention kernel."""

    def __init__(
        self,
        machine: Machine,
        made: Inputs,
        wrapper: str,
        backend: str,
        cache_dtype: str = "fp8",
        rotates: bool = True,
        **modules: Any,
    ) -> None:
        self.machine = machine
        self.made = made
        self.rope = Rope(made)
        self.queries: list[torch.Tensor] = []
        self.output = torch.empty(0)
        self.module = importlib.import_module(backend)
        self.config = importlib.import_module("vllm.config").VllmConfig()
        self.config.model_config = SimpleNamespace(dtype=torch.bfloat16, max_model_len=64)
        machine.build.launches.clear()
        machine.writes.clear()
        machine.build.provide("aiter.mla", mla_decode_fwd=attend(self.queries))
        state = self._modules(rotates) | modules
        with machine.build.installed():
            self.wrapper = self._construct(wrapper, cache_dtype, state)
        vars(self.attention)["kv_cache"] = made.cache.clone()
        for name, scale in {"_k_scale": made.k_scale, "_q_scale": made.q_scale}.items():
            setattr(self.attention, name, scale)

    @property
    def attention(self) -> Any:
        return self.wrapper.mla_attn

    @property
    def launches(self) -> Any:
        return self.machine.build.launches

    def _modules(self, rotates: bool) -> dict[str, Any]:
        made = self.made
        return {
            "kv_a_layernorm": Dense(),
            "kv_b_proj": KVProjection(kv_weight(made.w_uk)),
            "rotary_emb": self.rope if rotates else None,
            "o_proj": Handing(),
            "q_proj": Handing(padded(torch.cat((made.q_nope, made.q_pe), -1).flatten(1))),
            "kv_a_proj_with_mqa": Handing(padded(torch.cat((made.kv_c, made.k_pe.squeeze(1)), -1))),
            "is_sparse": self.module.__name__ == SPARSE,
            "topk_indices_buffer": torch.zeros(256, KEYS, dtype=torch.int32),
        }

    def _construct(self, wrapper: str, cache_dtype: str, state: dict[str, Any]) -> Any:
        """The tree's wrapper with its weights loaded, as the model's loader leaves it."""
        path, _, name = wrapper.rpartition(".")
        attention = importlib.import_module("vllm.model_executor.layers.attention.mla_attention")
        shared = importlib.import_module("vllm.model_executor.layers.mla")
        current = importlib.import_module("vllm.config").set_current_vllm_config
        kind = getattr(importlib.import_module(path), name)
        wanted = {f.name for f in dataclasses.fields(shared.MLAModules)}
        modules = shared.MLAModules(**{name: state.get(name) for name in wanted})
        backend = "ROCMAiterMLASparseBackend" if state["is_sparse"] else "AiterMLABackend"
        chosen = getattr(self.module, backend)
        made = self.made
        with (
            current(self.config),
            patch.object(attention, "get_attn_backend", lambda *_, **__: chosen),
            patch.object(
                attention, "get_mla_prefill_backend", lambda *_, **__: lambda **given: None
            ),
            _default(torch.bfloat16),
        ):
            layer = kind(
                HIDDEN, made.heads, SCALE, made.q_nope.shape[-1], made.q_pe.shape[-1], V,
                state.get("q_lora_rank"), made.kv_c.shape[-1], modules,
                SimpleNamespace(cache_dtype=cache_dtype, kv_cache_dtype_skip_layers=None,
                                enable_prefix_caching=False),
                prefix="layer",
            )  # fmt: skip
            layer.mla_attn.process_weights_after_loading(torch.bfloat16)
        return layer

    @contextmanager
    def step(self, **changed: Any) -> Iterator[torch.Tensor]:
        """A forward context for the batch with PADDING rows behind it; gives the positions."""
        forward = importlib.import_module("vllm.forward_context")
        made, tokens = self.made, self.made.slots.numel()
        slots, positions = (torch.full((tokens + PADDING,), fill) for fill in (-1, STALE))
        slots[:tokens], positions[:tokens] = made.slots, made.positions
        slots = slots.to(changed.pop("slots", torch.int64))
        mode = changed.pop("mode", "NONE")
        graphs = importlib.import_module("vllm.config").CUDAGraphMode
        given = {NAME: self._metadata(slots, changed)}
        with (
            self.machine.build.installed(),
            forward.set_forward_context(
                given,
                self.config,
                slot_mapping={NAME: slots},
                cudagraph_runtime_mode=graphs[mode],
            ),
            poisoned(),
        ):
            yield positions

    def run(self, **changed: Any) -> torch.Tensor:
        """The wrapper's forward; the query that was attended, without the kernel's padding."""
        tokens = self.made.slots.numel()
        hidden = torch.ones(tokens + PADDING, HIDDEN, dtype=torch.bfloat16)
        with self.step(**changed) as positions, torch.inference_mode():
            self.output = self.wrapper(positions, hidden)[:tokens]
        return self._query()

    def _query(self) -> torch.Tensor:
        made = self.made
        if not self.queries:
            return torch.empty((0, made.heads, made.cache.shape[-1]), dtype=made.fp8)
        helper = importlib.import_module(DENSE).AiterMLAHelper
        query: torch.Tensor = helper.get_mla_unpadded_o(made.heads, self.queries[-1])
        return query.view(made.fp8) if query.dtype == torch.uint8 else query

    def _metadata(self, slots: torch.Tensor, changed: dict[str, Any]) -> Any:
        tokens = self.made.slots.numel()
        indptr = torch.arange(tokens + 1, dtype=torch.int32)
        state = {
            "paged_kv_indptr": indptr * KEYS,
            "paged_kv_indices": torch.arange(tokens * KEYS, dtype=torch.int32) * 7 % 128,
            "paged_kv_last_page_len": torch.ones(tokens, dtype=torch.int32),
            "qo_indptr": indptr,
            "attn_out_dtype": torch.bfloat16,
            "max_qo_len": 1,
            "seq_lens": torch.full((tokens,), KEYS, dtype=torch.int32),
            "num_reqs": tokens,
            "max_query_len": 1,
            "max_seq_len": 8,
            "num_actual_tokens": tokens,
            "query_start_loc": indptr,
            "slot_mapping": slots,
            "num_decodes": tokens,
            "num_decode_tokens": tokens,
            "num_prefills": 0,
            "prefill_max_seq_len": 8,
            "topk_tokens": KEYS,
            "block_table": torch.zeros(1, 1, dtype=torch.int32),
            "req_id_per_token": torch.zeros(tokens, dtype=torch.int32),
        } | changed
        if self.module.__name__ == DENSE:
            state["decode"] = filled(self.module.AiterMLADecodeMetadata, state)
            return filled(self.module.AiterMLAMetadata, state)
        return filled(self.module.ROCMAiterMLASparseMetadata, state)


def filled(kind: Any, state: dict[str, Any]) -> Any:
    """An instance of the tree's dataclass, whatever fields this release gives it."""
    made = object.__new__(kind)
    for each in dataclasses.fields(kind):
        object.__setattr__(made, each.name, state.get(each.name, _default_of(each)))
    return made


def _default_of(each: Any) -> Any:
    if each.default is not dataclasses.MISSING:
        return each.default
    return each.default_factory() if each.default_factory is not dataclasses.MISSING else None


@contextmanager
def _default(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
