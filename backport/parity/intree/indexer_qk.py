"""The DSA indexer of a tree: its forward fused and split, over the tree's own AITER op."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree import indexer_qk_claims
from backport.parity.intree.claims import claim
from backport.parity.intree.extract import Source
from backport.parity.intree.stand_ins import Anything, unconstructed
from backport.parity.intree.torch_view import torch_with
from backport.parity.simulated import Aiter, indexer_qk
from backport.parity.simulated.indexer_qk import DIM, ROPE, quantize_rows, rope, write_cache
from backport.parity.simulated.modules import installed
from backport.parity.values import Binding, CannotRun, Ran, World
from backport.parity.versions import at_least

if TYPE_CHECKING:
    from backport.parity.cases.indexer_qk_prep import Inputs

MODEL = "vllm/model_executor/models/deepseek_v2.py"
OPS = "vllm/_aiter_ops.py"
OP = "rocm_aiter_indexer_qk_rope_quant_cache"
ENABLE = "maybe_enable_aiter_indexer_qk_fusion"
PADDING = 3


class Norm(torch.nn.Module):
    """k's LayerNorm as the release keeps it: fp32 parameters, rounded to the input's dtype."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight.clone(), requires_grad=False)
        self.bias = torch.nn.Parameter(bias.clone(), requires_grad=False)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = torch.nn.functional.layer_norm
        return norm(x.float(), (DIM,), self.weight, self.bias, self.eps).to(x.dtype)


class Op:
    """In place of SparseAttnIndexer: keeps what it is given, writes k where it has to."""

    def __init__(self, made: Inputs, cache: torch.Tensor) -> None:
        self.made = made
        self.cache = cache
        self.skip_k_cache_insert = False
        self.given: tuple[torch.Tensor, torch.Tensor] | None = None
        self.writes = 0

    def __call__(
        self, _: torch.Tensor, q: torch.Tensor, k: torch.Tensor | None, weights: torch.Tensor
    ) -> None:
        self.given = (q, weights)
        claim((k is None) == self.skip_k_cache_insert, "nobody writes k, or two do")
        if k is None:
            return
        self.writes += 1
        made = self.made
        rows = quantize_rows(k[: len(made.slots)][made.live], made.fp8, power_of_two=True)
        write_cache(self.cache, made.slots[made.live], *rows, made.tiled)


class Indexer:
    """One indexer of the tree with projections that hand the inputs through."""

    def __init__(self, source: Source, made: Inputs, build: Aiter) -> None:
        self.made = made
        self.build = indexer_qk.install(build)
        self.cache = made.cache.clone()
        self.op = Op(made, self.cache)
        self.source = source
        self.metadata: Any = {"k_cache": SimpleNamespace(slot_mapping=made.slots)}
        self.platform = SimpleNamespace(is_rocm=lambda: True, fp8_dtype=lambda: made.fp8)
        self.ops = self._ops()
        self.model = source.module(
            MODEL,
            torch=torch,
            nn=torch.nn,
            current_platform=self.platform,
            rocm_aiter_ops=self.ops,
            per_token_group_quant_fp8=_group_quant(made.fp8),
            logger=Anything(),
            extract_layer_index=lambda prefix: int(prefix.split(".")[1]),
        )
        self.layer = self._layer()

    def _ops(self) -> Any:
        source = self.source
        if not source.has(OPS, f"_{OP}_impl"):
            return SimpleNamespace()
        module = source.module(
            OPS,
            torch=torch,
            get_forward_context=lambda: SimpleNamespace(attn_metadata=self.metadata),
            _resolve_layer_name=lambda name: name,
            _encode_layer_name=lambda name: name,
        )
        impl = module.function(f"_{OP}_impl")
        methods = ["indexer_qk_rope_quant_cache", "get_indexer_qk_norm_dtype"]
        cut = module.cut("rocm_aiter_ops", methods)
        module["rocm_aiter_ops"] = cut
        module["torch"] = torch_with(**{OP: impl})
        names = {name: getattr(cut, name) for name in methods}
        return SimpleNamespace(is_indexer_qk_fusion_enabled=lambda: True, **names)

    def _layer(self) -> Any:
        made, name = self.made, "Indexer"
        wanted = ("forward", "enable_aiter_qk_fusion", "_forward_aiter_qk_fusion")
        methods = [m for m in wanted if self.source.has(MODEL, f"{name}.{m}")]
        cut = self.model.cut(name, methods, torch.nn.Module)
        layer = unconstructed(cut)
        for key, value in {
            "prefix": "layers.0.indexer",
            "n_head": made.heads,
            "head_dim": DIM,
            "rope_dim": ROPE,
            "quant_block_size": DIM,
            "scale_fmt": "ue8m0",
            "softmax_scale": DIM**-0.5,
            "n_head_scale": made.heads**-0.5,
            "wq_b": lambda qr: (qr, None),
            "wk_weights_proj": lambda hidden: (hidden, None),
            "k_norm": Norm(made.norm_weight, made.norm_bias, 1e-6),
            "k_cache": SimpleNamespace(kv_cache=self.cache, prefix="k_cache"),
            "indexer_op": self.op,
            "is_inplace_rope": False,
            "use_fused_indexer_q": False,
            "use_aiter_qk_fusion": False,
        }.items():
            object.__setattr__(layer, key, value)
        return layer

    def enable(self, gfx: str = "gfx950", **changed: Any) -> bool:
        """Let the tree decide whether the fusion is on; False where it declines."""
        state = {"dtype": torch.bfloat16, "dcp": 1, "pcp": 1, "ubatching": False} | changed
        config = SimpleNamespace(
            model_config=SimpleNamespace(dtype=state["dtype"]),
            parallel_config=SimpleNamespace(
                decode_context_parallel_size=state["dcp"],
                prefill_context_parallel_size=state["pcp"],
                use_ubatching=state["ubatching"],
            ),
            scheduler_config=SimpleNamespace(max_num_batched_tokens=len(self.made.q) + 5),
        )
        chips = {"on_gfx942": lambda: gfx == "gfx942", "on_gfx950": lambda: gfx == "gfx950"}
        layers = SimpleNamespace(modules=lambda: [self.layer])
        with self.running(), installed("vllm", {"vllm.platforms.rocm": chips}):
            self.model.function(ENABLE)(config, layers, self.made.q.device)
        return bool(self.layer.use_aiter_qk_fusion)

    @contextmanager
    def running(self) -> Iterator[None]:
        """AITER is importable, and its package says its version."""
        with self.build.installed(), reported(self.build.version):
            yield

    def run(self) -> None:
        """One forward pass with PADDING rows behind the batch."""
        made = self.made
        rotary = Rotary(made)
        hidden = torch.cat((made.kw, torch.ones(PADDING, made.kw.shape[1]).to(made.kw.dtype)))
        q = torch.cat((made.q, torch.ones(PADDING, *made.q.shape[1:]).to(made.q.dtype)))
        positions = torch.cat((made.positions, torch.zeros(PADDING, dtype=torch.int64)))
        with self.running():
            self.layer.forward(hidden, q.flatten(1), positions, rotary)

    def ran(self, expected: int) -> Ran:
        """What the op was handed, and the cache."""
        from backport.parity.cases.indexer_qk_prep import outputs

        if self.op.given is None:
            raise CannotRun("the indexer did not reach its op")
        codes, weights = (t[: len(self.made.slots)] for t in self.op.given)
        found = outputs(self.made, codes, weights, self.cache)
        return Ran(found, self.build.launches[indexer_qk.NAME], expected)


