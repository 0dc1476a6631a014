"""The standard library and syntax against the oldest Python of the tree."""

from __future__ import annotations

import importlib
import sys

import pytest

from backport.audit.stdlib import MODULES, SYMBOLS
from backport.core.outcomes import Status
from tests.audit.builders import results, said

BASE = {"pyproject.toml": '[project]\nname = "eng"\nrequires-python = ">=3.10,<3.15"\n'}

FAULTS = {
    "a module": ("import tomllib\n", "a.py:1 newer-stdlib tomllib"),
    "a symbol": ("from typing import Self\n", "a.py:1 newer-stdlib typing.Self"),
    "an attribute": (
        "import datetime as dt\n\n\ndef f():\n    return dt.UTC\n",
        "a.py:5 newer-stdlib datetime.UTC",
    ),
    "a builtin": (
        "def f():\n    raise ExceptionGroup('x', [])\n",
        "a.py:2 newer-stdlib ExceptionGroup",
    ),
}

SOUND = {
    "what the oldest Python has": "from itertools import pairwise\nimport zoneinfo\n",
    "a fallback": "try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n",
    "a version test": (
        "import sys\n\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n"
        "    tomllib = None\n"
    ),
    "for type checkers": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from typing import Self\n"
    ),
    "another project's symbol of that name": "from typing_extensions import Self\n",
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    assert said(BASE, {"a.py": text}) == [expected]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said(BASE, {"a.py": text}) == []


def test_syntax() -> None:
    text = "def f(g):\n    try:\n        return g()\n    except* ValueError:\n        pass\n"
    assert said(BASE, {"a.py": text}) == ["a.py:5 newer-syntax newer-syntax"]


def test_the_minimum_may_be_given_or_stand_in_setup_py() -> None:
    assert said(BASE, {"a.py": "import tomllib\n"}, minimum=(3, 11)) == []
    base = {"setup.py": "from setuptools import setup\n\nsetup(python_requires='>=3.10')\n"}
    assert said(base, {"a.py": "import tomllib\n"}) == ["a.py:1 newer-stdlib tomllib"]


def test_a_tree_that_does_not_say() -> None:
    result = results({}, {"a.py": "import tomllib\n"})["stdlib"]
    assert result.status is Status.NOT_RUN
    assert "does not say" in result.note


@pytest.mark.parametrize("name", sorted(SYMBOLS))
def test_the_table_agrees_with_this_python(name: str) -> None:
    module, _, symbol = name.rpartition(".")
    try:
        found = hasattr(importlib.import_module(module), symbol)
    except ImportError:
        found = False
    assert found == (sys.version_info[:2] >= SYMBOLS[name])


@pytest.mark.parametrize("name", sorted(MODULES))
def test_the_table_of_modules_agrees_with_this_python(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError:
        found = False
    else:
        found = True
    assert found == (sys.version_info[:2] >= MODULES[name])
