"""A target's text: its lines, its offsets, and the edits made to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.texts import Edit, Target, splice
from tests.builders import lines_of

LINES = {
    "nothing": (b"", []),
    "one line": (b"a\n", [b"a\n"]),
    "no final newline": (b"a\nb", [b"a\n", b"b"]),
    "empty lines": (b"\n\na\n", [b"\n", b"\n", b"a\n"]),
    "windows line ends": (b"a\r\nb\r\n", [b"a\r\n", b"b\r\n"]),
    "a lone carriage return": (b"a\rb\nc\r\n", [b"a\rb\n", b"c\r\n"]),
    "other separators": (b"a\x0b\x0c\x1c\x85\n", [b"a\x0b\x0c\x1c\x85\n"]),
    "U+2028": ("a\u2028b\n".encode(), ["a\u2028b\n".encode()]),
}


@pytest.mark.parametrize(("text", "lines"), LINES.values(), ids=LINES.keys())
def test_only_a_newline_ends_a_line(text: bytes, lines: list[bytes]) -> None:
    assert Target("f", text).lines == lines


@given(st.binary())
def test_the_lines_are_the_text(text: bytes) -> None:
    target = Target("f", text)
    assert b"".join(target.lines) == text
    assert target.lines == lines_of(text)


def test_offsets_and_lines_belong_together() -> None:
    target = Target("f", b"ab\n\ncd")
    assert [target.offset_of(line) for line in range(6)] == [None, 0, 3, 4, 6, None]
    assert [target.line_of(offset) for offset in range(7)] == [1, 1, 1, 2, 3, 3, 3]
    assert [Target("f", b"a\n").line_of(offset) for offset in range(3)] == [1, 1, 2]


def test_an_empty_text_has_one_place() -> None:
    target = Target("f", b"")
    assert (target.offset_of(1), target.offset_of(2), target.line_of(0)) == (0, None, 1)


def test_only_python_files_have_scopes() -> None:
    code = b"def f():\n    return 1\n"
    assert Target("f.py", code).scope_at(2) == "f"
    assert Target("f.pyi", code).scope_at(2) == "f"
    assert Target("f.txt", code).scope_at(2) is None


def test_the_lines_tell_the_scope_even_where_the_file_does_not_parse() -> None:
    assert Target("f.py", b"print 1\n").scope_at(1) == "<module>"
    assert Target("f.py", b"def f():\n    print 1\n").scope_at(2) == "f"


def test_lines_in_doubt_in_a_file_that_does_not_parse_have_no_scope() -> None:
    assert Target("f.py", b"def f():\n\tprint 1\n").scope_at(2) is None


def test_edits_are_made_in_the_order_of_the_text() -> None:
    edits = [Edit(6, 8, b"X"), Edit(0, 0, b">"), Edit(2, 4, b"")]
    assert splice(b"0123456789", edits) == b">0145X89"


def test_insertions_at_one_place_keep_their_order() -> None:
    edits = [Edit(2, 2, b"first "), Edit(2, 2, b"second "), Edit(2, 3, b"!")]
    assert splice(b"0123", edits) == b"01first second !3"


OVERLAPS = {
    "two changes of one line": [Edit(0, 4, b""), Edit(2, 6, b"")],
    "an insertion inside a change": [Edit(0, 4, b""), Edit(2, 2, b"x")],
    "one within the context of another": [
        Edit(2, 3, b"x", (0, 5)),
        Edit(6, 7, b"y", (4, 9)),
    ],
    "two in the same place": [Edit(2, 2, b"x", (0, 4)), Edit(2, 2, b"x", (0, 4))],
    "two insertions into nothing": [Edit(0, 0, b"x", (0, 0)), Edit(0, 0, b"y", (0, 0))],
}


@pytest.mark.parametrize("edits", OVERLAPS.values(), ids=OVERLAPS.keys())
@pytest.mark.parametrize("turned", [False, True], ids=["in order", "the other way round"])
def test_edits_that_need_the_same_lines_are_refused(edits: list[Edit], turned: bool) -> None:
    with pytest.raises(ValueError, match="two hunks of this file"):
        splice(b"0123456789", edits[::-1] if turned else edits)


def test_blocks_that_touch_are_apart() -> None:
    edits = [Edit(2, 3, b"x", (0, 5)), Edit(7, 8, b"y", (5, 9))]
    assert splice(b"0123456789", edits) == b"01x3456y89"


def test_a_placed_insertion_may_stand_in_the_context_of_a_hunk() -> None:
    edits = [Edit(2, 3, b"x", (0, 5)), Edit(4, 4, b"new")]
    assert splice(b"0123456789", edits) == b"01x3new456789"
