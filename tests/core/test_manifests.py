"""What a manifest is made of: statements, places and entries, as a person spells them."""

from __future__ import annotations

import pytest

from backport.core.manifests import Anchor, Drop, Evidence, Manifest, Skip
from backport.core.patches import HunkId

STATEMENTS = {
    "vllm/a.py": Evidence(True, "vllm/a.py"),
    "a folder/a b.py": Evidence(True, "a folder/a b.py"),
    "vllm/a.py::f": Evidence(True, "vllm/a.py", symbol="f"),
    "vllm/a.py::A.forward": Evidence(True, "vllm/a.py", symbol="A.forward"),
    "vllm/a.py: x = 1": Evidence(True, "vllm/a.py", text="x = 1"),
    "vllm/a.py:x = 1": Evidence(True, "vllm/a.py", text="x = 1"),
    "vllm/a.py: d = {1: 2}  # a::b": Evidence(True, "vllm/a.py", text="d = {1: 2}  # a::b"),
    "a.rst: :param x:": Evidence(True, "a.rst", text=":param x:"),
    "block_shape=[128,128].json: [": Evidence(True, "block_shape=[128,128].json", text="["),
}


@pytest.mark.parametrize(("text", "statement"), STATEMENTS.items())
def test_a_statement_names_a_file_a_symbol_or_a_line(text: str, statement: Evidence) -> None:
    assert Evidence.parse(True, text) == statement
    assert not Evidence.parse(False, text).present


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "a.py:",
        "a.py: ",
        "a.py::",
        "a.py:: f",
        "a.py::A .f",
        "::f",
        ": x",
        "a\nb",
        "a.py: b\nc",
    ],
)
def test_anything_else_is_no_statement(text: str) -> None:
    with pytest.raises(ValueError, match=r"evidence is `path`, `path::Qualified\.name` or"):
        Evidence.parse(True, text)


@pytest.mark.parametrize(
    ("statement", "shown"),
    [
        (Evidence(True, "a.py"), "present a.py"),
        (Evidence(False, "a.py", symbol="A.f"), "absent a.py::A.f"),
        (Evidence(True, "a.py", text="x = 1"), "present a.py: x = 1"),
    ],
)
def test_a_statement_is_shown_as_it_was_written(statement: Evidence, shown: str) -> None:
    assert str(statement) == shown


PLACES = {
    "before f": Anchor("before", "f"),
    "after A.f": Anchor("after", "A.f"),
    "first-in A": Anchor("first-in", "A"),
    "last-in A.f.inner": Anchor("last-in", "A.f.inner"),
    "in <module>": Anchor("in", "<module>"),
    "before größe": Anchor("before", "größe"),
    "before line: x = 1": Anchor("before", line="x = 1"),
    "after line:     x = 1": Anchor("after", line="    x = 1"),
    "after line:x = 1": Anchor("after", line="x = 1"),
}


@pytest.mark.parametrize(("text", "place"), PLACES.items())
def test_a_place_is_a_position_and_what_it_is_beside(text: str, place: Anchor) -> None:
    assert Anchor.parse(text) == place


@pytest.mark.parametrize(
    "text",
    [
        "",
        "before",
        "before ",
        "beside f",
        "Before f",
        "before f g",
        "before 1f",
        "before A..f",
        "before A.",
        "f",
        "in line: x",
        "first-in line: x",
        "before line:",
        "before line:  ",
        "before <lambda>",
    ],
)
def test_anything_else_is_no_place(text: str) -> None:
    with pytest.raises(ValueError, match="a place is one of before, after, first-in, last-in, in"):
        Anchor.parse(text)


@pytest.mark.parametrize("text", ["before f", "in <module>", "before line: x = 1"])
def test_a_place_is_shown_as_it_was_written(text: str) -> None:
    assert str(Anchor.parse(text)) == text


def test_a_manifest_finds_what_belongs_to_a_stack() -> None:
    hunks = [HunkId(stack, "p", "f", number, "0" * 8) for stack in ("a", "b") for number in (1, 2)]
    drops = tuple(Drop("why", (), "m:1", hunk) for hunk in hunks)
    skip = Skip("why", (), "m:9", "c")
    manifest = Manifest("moreh/v0.28.0", "v0.28.0", "b", ("a", "b", "c"), drops, (skip,))
    assert manifest.version == "v0.28.0"
    assert manifest.skip_of("c") is skip
    assert manifest.skip_of("a") is None
    assert list(manifest.adaptations_of("b").values()) == list(drops[2:])
    assert list(manifest.adaptations_of("b")) == ["b/p:f#1@00000000", "b/p:f#2@00000000"]
