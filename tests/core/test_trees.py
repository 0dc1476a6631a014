"""An overlay: a tree with changes on top, which the tree below never sees."""

from __future__ import annotations

from backport.core.trees import DIRECTORY, Entry, Overlay
from tests.builders import regular, tree


def test_changes_lie_on_top_and_everything_else_shows_through() -> None:
    base = tree({"a": "1\n", "b": "1\n", "dir/c": "1\n"})
    overlay = Overlay(base, {"a": regular("2\n"), "b": None, "new": regular("")})
    assert overlay.entry("a") == regular("2\n")
    assert overlay.entry("b") is None
    assert overlay.entry("new") == regular("")
    assert overlay.entry("dir/c") == regular("1\n")
    assert overlay.entry("dir") == Entry(DIRECTORY, b"")
    assert overlay.entry("missing") is None
    assert base.entry("a") == regular("1\n")


def test_the_paths_are_those_after_the_changes() -> None:
    overlay = Overlay(tree({"a": "", "b": ""}), {"b": None, "c": regular(""), "gone": None})
    assert set(overlay.paths()) == {"a", "c"}
    assert overlay.paths()["c"] == ""


def test_an_overlay_may_lie_on_another() -> None:
    lower = Overlay(tree({"a": "1\n"}), {"a": None, "b": regular("2\n")})
    upper = Overlay(lower, {"a": regular("3\n")})
    assert (upper.entry("a"), upper.entry("b")) == (regular("3\n"), regular("2\n"))
    assert lower.entry("a") is None
