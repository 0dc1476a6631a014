"""The content check: what changed must be what the patches say, no more, no less."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from backport.core.applying import apply_stack
from backport.core.checking import check_content
from backport.core.outcomes import (
    CheckResult,
    Finding,
    HunkResult,
    Outcome,
    Severity,
    StackOutcome,
    StackResult,
    Status,
)
from backport.core.patches import HunkId
from backport.core.trees import Entry
from tests.builders import Text, diff, numbered, raw, regular, stack, tree

HOME = numbered(1, 20)


def result(path: str, added: int, removed: int, after: Text = "") -> StackResult:
    """A stack that says of itself that it adds and removes so many lines of one file."""
    hunk = HunkResult(
        HunkId("s", "p", path, 1, "0" * 8), path, Outcome.EXACT, added=added, removed=removed
    )
    return StackResult("s", {path: regular(after)}, (hunk,), StackOutcome.APPLIED)


def check(
    before: Mapping[str, Text], after: Mapping[str, Text | None], *results: StackResult
) -> CheckResult:
    changes: dict[str, Entry | None] = {
        path: None if text is None else regular(text) for path, text in after.items()
    }
    return check_content(tree(before), changes, results)


def told(found: CheckResult) -> list[tuple[str, int, str, str]]:
    assert (found.status is Status.FAILED) == bool(found.findings)
    return [(item.path, item.line, item.code, item.message) for item in found.findings]


@pytest.mark.parametrize(
    "after",
    [
        HOME.replace("line 3\n", "three\n").replace("line 17\n", ""),
        HOME + "more\n",
        HOME.removesuffix("\n"),
        HOME.removesuffix("\n") + "\nno newline",
        "",
    ],
    ids=["changed", "longer", "no newline", "a line without newline", "emptied"],
)
def test_what_the_patches_say_passes(after: str) -> None:
    base = tree({"f": HOME})
    applied = apply_stack(stack(diff("f", HOME, after, index=True)), {}, base)
    assert applied.outcome is StackOutcome.APPLIED
    found = check_content(base, applied.changes, (applied,))
    assert (found.name, found.status, found.findings) == ("content", Status.PASSED, ())


def test_whole_files_pass() -> None:
    rename = b"diff --git a/old b/new\nrename from old\nrename to new\n"
    made = diff("made", None, "x\n") + diff("gone", "x\n", None) + rename
    base = tree({"gone": "x\n", "old": "y\n"})
    applied = apply_stack(stack(made), {}, base)
    assert told(check_content(base, applied.changes, (applied,))) == []


def test_a_file_that_no_patch_names_is_told() -> None:
    found = check({"f": "a\n"}, {"f": "b\n", "g": "x\n", "h": None}, result("f", 1, 1))
    assert told(found) == [
        ("g", 0, "touched-path", "changed, though no applied stack changes it"),
        ("h", 0, "touched-path", "changed, though no applied stack changes it"),
    ]


def test_a_file_that_only_a_conflicting_stack_names_is_told() -> None:
    lost = StackResult("s", {}, result("f", 1, 1).hunks, StackOutcome.CONFLICT)
    assert [line[2] for line in told(check({"f": "a\n"}, {"f": "b\n"}, lost))] == ["touched-path"]


@pytest.mark.parametrize(
    ("before", "after", "added", "removed", "grew"),
    [
        ("a\nb\n", "a\nb\nc\nc\n", 1, 0, (2, 1)),
        ("a\nb\n", "a\n", 1, 1, (-1, 0)),
        ("a\nb\n", "a\nb\n", 1, 0, (0, 1)),
        ("a\nb", "a\nb\nc", 0, 1, (1, -1)),
        ("", "a", 2, 0, (1, 2)),
    ],
)
def test_lines_that_no_hunk_accounts_for_are_told(
    before: str, after: str, added: int, removed: int, grew: tuple[int, int]
) -> None:
    found = check({"f": before}, {"f": after}, result("f", added, removed))
    message = f"grew by {grew[0]} lines, its hunks by {grew[1]}"
    assert told(found) == [("f", 0, "line-count", message)]


def test_the_hunks_of_several_stacks_are_counted_together() -> None:
    found = check({"f": "a\n"}, {"f": "a\nb\nc\n"}, result("f", 1, 0), result("f", 1, 0))
    assert told(found) == []


# ---------------------------------------------------------------- defined twice

F = "def f():\n    return 1\n"


def twice(before: str, after: str, path: str = "m.py") -> list[tuple[int, str]]:
    change = len(after.splitlines()) - len(before.splitlines())
    found = check({path: before}, {path: after}, result(path, change, 0, after))
    assert {item.code for item in found.findings} <= {"defined-twice"}
    return [(item.line, item.message) for item in found.findings]


TWICE = {
    "a function": ("", F + "\n\n" + F, [(5, "f is defined 2 times now")]),
    "a class": (
        "class A: ...\n",
        "class A: ...\nclass A: ...\n",
        [(2, "A is defined 2 times now")],
    ),
    "an async function": ("", "async def f(): ...\n" * 2, [(2, "f is defined 2 times now")]),
    "a method": (
        "class A:\n    def f(self): ...\n",
        "class A:\n    def f(self): ...\n    def f(self): ...\n",
        [(3, "A.f is defined 2 times now")],
    ),
    "a third time": (F + F, F + F + F, [(5, "f is defined 3 times now")]),
    "the same function of two classes": (
        "",
        "class A:\n    def f(self): ...\nclass B:\n    def f(self): ...\n",
        [],
    ),
    "as often as before": (F + F, "x = 1\n" + F + F, []),
    "once less": (F + F, F, []),
    "overloads": (
        F,
        "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): ...\n",
        [],
    ),
    "a property and its setter": (
        "",
        "class A:\n    @property\n    def x(self): ...\n    @x.setter\n    def x(self, v): ...\n",
        [],
    ),
    "a fallback inside a branch": ("", F + "if x:\n    def f(): ...\n", []),
    "the two arms of an if": ("", "if x:\n    def f(): ...\nelse:\n    def f(): ...\n", []),
    "the arms of an elif": (
        "",
        "if x:\n    def f(): ...\nelif y:\n    def f(): ...\nelse:\n    def f(): ...\n",
        [],
    ),
    "one arm of an if": (
        "",
        "if x:\n    def f(): ...\n    def f(): ...\nelse:\n    def f(): ...\n",
        [(5, "f is defined 3 times now")],
    ),
    "two ifs": (
        "",
        "if x:\n    def f(): ...\nif y:\n    def f(): ...\n",
        [(4, "f is defined 2 times now")],
    ),
    "a try and its handlers": (
        "",
        "try:\n    def f(): ...\nexcept A:\n    def f(): ...\nexcept B:\n    def f(): ...\n",
        [],
    ),
    "a try and its else": (
        "",
        "try:\n    def f(): ...\nexcept A:\n    pass\nelse:\n    def f(): ...\n",
        [(6, "f is defined 2 times now")],
    ),
    "a handler and what always runs": (
        "",
        "try:\n    x()\nexcept A:\n    def f(): ...\nfinally:\n    def f(): ...\n",
        [(6, "f is defined 2 times now")],
    ),
    "the cases of a match": (
        "",
        "match x:\n    case 1:\n        def f(): ...\n    case _:\n        def f(): ...\n",
        [],
    ),
    "a method in the arms of an if": (
        "",
        "class A:\n    if x:\n        def f(self): ...\n    else:\n        def f(self): ...\n",
        [],
    ),
    "an if in a function of two arms": (
        "",
        "if x:\n    def g():\n        def f(): ...\nelse:\n    def g():\n        def f(): ...\n",
        [],
    ),
    "what does not parse": ("", "def f(:\ndef f(:\n", []),
}


@pytest.mark.parametrize(("before", "after", "expected"), TWICE.values(), ids=TWICE.keys())
def test_a_definition_that_stands_twice_now_is_told(
    before: str, after: str, expected: list[tuple[int, str]]
) -> None:
    assert twice(before, after) == expected


def test_only_python_has_definitions() -> None:
    assert twice("", F + F, "m.txt") == []
    assert twice("", F + F, "m.pyi") == [(3, "f is defined 2 times now")]


def test_a_created_file_is_looked_at_as_well() -> None:
    found = check({}, {"m.py": F + F}, result("m.py", 4, 0))
    assert found.findings == (
        Finding("m.py", 3, 1, Severity.ERROR, "defined-twice", "f is defined 2 times now", "f"),
    )


def test_a_change_that_the_branch_has_at_another_place_is_told() -> None:
    home = "import os\n\n\ndef g():\n    pass\n"
    new = home + "\n\n" + F
    target = F + "\n\n" + home  # the branch has the new function, higher up
    base = tree({"m.py": target})
    applied = apply_stack(stack(diff("m.py", home, new)), {}, base)
    assert applied.outcome is StackOutcome.APPLIED
    found = check_content(base, applied.changes, (applied,))
    assert [item.code for item in found.findings] == ["defined-twice"]


def test_bytes_that_are_no_text_are_counted_by_their_newlines() -> None:
    binary = raw("\0\n\n")
    assert told(check({"t": binary}, {"t": binary + b"\xff"}, result("t", 1, 0))) == []
