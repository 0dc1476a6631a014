"""The DSA indexer's stacks in a real tree: each known mistake fails by name."""

from __future__ import annotations

import pytest

from backport.parity.intree.indexer_op import INDEXER, SHARD
from backport.parity.intree.indexer_qk import MODEL, OPS
from backport.parity.intree.prefill_logits import OPS as INDEXER_OPS
from tests.parity.trees import failures, patched

pytestmark = pytest.mark.vllm

QK_PREP = {
    "the norm goes in fp32 to a build that wants bf16": (
        OPS,
        'if Version("0.1.15") <= release <= Version("0.1.19"):',
        'if Version("0.1.15") <= release < Version("0.1.19"):',
        "fused",
    ),
    "the norm goes in bf16 to a build that wants fp32": (
        OPS,
        'return torch.float32 if release >= Version("0.1.19.post1") else None',
        'return q_dtype if release >= Version("0.1.19.post1") else None',
        "fused, AITER of the other norm dtype",
    ),
    "cos and sin are swapped": (
        OPS,
        "        cos,\n        sin,\n        eps,",
        "        sin,\n        cos,\n        eps,",
        "fused",
    ),
    "the scale is not folded into the weights": (
        MODEL,
        "self.softmax_scale * self.n_head_scale,\n            rotary_emb.is_neox_style,",
        "self.softmax_scale,\n            rotary_emb.is_neox_style,",
        "fused",
    ),
    "rows without a slot are not cleared": (
        OPS,
        "    if zero_outputs:\n",
        "    if False:\n",
        "fused",
    ),
    "one block is not tiled": (
        OPS,
        "block_size > 1,  # preshuffle",
        "False,  # preshuffle",
        "fused",
    ),
    "k is written twice": (
        MODEL,
        "self.indexer_op.skip_k_cache_insert = True",
        "pass",
        "fused",
    ),
    "k and the weights are swapped": (
        MODEL,
        (
            "kw[:, self.head_dim :],\n            self.weights_buffer,\n            "
            "kw[:, : self.head_dim],"
        ),
        (
            "kw[:, : -self.head_dim],\n            self.weights_buffer,"
            "\n            kw[:, -self.head_dim :],"
        ),
        "fused",
    ),
    "micro-batches share the buffers": (
        MODEL,
        "or parallel_config.use_ubatching",
        "",
        "declines micro-batches",
    ),
    "context parallelism is accepted": (
        MODEL,
        "or parallel_config.decode_context_parallel_size > 1",
        "",
        "declines decode context parallelism",
    ),
    "the profiling run goes on": (
        OPS,
        "        return  # profiling run: there is no cache to write",
        "        pass",
        "a profiling run writes nothing",
    ),
}


@pytest.mark.parametrize("name", QK_PREP)
def test_a_mutant_of_the_indexers_q_and_k_fails_by_name(name: str) -> None:
    path, old, new, killer = QK_PREP[name]
    tree = patched("v0.28.0").only("dsa-indexer-qk-prep").edited(path, [(old, new)])
    assert failures(tree, "indexer_qk_prep", killer)


