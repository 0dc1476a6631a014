"""Where the symbol that a hunk belongs to may be, on a target that has no such symbol."""

from __future__ import annotations

import re

import pytest

from backport.core.lookalikes import (
    Definition,
    absent_scope,
    defined_at,
    definition_pattern,
    lookalike,
)
from backport.core.parsing import parse_diff
from backport.core.patches import Hunk
from backport.core.texts import Target
from tests.builders import diff

OLD = """\
def split(sizes, limit):
    start = 0
    for size in sizes:
        start += size
    return start
"""
METHOD = """\
class Builder:
    def build(self):
        return 1

    @staticmethod
    def _split(sizes, limit):
        start = 0
        for size in sizes:
            start += size
        return start
"""


def hunk(section: str = "split") -> Hunk:
    text = diff("a.py", OLD, OLD.replace("start += size", "start += 2 * size"), section=section)
    return parse_diff(text)[0].hunks[0]


def target(text: str, path: str = "a.py") -> Target:
    return Target(path, text.encode())


def found(text: str) -> tuple[str, int, int, int] | None:
    return lookalike(hunk(), target(text))


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (METHOD, "a.py", "split"),
        (OLD, "a.py", ""),
        ("def (", "a.py", ""),  # it has no scopes
        (METHOD, "a.txt", ""),
    ],
)
def test_a_scope_is_absent_where_the_file_tells_its_scopes(
    text: str, path: str, expected: str
) -> None:
    assert absent_scope(hunk(), target(text, path)) == expected


def test_a_hunk_of_the_module_lacks_no_scope() -> None:
    assert absent_scope(hunk("<module>"), target(METHOD)) == ""


def test_a_function_that_became_a_private_method() -> None:
    assert found(METHOD) == ("Builder._split", 6, 4, 5)


def test_a_function_under_another_name() -> None:
    assert found("x = 1\n\n\n" + OLD.replace("split", "cut")) == ("cut", 4, 4, 5)


def test_the_same_name_with_other_lines() -> None:
    assert found("class A:\n    def split(self):\n        return 1\n") == ("A.split", 2, 0, 5)


def test_of_two_with_as_many_lines_the_one_of_the_name() -> None:
    twice = METHOD + "\n" + OLD.replace("split", "cut").replace("return start", "return start + 1")
    assert found(twice.replace("        return start\n", "        return 0\n", 1)) == (
        ("Builder._split", 6, 3, 5)
    )


def test_nothing_like_it() -> None:
    assert found("def other():\n    return 1\n") is None


def test_one_line_in_common_is_chance() -> None:
    assert found("def other():\n    start = 0\n    return 1\n") is None


LINES = {
    "def split(x):": ["split"],
    "    async def split(x):": ["split"],
    "class Split:": [],
    "class split(Base):": ["split"],
    "def split[T](x: T) -> T:": ["split"],
    "def split_more(x):": [],
    "def more_split(x):": [],
    "x = split(y)": [],
}


@pytest.mark.parametrize(("line", "names"), LINES.items(), ids=LINES)
def test_definitions_are_searched_by_last_name(line: str, names: list[str]) -> None:
    pattern = definition_pattern(["A.split", "other"]).replace("[[:blank:]]", r"[ \t]")
    assert bool(re.match(pattern, line)) == bool(names)
    definition = Definition("b.py", 3, line.encode())
    assert defined_at("A.split", [definition]) == ([definition] if names else [])
