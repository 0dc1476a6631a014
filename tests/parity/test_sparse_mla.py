"""The sparse MLA fusion in a real tree: each known mistake fails by name."""

from __future__ import annotations

import pytest

from backport.parity.intree.sparse_mla import ATTENTION, IMPL, OPS, WRAPPER
from tests.parity.trees import failures, patched

pytestmark = pytest.mark.vllm
STACK = "sparse-mla-qk-rope-cache"


MUTANTS = {
    "ql_nope is not made contiguous": (
        IMPL,
        [("ql_nope.contiguous()", "ql_nope")],
        "impl method, q_nope read as dense",
    ),
    "k_scale and q_scale are swapped": (
        IMPL,
        [
            (
                "layer._k_scale,\n            layer._q_scale,\n            positions",
                "layer._q_scale,\n            layer._k_scale,\n            positions",
            )
        ],
        "layer, fusion on",
    ),
    "skipped rows keep what the memory held": (
        IMPL,
        [("q_out.view(torch.uint8).zero_()", "pass")],
        "speculative decoding: skipped rows are zero",
    ),
    "k_pe stays three-dimensional": (
        IMPL,
        [("k_pe.squeeze(1),\n            kv_cache", "k_pe,\n            kv_cache")],
        "layer, fusion on",
    ),
    "neox rotation for a GPT-J model": (
        IMPL,
        [("is_neox=layer.rotary_emb.is_neox_style,", "is_neox=True,")],
        "layer, fusion on",
    ),
    "the cache stays uint8": (
        IMPL,
        [("kv_cache.view(fp8_dtype)", "kv_cache.view(torch.uint8)")],
        "impl method",
    ),
    "slots are not widened, positions stay short": (
        IMPL,
        [("slot_mapping.to(torch.int64)", "slot_mapping.to(torch.int32)")],
        "layer, fusion on",
    ),
    "the cache is written twice": (
        IMPL,
        [("        if self.use_fused_qk_rope_cache:\n", "        if False:\n")],
        "layer, fusion on",
    ),
    "cos is 0.5": (
        ATTENTION,
        [("cos_sin = (cos.contiguous(),", "cos_sin = (torch.full_like(cos, 0.5),")],
        "layer, fusion on",
    ),
    "cos and sin are views of one table": (
        ATTENTION,
        [("cos_sin = (cos.contiguous(), sin.contiguous())", "cos_sin = (cos, sin)")],
        "layer, fusion on",
    ),
    "cos and sin keep the table's dtype": (
        ATTENTION,
        [("device=device, dtype=dtype).chunk", "device=device).chunk")],
        "layer, fusion on",
    ),
    "positions are not cut to the MQA rows": (
        ATTENTION,
        [("positions[:num_mqa_tokens],", "positions,")],
        "layer, fusion on",
    ),
    "slots are not cut to the MQA rows": (
        ATTENTION,
        [("slot_mapping[:num_mqa_tokens],", "slot_mapping,")],
        "layer, fusion on",
    ),
    "the attention op drops the positions": (
        ATTENTION,
        [
            (
                "        q_dcp_replicated=q_dcp_replicated,\n        positions=positions,\n    )",
                "        q_dcp_replicated=q_dcp_replicated,\n    )",
            )
        ],
        "layer, fusion on",
    ),
    "missing positions are passed over": (
        ATTENTION,
        [("if positions is None or slot_mapping is None:", "if slot_mapping is None:")],
        "missing positions are an error",
    ),
    "the fusion is used although it is off": (
        ATTENTION,
        [('elif getattr(self.impl, "use_fused_qk_rope_cache", False):', "elif True:")],
        "layer, fusion off",
    ),
    "the rotation is not deferred": (
        WRAPPER,
        [(" and not defer_rope", "")],
        "layer, fusion on",
    ),
    "the wrapper does not pass the positions": (
        WRAPPER,
        [("positions=positions if defer_rope else None", "positions=None")],
        "layer, fusion on",
    ),
    "cos and sin are swapped in the op": (
        OPS,
        [
            (
                "cos_cache,\n        sin_cache,\n        is_neox,\n        is_nope_first,\n    )",
                "sin_cache,\n        cos_cache,\n        is_neox,\n        is_nope_first,\n    )",
            )
        ],
        "layer, fusion on",
    ),
    "the fake op takes no positions": (
        ATTENTION,
        [
            (
                (
                    "    q_dcp_replicated: torch.Tensor | None = None,\n"
                    "    positions: torch.Tensor | None = None,\n) -> None:\n    return"
                ),
                "    q_dcp_replicated: torch.Tensor | None = None,\n) -> None:\n    return",
            )
        ],
        "attention op and fake take the same",
    ),
    "fp8_e5m2 is accepted": (
        IMPL,
        [('kv_cache_dtype in ("fp8", "fp8_e4m3")', 'kv_cache_dtype.startswith("fp8")')],
        "declines fp8_e5m2",
    ),
    "decode context parallelism is accepted": (
        IMPL,
        [("and self.dcp_world_size == 1", "")],
        "declines decode context parallelism",
    ),
    "any rotary embedding is accepted": (
        ATTENTION,
        [("and cos_sin_cache.shape[-1] == qk_rope_head_dim", "")],
        "layer declines a table of another width",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_fails_by_name(name: str) -> None:
    path, edits, killer = MUTANTS[name]
    tree = patched("v0.28.0").only(STACK).edited(path, edits)
    assert failures(tree, "qk_rope_concat_and_cache", killer)