ALL = "all ranks"
SHARDING = {
    "the rows are not reset": (
        INDEXER_OPS,
        "            ] = -1\n\n    # during",
        "            ] = 0\n\n    # during",
        ALL,
    ),
    "the ranks are not merged": (
        INDEXER_OPS,
        "        if prefill_metadata.m_split_world_size > 1:\n            merge_rank_rows(",
        "        if False:\n            merge_rank_rows(",
        ALL,
    ),
    "a replicated batch is merged as well": (
        INDEXER_OPS,
        "        if prefill_metadata.m_split_world_size > 1:\n            merge_rank_rows(",
        "        if True:\n            merge_rank_rows(",
        "one rank",
    ),
    "the second half is not mirrored": (
        SHARD,
        "(half, num_rows, world_size - 1 - rank)",
        "(half, num_rows, rank)",
        "causal work is even",
    ),
    "a row is left out": (
        SHARD,
        "start + rows * (i + 1) // world_size",
        "start + rows * (i + 1) // world_size - 1",
        "every row has one writer",
    ),
    "windows are not cut with the rows": (
        SHARD,
        "cu_seqlen_ks=chunk.cu_seqlen_ks[rows],",
        "cu_seqlen_ks=chunk.cu_seqlen_ks,",
        ALL,
    ),
    "the stripe starts elsewhere": (
        SHARD,
        "token_start=chunk.token_start + rows.start,",
        "token_start=chunk.token_start,",
        ALL,
    ),
    "keys are gathered for every stripe": (
        SHARD,
        "yield stripe, i == 0",
        "yield stripe, True",
        "the stripes of a chunk share its keys",
    ),
    "keys are never gathered": (SHARD, "yield stripe, i == 0", "yield stripe, False", ALL),
    "the budget is passed": (
        INDEXER,
        "max_q *= num_row_stripes(m_split_world_size)",
        "max_q *= 2 * num_row_stripes(m_split_world_size)",
        ALL,
    ),
    "few rows are sharded": (
        INDEXER,
        "if num_prefill_tokens < m_split_world_size:",
        "if False:",
        "declines fewer rows than ranks",
    ),
    "context parallelism is accepted": (
        INDEXER,
        "            or self.dcp_world_size > 1\n            or self.pcp_world_size > 1\n",
        "",
        "declines decode context parallelism",
    ),
}


@pytest.mark.parametrize("name", SHARDING)
def test_a_mutant_of_the_sharding_fails_by_name(name: str) -> None:
    path, old, new, killer = SHARDING[name]
    tree = patched("v0.28.0").only("dsa-indexer-shard").edited(path, [(old, new)])
    assert failures(tree, "indexer_shard", killer)


LOGITS = {
    "scales are not flattened": ("scale.reshape(-1),", "scale,", "HIP kernel"),
    "the bounds are swapped": (
        "cu_seqlen_ks,\n                cu_seqlen_ke,\n                clean_logits=",
        "cu_seqlen_ke,\n                cu_seqlen_ks,\n                clean_logits=",
        "HIP kernel",
    ),
    "logits are never clean": ("clean_logits=clean_logits,", "clean_logits=False,", "HIP kernel"),
    "any head count is taken": (
        "and hip_module.is_supported(q.shape[1], q.shape[2])",
        "",
        "declines another head count",
    ),
    "any chip is taken": (
        "    if _ON_GFX950 and rocm_aiter_ops.is_enabled() and k_fp8.is_contiguous():",
        "    if rocm_aiter_ops.is_enabled() and k_fp8.is_contiguous():",
        "declines other chips",
    ),
    "AITER need not be on": (
        "    if _ON_GFX950 and rocm_aiter_ops.is_enabled() and k_fp8.is_contiguous():",
        "    if _ON_GFX950 and k_fp8.is_contiguous():",
        "declines without AITER",
    ),
    "strided keys are taken": (
        "and rocm_aiter_ops.is_enabled() and k_fp8.is_contiguous():",
        "and rocm_aiter_ops.is_enabled():",
        "declines strided keys",
    ),
    "half a module is enough": (
        'if not (hasattr(module, "fp8_mqa_logits") and hasattr(module, "is_supported")):',
        'if not hasattr(module, "fp8_mqa_logits"):',
        "declines a module without is_supported",
    ),
}


@pytest.mark.parametrize("name", LOGITS)
def test_a_mutant_of_the_prefill_logits_fails_by_name(name: str) -> None:
    old, new, killer = LOGITS[name]
    tree = patched("v0.28.0").only("dsa-prefill-logits-hip").edited(INDEXER_OPS, [(old, new)])
    assert failures(tree, "prefill_logits", killer)
