"""Kimi-K3's stacks in a real tree: each known mistake fails by name."""

from __future__ import annotations

import pytest

from backport.parity.intree.context_gather import GATHER_OPS
from backport.parity.intree.kimi_decode import DECODE
from backport.parity.intree.kimi_rmsnorm import OPS, WRAPPER
from tests.parity.trees import failures, patched

pytestmark = pytest.mark.vllm

NORM = {
    "eps are swapped": (
        WRAPPER,
        "q_a_layernorm.variance_epsilon,\n                self.kv_a_layernorm.variance_epsilon",
        "kv_a_layernorm.variance_epsilon,\n                self.q_a_layernorm.variance_epsilon",
        "fused",
    ),
    "the query's norm is left out": (
        WRAPPER,
        "q_c, kv_c_normed = self._normalize_q_kv(q_c, kv_c)",
        "_, kv_c_normed = self._normalize_q_kv(q_c, kv_c)",
        "fused",
    ),
    "AITER need not be on": (
        WRAPPER,
        "if not rocm_aiter_ops.is_enabled() or not envs",
        "if not envs",
        "declines without AITER",
    ),
    "batch invariance is ignored": (
        WRAPPER,
        "if envs.VLLM_BATCH_INVARIANT or",
        "if",
        "declines batch invariance",
    ),
    "any dtype is taken": (
        WRAPPER,
        "dtype in (torch.float16, torch.bfloat16)",
        "dtype is not None",
        "declines fp32",
    ),
    "weights may differ": (
        WRAPPER,
        "and self.kv_a_layernorm.weight.dtype == dtype",
        "",
        "declines weights of two dtypes",
    ),
    "the op swaps the weights": (
        OPS,
        "        q=x1,\n        q_weight=x1_weight,",
        "        q=x1,\n        q_weight=x2_weight,",
        "fused",
    ),
}


@pytest.mark.parametrize("name", NORM)
def test_a_mutant_of_the_norms_fails_by_name(name: str) -> None:
    path, old, new, killer = NORM[name]
    tree = patched("v0.28.0").only("kimi-k3-qk-rmsnorm").edited(path, [(old, new)])
    assert failures(tree, "dual_rmsnorm", killer)


DECODES = {
    "an AITER that clamps no position is taken": (
        'if "compute_all_q_rope" not in parameters:',
        "if False:",
        "declines an AITER that clamps no position",
    ),
    "cos is 0.5": (
        "cos = kv_c_normed.new_ones((1, _QK_ROPE_HEAD_DIM // 2))",
        "cos = kv_c_normed.new_full((1, _QK_ROPE_HEAD_DIM // 2), 0.5)",
        "fused",
    ),
    "ql_nope is not dense": (
        "ql_nope.contiguous(),\n            q_pe",
        "ql_nope.half(),\n            q_pe",
        "fused",
    ),
    "k_scale and q_scale are swapped": (
        "attn._k_scale,\n            attn._q_scale,",
        "attn._q_scale,\n            attn._k_scale,",
        "fused",
    ),
    "the general kernel is reached": (
        "or attn.kv_lora_rank * attn.num_heads < _MIN_CLAMPING_WIDTH",
        "",
        "declines fewer than four heads",
    ),
    "padding keeps no query": (
        "compute_all_q_rope=True,",
        "compute_all_q_rope=False,",
        "fused",
    ),
    "fp8_e5m2 is taken": (
        'attn.kv_cache_dtype not in ("fp8", "fp8_e4m3")',
        'not attn.kv_cache_dtype.startswith("fp8")',
        "declines fp8_e5m2",
    ),
    "a piecewise graph takes the branch": (
        "if get_forward_context().cudagraph_runtime_mode == CUDAGraphMode.PIECEWISE:",
        "if False:",
        "declines a piecewise graph",
    ),
    "prefills take the branch": (
        "or attn_metadata.num_decode_tokens != num_tokens",
        "",
        "declines a batch with prefills",
    ),
    "the KV connector is bypassed": (
        "    @maybe_transfer_kv_layer\n",
        "",
        "keeps the KV connector",
    ),
    "positions may be fewer than tokens": (
        "min(slot_mapping.numel(), positions.numel()) >= num_tokens",
        "slot_mapping.numel() >= num_tokens",
        "declines fewer positions than tokens",
    ),
}


@pytest.mark.parametrize("name", DECODES)
def test_a_mutant_of_the_decode_fails_by_name(name: str) -> None:
    old, new, killer = DECODES[name]
    tree = patched("v0.28.0").only("kimi-k3-decode-prep").edited(DECODE, [(old, new)])
    assert failures(tree, "qk_rope_concat_and_cache", killer)


PREFILL = {
    "an AITER that casts weights to fp8 is taken": (
        'if not hasattr(module, "_triton_gather_kv_b_proj_flat"):',
        "if False:",
        "declines an AITER without the flat kernel",
        "context_gather",
    ),
    "weights are cast to fp8": (
        "impl.kv_b_proj.weight,\n            None,",
        "impl.kv_b_proj.weight.to(current_platform.fp8_dtype()).bfloat16(),\n            None,",
        "gathered",
        "context_gather",
    ),
    "starts are ignored": (
        "first = chunk.starts - chunk.cu_seq_lens[:-1]",
        "first = -chunk.cu_seq_lens[:-1]",
        "gathered",
        "context_gather",
    ),
    "the block table of another request is read": (
        "block_table = prefill.block_table[chunk.request_slice]",
        "block_table = prefill.block_table",
        "indices walk the block table",
        "context_gather",
    ),
    "a bias is ignored": (
        'and getattr(kv_b_proj, "bias", None) is None',
        "",
        "declines a bias",
        "context_gather",
    ),
    "any weight is taken": (
        "if not isinstance(quant_method, UnquantizedLinearMethod):",
        "if False:",
        "declines a quantized weight",
        "context_gather",
    ),
    "a strided weight is taken": (
        "and kv_b_proj.weight.is_contiguous()",
        "",
        "declines a strided weight",
        "context_gather",
    ),
    "context parallelism is accepted": (
        "if impl.dcp_world_size > 1 or envs.VLLM_BATCH_INVARIANT:",
        "if envs.VLLM_BATCH_INVARIANT:",
        "declines decode context parallelism",
        "context_gather",
    ),
    "k_pe comes first": (
        "op(k_nope, k_pe.squeeze(1), k)",
        "op(k_nope, k_pe.squeeze(1), k); k = k.roll(64, -1)",
        "concatenated",
        "k_concat",
    ),
    "unaligned rows are taken": (
        "any(stride % 8 for stride in x.stride()[:-1])",
        "False",
        "declines unaligned rows",
        "k_concat",
    ),
    "fp32 is taken": (
        "or k_nope.dtype not in (torch.bfloat16, torch.float16)",
        "",
        "declines fp32",
        "k_concat",
    ),
}


@pytest.mark.parametrize("name", PREFILL)
def test_a_mutant_of_the_prefill_fails_by_name(name: str) -> None:
    old, new, killer, case = PREFILL[name]
    tree = patched("v0.28.0").only("kimi-k3-context-gather").edited(GATHER_OPS, [(old, new)])
    assert failures(tree, case, killer)
