"""Evidence: what a manifest claims of its target is looked up, never believed."""

from __future__ import annotations

import pytest

from backport.core.evidence import stale, symbols
from backport.core.manifests import Evidence
from tests.builders import DictTree, tree

CODE = """\
import os.path
import a.b as ab
from m import one, two as zwei

LIMIT: int = 3
first, (second, *rest) = values


def f(parameter):
    local = 1

    def inner(): ...


async def g(): ...


class A(B):
    field: int
    table = {}

    def __init__(self, parameter):
        self.state, self.other = parameter, 1
        other.foreign = 2
        for self.index in range(3):
            self.table["x"] = 1

    @property
    def value(self):
        return [walrus := 1]

    class Inner:
        def method(self):
            self.deep = 1


if LIMIT:
    branch = 1
else:

    def otherwise(): ...
"""


def base() -> DictTree:
    return tree(
        {
            "a.py": CODE,
            "notes.md": "one\ntwo three\nx = four (five) größer\n",
            "bad.py": "print f\n",
        }
    )


def problem(present: bool, text: str) -> str | None:
    found = stale((Evidence.parse(present, text),), base())
    return found[0] if found else None


@pytest.mark.parametrize(
    "name",
    [
        *("os", "ab", "one", "zwei", "LIMIT", "first", "second", "rest", "f", "g", "A"),
        *("f.inner", "f.local", "A.field", "A.table", "A.__init__", "A.value", "branch"),
        *("A.state", "A.other", "A.index", "A.Inner", "A.Inner.method", "A.Inner.deep"),
        "otherwise",
    ],
)
def test_a_symbol_that_the_file_defines_is_there(name: str) -> None:
    assert problem(True, f"a.py::{name}") is None
    assert problem(False, f"a.py::{name}") == f"absent a.py::{name}: it is there"


@pytest.mark.parametrize(
    "name",
    [
        *("b", "two", "parameter", "f.parameter", "inner", "A.foreign", "foreign", "values"),
        *("A.deep", "Inner", "state", "A.x", "B", "self", "A.missing", "lower", "limit"),
    ],
)
def test_a_symbol_that_it_only_uses_or_lacks_is_not_there(name: str) -> None:
    assert problem(False, f"a.py::{name}") is None
    assert problem(True, f"a.py::{name}") == f"present a.py::{name}: it is not there"


STATEMENTS = {
    "a file that is there": (True, "a.py", None),
    "a file that is not": (True, "b.py", "present b.py: it is not there"),
    "a file that is there after all": (False, "a.py", "absent a.py: it is there"),
    "a file that is absent": (False, "b.py", None),
    "a line that is there": (True, "notes.md: two three", None),
    "whole words within a line": (True, "notes.md: four (five", None),
    "a word of other letters, cut": (
        True,
        "notes.md: gr",
        "present notes.md: gr: it is not there",
    ),
    "a word cut at its start": (
        True,
        "notes.md: wo three",
        "present notes.md: wo three: it is not there",
    ),
    "a word cut at its end": (
        True,
        "notes.md: two thre",
        "present notes.md: two thre: it is not there",
    ),
    "a part of a word that is absent": (False, "notes.md: thre", None),
    "a line that is not": (True, "notes.md: six", "present notes.md: six: it is not there"),
    "a line that is there after all": (False, "notes.md: one", "absent notes.md: one: it is there"),
    "a line that is absent": (False, "notes.md: six", None),
    "a line of a file that is not there": (
        True,
        "b.md: one",
        "present b.md: one: the file is not there",
    ),
    "an absent line of an absent file": (
        False,
        "b.md: one",
        "absent b.md: one: the file is not there",
    ),
    "a symbol of a file that is not there": (
        True,
        "b.py::f",
        "present b.py::f: the file is not there",
    ),
    "an absent symbol of an absent file": (
        False,
        "b.py::f",
        "absent b.py::f: the file is not there",
    ),
    "a symbol of a file that does not parse": (
        True,
        "bad.py::f",
        "present bad.py::f: the file does not parse as Python",
    ),
    "an absent symbol of a file that does not parse": (
        False,
        "bad.py::f",
        "absent bad.py::f: the file does not parse as Python",
    ),
}


@pytest.mark.parametrize(
    ("present", "text", "expected"), STATEMENTS.values(), ids=STATEMENTS.keys()
)
def test_a_statement_holds_or_says_why_not(present: bool, text: str, expected: str | None) -> None:
    assert problem(present, text) == expected


def test_a_folder_is_there_but_holds_no_lines() -> None:
    target = tree({"pkg/a.py": ""})
    assert stale((Evidence(True, "pkg"),), target) == []
    assert stale((Evidence(False, "pkg"),), target) == ["absent pkg: it is there"]
    assert stale((Evidence(True, "pkg", text="x"),), target) == [
        "present pkg: x: the file is not there"
    ]


def test_every_statement_is_checked() -> None:
    statements = tuple(Evidence(True, path) for path in ("x", "a.py", "y"))
    assert stale(statements, base()) == [
        "present x: it is not there",
        "present y: it is not there",
    ]


@pytest.mark.parametrize("terms", [100, 900, 1500, 4000])
def test_a_long_expression_does_no_harm(terms: int) -> None:
    found = symbols(b"x = " + b" + ".join([b"1"] * terms) + b"\n")
    assert found is None or found == {"x"}
