"""Flags: a table behind a module's `__getattr__`."""

from __future__ import annotations

from tests.audit.builders import said

ENVS = """\
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    ENG_USE_AITER: bool = False

environment_variables = {
    "ENG_USE_AITER": lambda: bool(int(os.getenv("ENG_USE_AITER", "0"))),
}


def __getattr__(name):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_set(name):
    return name in os.environ
"""
BASE = {"eng/__init__.py": "", "eng/envs.py": ENVS}
READ = "import eng.envs as envs\n\n\ndef f():\n    return envs.{}\n"


def test_a_flag_that_is_not_registered() -> None:
    assert said(BASE, {"eng/a.py": READ.format("ENG_FUSED_QK")}) == [
        "eng/a.py:5 unregistered-flag eng.envs.ENG_FUSED_QK"
    ]


def test_a_flag_of_which_only_the_annotation_was_carried() -> None:
    annotated = ENVS.replace("= False\n", "= False\n    ENG_FUSED_QK: bool = False\n", 1)
    change = {"eng/envs.py": annotated, "eng/a.py": READ.format("ENG_FUSED_QK")}
    assert said(BASE, change) == ["eng/a.py:5 unregistered-flag eng.envs.ENG_FUSED_QK"]


def test_a_flag_whose_entry_was_carried() -> None:
    entry = ENVS.replace("\n}\n", '\n    "ENG_FUSED_QK": lambda: True,\n}\n')
    change = {"eng/envs.py": entry, "eng/a.py": READ.format("ENG_FUSED_QK")}
    assert said(BASE, change) == []


def test_known_flags_and_functions_of_the_module() -> None:
    assert said(BASE, {"eng/a.py": READ.format("ENG_USE_AITER, envs.is_set, envs.os")}) == []


def test_a_flag_that_the_stack_takes_away() -> None:
    base = BASE | {"eng/a.py": READ.format("ENG_USE_AITER")}
    gone = ENVS.replace('"ENG_USE_AITER": lambda', '"ENG_AITER": lambda')
    assert said(base, {"eng/envs.py": gone}) == [
        "eng/a.py:5 unregistered-flag eng.envs.ENG_USE_AITER"
    ]


def test_a_table_that_is_computed_says_nothing() -> None:
    base = {"eng/__init__.py": "", "eng/envs.py": ENVS.replace("= {\n", "= dict(make()) | {\n")}
    assert said(base, {"eng/a.py": READ.format("ANY")}, checks=frozenset({"flags"})) == []
