"""Import cycles that a change closes; Python itself says which of them fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.builders import Texts, findings, said

BASE: Texts = {
    "p/__init__.py": "",
    "p/a.py": "import os\n\n\nclass A: ...\n",
    "p/b.py": "from p.c import C\n\n\nclass B: ...\n",
    "p/c.py": "from p.a import A\n\n\nclass C: ...\n",
    "q/__init__.py": "from q.x import X\n\nLEVEL = 1\n",
    "q/x.py": "class X: ...\n",
    "r/__init__.py": "LEVEL = 1\nfrom .x import X\n",
    "r/x.py": "class X: ...\n",
}
A = "\n\nclass A: ...\n"

FAULTS: dict[str, tuple[Texts, list[str]]] = {
    "round three modules": (
        {"p/a.py": f"from p.b import B{A}"},
        ["p/a.py:1 import-cycle p.b"],
    ),
    "by relative names": (
        {"p/a.py": f"from .b import B as Other{A}"},
        ["p/a.py:1 import-cycle p.b"],
    ),
    "of a package that is never left out": (
        {"q/x.py": "from q import LEVEL\n\n\nclass X: ...\n"},
        ["q/x.py:1 import-cycle q"],
    ),
    "closed by a new module": (
        {"p/a.py": f"from p.d import D{A}", "p/d.py": "from p.c import C\n\n\nclass D: ...\n"},
        ["p/a.py:1 import-cycle p.d", "p/d.py:1 import-cycle p.c"],
    ),
}

SOUND: dict[str, Texts] = {
    "in the function that needs it": {"p/a.py": f"def f():\n    from p.b import B{A}"},
    "of a module, not of a name": {"p/a.py": f"from p import b{A}"},
    "below what the others ask for": {"p/a.py": "class A: ...\n\n\nfrom p.b import B\n"},
    "where it may fail": {
        "p/a.py": f"try:\n    from p.b import B\nexcept ImportError:\n    B = 1{A}"
    },
    "for type checkers": {
        "p/a.py": f"from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from p.b import B{A}"
    },
    "of what the package has by then": {"r/x.py": "from r import LEVEL\n\n\nclass X: ...\n"},
    "no cycle": {"p/b.py": "from p.a import A\nfrom p.c import C\n\n\nclass B: ...\n"},
}


def entries(folder: Path, change: Texts) -> list[bool]:
    """Whether each module can be the first that Python imports."""
    texts = {**BASE, **change}
    for path, text in texts.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text or "", "utf-8")
    package = next(iter(change)).partition("/")[0]
    names = [p[:-3].replace("/", ".") for p in texts if p.startswith(f"{package}/")]
    code = [f"import {name.removesuffix('.__init__')}" for name in names]
    return [
        subprocess.run(
            [sys.executable, "-c", line], cwd=folder, capture_output=True, check=False
        ).returncode
        == 0
        for line in code
        if "." in line
    ]


@pytest.mark.parametrize(("change", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(change: Texts, expected: list[str], tmp_path: Path) -> None:
    assert said(BASE, change, checks={"cycles"}) == expected
    assert not any(entries(tmp_path, change))


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_silence(change: Texts, tmp_path: Path) -> None:
    assert said(BASE, change, checks={"cycles"}) == []
    assert any(entries(tmp_path, change))


def test_the_way_is_told() -> None:
    (found,) = findings(BASE, {"p/a.py": f"from p.b import B{A}"}, checks={"cycles"})
    assert found.message == (
        "import cycle p.a -> p.b -> p.c -> p.a: `p.a` asks `p.b` for `B` before that is defined"
    )


def test_a_cycle_that_was_there_is_not_told() -> None:
    base = {**BASE, "p/a.py": f"from p.b import B{A}"}
    change = {"p/a.py": f"import os\n\nfrom p.b import B{A}"}
    assert said(base, change, checks={"cycles"}) == []
