"""On real releases, what `port` places stands where the manifests written by hand have it."""

from __future__ import annotations

from pathlib import Path

import pytest

from backport.checkout import Checkout
from backport.library import load
from benchmarks import port as measured
from tests.conftest import RELEASES

PROJECT = Path(measured.PROJECT)


@pytest.mark.vllm
def test_every_hunk_that_is_placed_agrees_with_the_manifest_by_hand(released: Path) -> None:
    library = load(PROJECT)
    by_base = {m.base: m for m in library.manifests.values() if m.base in RELEASES}
    homes = {name: stack for name, stack in library.stacks.items() if stack.home in by_base}
    with Checkout.open(released) as checkout:
        rows = [
            row
            for manifest in by_base.values()
            for row in measured.rows_of(library, by_base, manifest, checkout)
        ]
    assert len(rows) == len(homes) * (len(by_base) - 1)
    assert [text for row in rows for text in row.differ] == []
    assert {row.files for row in rows} <= {"same", ""}
    assert sum(row.agree for row in rows) > 150
