"""Every parity case by the name that stacks give it; imports torch."""

from __future__ import annotations

from backport.parity.cases import qk_rope_concat_and_cache
from backport.parity.values import AnyCase

CASES: dict[str, AnyCase] = {
    "qk_rope_concat_and_cache": qk_rope_concat_and_cache.CASE,
}
