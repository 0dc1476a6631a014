"""Canonical patches: each hunk names the Python scope of its first change."""

from __future__ import annotations

import pytest

from backport.core.canonical import patch_name, with_scopes
from backport.core.outcomes import Outcome
from backport.core.parsing import parse_diff
from backport.core.placing import place
from backport.core.texts import Target
from tests.builders import diff

HOME = """\
import os

LIMIT = 3


class A:
    x = 1

    def f(self):
        a = 1
        return a

    def g(self):
        return 2


def h():
    pass
"""

CHANGES = {
    "a statement of a method": ("        a = 1\n", "        a = 9\n", "A.f"),
    "an insertion into a method": ("        a = 1\n", "        a = 1\n        b = 2\n", "A.f"),
    "an insertion at a method's end": (
        "        return a\n",
        "        return a\n        # x\n",
        "A.f",
    ),
    "a new method": ("    def g(", "    def new(self): ...\n\n    def g(", "A"),
    "a method that goes": ("    def g(self):\n        return 2\n", "    x = 2\n", "A.g"),
    "a class attribute": ("    x = 1\n", "    x = 2\n", "A"),
    "a constant": ("LIMIT = 3\n", "LIMIT = 4\n", "<module>"),
    "the first line": ("import os\n", "import sys\n", "<module>"),
    "a line above the first": ("import os\n", "# top\nimport os\n", "<module>"),
    "a new function at the end": ("    pass\n", "    pass\n\n\ndef k(): ...\n", "h"),
}


@pytest.mark.parametrize(("old", "new", "scope"), CHANGES.values(), ids=CHANGES.keys())
def test_a_hunk_names_the_scope_of_its_first_change(old: str, new: str, scope: str) -> None:
    assert HOME.count(old) == 1
    after = HOME.replace(old, new)
    (file,) = parse_diff(diff("m.py", HOME, after, section="words of git"))
    (hunk,) = with_scopes(file, {"m.py": HOME.encode()}.get).hunks
    assert hunk.section == scope


@pytest.mark.parametrize(("old", "new", "scope"), CHANGES.values(), ids=CHANGES.keys())
def test_a_hunk_is_found_again_in_the_scope_that_it_names(old: str, new: str, scope: str) -> None:
    after = HOME.replace(old, new)
    (file,) = parse_diff(diff("m.py", HOME, after))
    (hunk,) = with_scopes(file, {"m.py": HOME.encode()}.get).hunks
    above = "# a comment\n" if hunk.leading else ""
    found = place(hunk, Target("m.py", (above + HOME).encode()))
    assert found.outcome in (Outcome.EXACT, Outcome.MOVED)
    made = place(hunk, Target("m.py", (above + after).encode()))
    assert made.outcome is Outcome.ALREADY


def test_each_hunk_of_a_file_names_its_own_scope() -> None:
    after = HOME.replace("LIMIT = 3", "LIMIT = 4").replace("    pass", "    return")
    (file,) = parse_diff(diff("m.py", HOME, after))
    found = with_scopes(file, {"m.py": HOME.encode()}.get)
    assert [hunk.section for hunk in found.hunks] == ["<module>", "h"]


def test_a_hunk_without_context_names_the_scope_of_the_line_above() -> None:
    after = HOME.replace("def f(self):\n", "def f(self):\n        # x\n")
    (file,) = parse_diff(diff("m.py", HOME, after, context=0))
    assert with_scopes(file, {"m.py": HOME.encode()}.get).hunks[0].section == "A.f"


NO_SCOPES = {
    "another language": (diff("m.txt", HOME, HOME + "x\n", section="x"), HOME),
    "what does not parse": (diff("m.py", HOME, HOME + "x\n", section="x"), HOME + "print 1\n"),
    "a missing text": (diff("m.py", HOME, HOME + "x\n", section="x"), None),
    "a created file": (diff("m.py", None, HOME, section="x"), HOME),
    "a deleted file": (diff("m.py", HOME, None, section="x"), HOME),
}


@pytest.mark.parametrize(("text", "home"), NO_SCOPES.values(), ids=NO_SCOPES.keys())
def test_what_has_no_scopes_loses_the_words_of_git(text: bytes, home: str | None) -> None:
    (file,) = parse_diff(text)
    found = with_scopes(file, lambda _: None if home is None else home.encode())
    assert [hunk.section for hunk in found.hunks] == [""]


def test_a_renamed_file_is_read_by_its_old_name() -> None:
    head = b"diff --git a/old.py b/m.py\nrename from old.py\nrename to m.py\n"
    change = diff("m.py", HOME, HOME.replace("a = 1", "a = 9"))
    text = head + change.partition(b"\n")[2].replace(b"a/m.py", b"a/old.py")
    (file,) = parse_diff(text)
    assert with_scopes(file, {"old.py": HOME.encode()}.get).hunks[0].section == "A.f"


NAMES = {
    "[ROCm][MLA][Perf] Fuse decode QK-RoPE (#123)": "fuse-decode-qk-rope-123",
    "  [x] [y]  Let a layer skip": "let-a-layer-skip",
    "Plain words": "plain-words",
    "fix url.split(/[/?#]/) [red]x": "fix-url-split-red-x",
    "Größe": "gr-e",
    "[only][tags]": "patch",
    "": "patch",
    "a" * 70: "a" * 60,
    "a" * 59 + " b": "a" * 59,
}


@pytest.mark.parametrize(("subject", "name"), NAMES.items())
def test_a_patch_is_named_after_its_subject(subject: str, name: str) -> None:
    assert patch_name(subject) == name
