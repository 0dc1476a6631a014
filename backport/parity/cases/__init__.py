"""Every parity case by the name that stacks give it; imports torch."""

from __future__ import annotations

from backport.parity.cases import (
    context_gather,
    dual_rmsnorm,
    index_remap,
    indexer_qk_prep,
    indexer_shard,
    k_concat,
    prefill_logits,
    qk_rope_concat_and_cache,
    router_gemm,
)
from backport.parity.values import AnyCase

CASES: dict[str, AnyCase] = {
    "context_gather": context_gather.CASE,
    "dual_rmsnorm": dual_rmsnorm.CASE,
    "index_remap": index_remap.CASE,
    "indexer_qk_prep": indexer_qk_prep.CASE,
    "indexer_shard": indexer_shard.CASE,
    "k_concat": k_concat.CASE,
    "prefill_logits": prefill_logits.CASE,
    "qk_rope_concat_and_cache": qk_rope_concat_and_cache.CASE,
    "router_gemm": router_gemm.CASE,
}
