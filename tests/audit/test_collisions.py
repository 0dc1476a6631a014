"""New paths that differ from others in case alone."""

from __future__ import annotations

import pytest

from tests.audit.builders import Texts, said

BASE: Texts = {"pkg/ops.py": "", "pkg/Twice.py": "", "pkg/twice.py": "", "docs/a.md": ""}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"pkg/Ops.py": ""}, ["pkg/Ops.py:0 case-collision pkg/Ops.py"]),
        ({"Pkg/new.py": ""}, ["Pkg/new.py:0 case-collision Pkg"]),
        ({"Docs": ""}, ["Docs:0 case-collision Docs"]),
        (
            {"pkg/A.py": "", "pkg/a.py": ""},
            ["pkg/A.py:0 case-collision pkg/A.py", "pkg/a.py:0 case-collision pkg/a.py"],
        ),
        ({"pkg/Ops.py": "", "pkg/ops.py": None}, []),
        ({"pkg/Twice.py": "x = 1\n"}, []),
        ({"pkg/other.py": ""}, []),
    ],
    ids=["file", "folder", "file and folder", "two new ones", "renamed", "as before", "another"],
)
def test_collisions(change: Texts, expected: list[str]) -> None:
    assert said(BASE, change) == expected
