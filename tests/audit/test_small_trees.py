"""Trees in which a table has nothing to say: no class, no definition, no Python at all."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

SMALL = {
    "no file": {},
    "no python": {"README": "text\n"},
    "an empty module": {"a.py": ""},
    "one statement": {"a.py": "print(1)\n"},
}


@pytest.mark.parametrize("base", SMALL.values(), ids=SMALL.keys())
def test_a_small_tree_is_audited(base: dict[str, str]) -> None:
    assert said(base, {"new.py": "x = 1\n"}) == []
    assert said(base, {"new.py": "print(gone)\n"}) != []