class Rotary:
    """The indexer's rotary embedding: fp32 arithmetic, one rounding."""

    def __init__(self, made: Inputs) -> None:
        self.cos_sin_cache = made.table
        self.is_neox_style = made.is_neox

    def __call__(
        self, positions: torch.Tensor, q: torch.Tensor, k: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        cos, sin = self.cos_sin_cache.to(q.dtype)[positions].float().chunk(2, -1)
        return (
            rope(q.float(), (cos, sin), self.is_neox_style).to(q.dtype),
            rope(k.float(), (cos, sin), self.is_neox_style).to(k.dtype),
        )


def _group_quant(fp8: torch.dtype) -> Any:
    def per_token_group_quant_fp8(
        x: torch.Tensor, group: int, column_major_scales: bool, use_ue8m0: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        claim(group == DIM and not column_major_scales, "one scale per row")
        codes, scale = quantize_rows(x, fp8, use_ue8m0)
        return codes, scale[:, None]

    return per_token_group_quant_fp8


@contextmanager
def reported(version: str) -> Iterator[None]:
    """`importlib.metadata.version("amd-aiter")` is the simulated build's."""
    if importlib.util.find_spec("packaging") is None:
        raise CannotRun("the tree compares versions with `packaging`, which is not installed")
    real = importlib.metadata.version

    def told(name: str) -> str:
        return version.removeprefix("v") if name == "amd-aiter" else real(name)

    vars(importlib.metadata)["version"] = told
    try:
        yield
    finally:
        vars(importlib.metadata)["version"] = real


# ---------------------------------------------------------------- candidates


def fused(world: World, made: Inputs) -> Ran:
    """The patched indexer, switched on by the tree itself; its buffers start poisoned."""
    return _fused(world.patched, made, Aiter(world.aiter))


def fused_on_the_other_side(world: World, made: Inputs) -> Ran:
    """The same on an AITER from the other side of the change of the norm's dtype."""
    old = at_least(world.aiter, indexer_qk.FP32_NORM_FROM)
    return _fused(world.patched, made, Aiter("0.1.19" if old else indexer_qk.FP32_NORM_FROM))


def _fused(source: Source, made: Inputs, build: Aiter) -> Ran:
    indexer = Indexer(source, made, build)
    claim(indexer.enable(), "the fusion stays off")
    indexer.layer.q_fp8_buffer.view(torch.uint8).fill_(0x11)
    indexer.layer.weights_buffer.fill_(7.0)
    indexer.run()
    claim(indexer.op.writes == 0, "k is written twice")
    return indexer.ran(expected=1)


def split(world: World, made: Inputs) -> Ran:
    """The patched indexer with the fusion off."""
    indexer = Indexer(world.patched, made, Aiter(world.aiter))
    indexer.run()
    found = indexer.ran(expected=0)
    kept = {k: v for k, v in found.outputs.items() if k != "rows without a slot"}
    return Ran(kept, found.launches, found.expected)


BINDING: Binding[Inputs] = Binding(
    "indexer",
    f"{MODEL}::{ENABLE}",
    {
        "fused": fused,
        "fused, AITER of the other norm dtype": fused_on_the_other_side,
        "split": split,
    },
    indexer_qk_claims.CLAIMS,
)
