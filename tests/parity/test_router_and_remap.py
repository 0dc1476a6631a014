"""The router gate and the shared index remap in a real tree: each known mistake by name."""

from __future__ import annotations

import pytest

from backport.parity.intree.router_gemm import GATE, OPS
from backport.parity.intree.sparse_mla import IMPL
from tests.parity.trees import failures, patched

pytestmark = pytest.mark.vllm


SHARED = "conversions shared"
REMAP = {
    "only owners of an indexer convert": (
        [
            (
                "remapped is None or impl.topk_indices_buffer is not remapped",
                "layer.indexer is not None",
            )
        ],
        SHARED,
    ),
    "the group is ignored": ([("if name not in group:", "if False:")], SHARED),
    "a new indexer is not seen": ([("if layer.indexer is not None:", "if False:")], SHARED),
    "the buffer is ignored": (
        [("remapped is None or impl.topk_indices_buffer is not remapped", "remapped is None")],
        SHARED,
    ),
    "the names' order is taken for the layers'": (
        [
            (
                "get_layers_from_vllm_config(vllm_config, MLAAttention).items()",
                "((n, vllm_config.context[n]) for n in layer_names)",
            )
        ],
        SHARED,
    ),
    "speculative decoding shares too": (
        [("vllm_config.speculative_config is not None", "False")],
        SHARED,
    ),
    "every layer converts": ([("if self.needs_index_remap:", "if True:")], SHARED),
    "the switch is inverted": (
        [("if self.needs_index_remap:", "if not self.needs_index_remap:")],
        SHARED,
    ),
    "the builder does not assign": (
        [("        assign_index_remap(vllm_config, layer_names)\n", "")],
        "the metadata builder assigns",
    ),
    "the switch is off by default": (
        [("needs_index_remap: bool = True", "needs_index_remap: bool = False")],
        "every layer converts by default",
    ),
}


@pytest.mark.parametrize("name", REMAP)
def test_a_remap_mutant_fails_by_name(name: str) -> None:
    edits, killer = REMAP[name]
    tree = patched("v0.28.0").only("sparse-index-remap").edited(IMPL, edits)
    assert failures(tree, "index_remap", killer)


STATED, CLOSED = "the tier opens and declines as stated", "closed gates equal the pristine tree"
ROUTER = {
    "otype is passed": (
        OPS,
        "tgemm.mm(x, weight, None)",
        "tgemm.mm(x, weight, None, otype=out_dtype)",
        "dtype at once",
    ),
    "the cast is dropped": (
        OPS,
        "tgemm.mm(x, weight, None).to(out_dtype)",
        "tgemm.mm(x, weight, None)",
        "dtype at once",
    ),
    "the operands are swapped": (
        OPS,
        "tgemm.mm(x, weight, None)",
        "tgemm.mm(weight, x, None)",
        "dtype at once",
    ),
    "the fake has another dtype": (
        OPS,
        "x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=out_dtype)",
        "x.new_empty((*x.shape[:-1], weight.shape[0]))",
        "op and fake take and give the same",
    ),
    "setting the dtype opens the other tier": (
        GATE,
        "        if self.allow_aiter_router_gemm:\n            # Serves",
        "        if False:\n            # Serves",
        STATED,
    ),
    "the other tier stays on": (
        GATE,
        "            self.allow_cublas_router_gemm = False\n",
        "            pass\n",
        STATED,
    ),
    "a bias is ignored": (
        GATE,
        "            and not bias\n            and not envs",
        "            and not envs",
        STATED,
    ),
    "batch invariance is ignored": (
        GATE,
        "            and not envs.VLLM_BATCH_INVARIANT\n",
        "",
        STATED,
    ),
    "the AITER predicate is ignored": (
        GATE,
        "            and bool(rocm_aiter_ops.is_tgemm_enabled())\n",
        "",
        STATED,
    ),
    "the platform is ignored": (
        GATE,
        "            current_platform.is_rocm()\n            and not bias",
        "            not bias",
        CLOSED,
    ),
    "forced fp32 keeps bf16 everywhere": (
        GATE,
        "can_use_specialized_kernels or can_use_aiter_router_gemm\n",
        "can_use_specialized_kernels or current_platform.is_rocm()\n",
        CLOSED,
    ),
    "forced fp32 takes bf16 weights away": (
        GATE,
        "can_use_specialized_kernels or can_use_aiter_router_gemm\n",
        "can_use_specialized_kernels\n",
        STATED,
    ),
    "fp32 inputs go to the tuned GEMM": (
        GATE,
        "if self.allow_aiter_router_gemm and x.dtype == torch.bfloat16:",
        "if self.allow_aiter_router_gemm:",
        "an fp32 input falls through",
    ),
    "the logits' dtype is ignored": (
        GATE,
        "self.out_dtype or x.dtype",
        "x.dtype",
        "dtype at once",
    ),
}


@pytest.mark.parametrize("name", ROUTER)
def test_a_router_mutant_fails_by_name(name: str) -> None:
    path, old, new, killer = ROUTER[name]
    tree = patched("v0.28.0").only("moe-router-gemm").edited(path, [(old, new)])
    assert failures(tree, "router_gemm", killer)
