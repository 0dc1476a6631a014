"""Every parity case by the name that stacks give it; imports torch."""

from __future__ import annotations

from backport.parity.cases import index_remap, qk_rope_concat_and_cache, router_gemm
from backport.parity.values import AnyCase

CASES: dict[str, AnyCase] = {
    "index_remap": index_remap.CASE,
    "qk_rope_concat_and_cache": qk_rope_concat_and_cache.CASE,
    "router_gemm": router_gemm.CASE,
}
