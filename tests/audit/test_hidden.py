"""New files that hide a module of the same name, or are hidden by one."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tests.audit.builders import Texts, said

BASE: Texts = {
    "eng/__init__.py": "",
    "eng/utils.py": "old = 1\n",
    "eng/attn/__init__.py": "",
    "tools/run.py": "",
    "both.py": "",
    "both/__init__.py": "",
}

FAULTS = {
    "a package hides a module": (
        {"eng/utils/__init__.py": ""},
        "eng/utils/__init__.py:0 hidden-module eng/utils.py",
        "eng.utils:old",
    ),
    "a package hides a new module": (
        {"eng/attn.py": "new = 1\n"},
        "eng/attn.py:0 hidden-module eng/attn.py",
        "eng.attn:new",
    ),
    "a module hides a folder": (
        {"eng/utils/fused.py": "new = 1\n"},
        "eng/utils/fused.py:0 hidden-module eng/utils/fused.py",
        "eng.utils.fused:new",
    ),
}

SOUND: dict[str, Texts] = {
    "the module becomes a package": {"eng/utils.py": None, "eng/utils/__init__.py": "old = 1\n"},
    "the package becomes a module": {"eng/attn/__init__.py": None, "eng/attn.py": ""},
    "a folder of scripts": {"tools/run/other.py": ""},
    "another module": {"eng/attn/fused.py": "", "eng/more.py": ""},
    "as it was": {"both.py": "x = 1\n", "both/__init__.py": "y = 1\n"},
    "no module": {"eng/utils/notes.md": ""},
}


@pytest.mark.parametrize(("change", "expected", "lost"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(
    change: Texts,
    expected: str,
    lost: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert said(BASE, change, checks={"hidden"}) == [expected]
    for path, text in {**BASE, **change}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text or "")
    monkeypatch.syspath_prepend(str(tmp_path))
    module, _, name = lost.partition(":")
    try:
        with pytest.raises((ImportError, AttributeError)):
            getattr(importlib.import_module(module), name)
    finally:
        for loaded in [each for each in sys.modules if each.partition(".")[0] == "eng"]:
            del sys.modules[loaded]


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_silence(change: Texts) -> None:
    assert said(BASE, change, checks={"hidden"}) == []
