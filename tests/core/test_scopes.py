"""Qualified names: where each definition of a Python file begins and ends."""

from __future__ import annotations

import pytest

from backport.core.scopes import Scope, defined_twice, find_scope, scope_at, scopes

FILE = b'''\
"""A module."""
import os


@outer
@outer(
    1,
)
class A(Base):
    """Docs
    of two lines."""

    x = 1

    @property
    def value(self):
        return self._value

    async def go(self):
        # a comment

        def inner():
            return 1

        return inner


if os.name:

    def f(): ...
else:

    def f(
        x,
    ) -> int: ...
'''


def found(text: bytes) -> tuple[Scope, ...]:
    scopes_found = scopes(text)
    assert scopes_found is not None
    return scopes_found


def test_every_definition_has_its_lines() -> None:
    assert found(FILE) == (
        Scope("A", start=5, line=9, first=10, body=13, end=25),
        Scope("A.value", start=15, line=16, first=17, body=17, end=17),
        Scope("A.go", start=19, line=19, first=22, body=22, end=25),
        Scope("A.go.inner", start=22, line=22, first=23, body=23, end=23),
        Scope("f", start=30, line=30, first=0, body=0, end=30, arms=((28, 0),)),
        Scope("f", start=33, line=33, first=0, body=0, end=35, arms=((28, 1),)),
    )


LINES = {
    1: "<module>",
    4: "<module>",
    5: "A",
    9: "A",
    11: "A",
    14: "A",
    15: "A.value",
    17: "A.value",
    18: "A",
    19: "A.go",
    21: "A.go",
    22: "A.go.inner",
    23: "A.go.inner",
    24: "A.go",
    25: "A.go",
    26: "<module>",
    30: "f",
    31: "<module>",
    34: "f",
    36: "<module>",
    99: "<module>",
}


@pytest.mark.parametrize(("line", "name"), LINES.items())
def test_a_line_lies_in_its_innermost_definition(line: int, name: str) -> None:
    assert scope_at(found(FILE), line) == name


HEADERS = {
    "a body on the header's line": (b"def f(): return 1\n", (0, 0)),
    "a body on the last line of the header": (b"def f(\n    x,\n): return x\n", (0, 0)),
    "a docstring on the header's line": (b'class A: "docs"\n', (0, 0)),
    "two statements after the header": (b"def f(): x = 1; return x\n", (0, 0)),
    "a docstring that shares its line": (b'def f():\n    "docs"; x = 1\n', (0, 0)),
    "a docstring alone": (b'def f():\n    """docs\n    more"""\n', (2, 4)),
    "a body after comments": (b"def f():\n    # why\n\n    return 1\n", (4, 4)),
    "a decorated first statement": (b"class A:\n    @d\n    def f(self): ...\n", (2, 2)),
    "a decorated statement after the docstring": (
        b'class A:\n    "docs"\n\n    @d\n    def f(self): ...\n',
        (2, 4),
    ),
    "a body after tabs": (b"def f():\n\treturn 1\n", (2, 2)),
    "a body after a form feed": (b"def f():\n\x0c    return 1\n", (2, 2)),
    "letters beyond ASCII before the body": ("def f(é='é'): return 1\n".encode(), (0, 0)),
}


@pytest.mark.parametrize(("text", "lines"), HEADERS.values(), ids=HEADERS.keys())
def test_a_block_begins_where_it_has_lines_of_its_own(text: bytes, lines: tuple[int, int]) -> None:
    first = found(text)[0]
    assert (first.first, first.body) == lines


BRANCHES = {
    "if": b"if x:\n    def f(): ...\n",
    "elif": b"if x:\n    pass\nelif y:\n    def f(): ...\n",
    "try": b"try:\n    def f(): ...\nfinally:\n    pass\n",
    "except": b"try:\n    pass\nexcept E:\n    def f(): ...\n",
    "finally": b"try:\n    pass\nfinally:\n    def f(): ...\n",
    "with": b"with x:\n    def f(): ...\n",
    "for": b"for x in y:\n    def f(): ...\n",
    "while and else": b"while x:\n    pass\nelse:\n    def f(): ...\n",
    "match": b"match x:\n    case 1:\n        def f(): ...\n",
}


@pytest.mark.parametrize("text", BRANCHES.values(), ids=BRANCHES.keys())
def test_a_definition_inside_a_branch_is_found_without_the_branch_in_its_name(text: bytes) -> None:
    assert [scope.name for scope in found(text)] == ["f"]


NOT_PYTHON = {
    "a syntax error": b"def f(:\n",
    "Python 2": b"print 1\n",
    "mixed tabs": b"if 1:\n\tx = 1\n        y = 2\n",
    "a NUL byte": b"x = 1\0\n",
    "an unknown encoding": b"# coding: nowhere\nx = 1\n",
    "bytes that are not UTF-8": b"x = '\xff'\n",
    "brackets too deep": b"(" * 5000 + b")" * 5000,
}


@pytest.mark.parametrize("text", NOT_PYTHON.values(), ids=NOT_PYTHON.keys())
def test_what_does_not_parse_has_no_scopes(text: bytes) -> None:
    assert scopes(text) is None


@pytest.mark.parametrize("length", [900, 1500, 3000])
def test_a_long_chain_of_branches_does_no_harm(length: int) -> None:
    text = b"if x: pass\n" + b"elif x: pass\n" * length + b"def f(): ...\n"
    scopes_found = scopes(text)
    assert scopes_found is None or [scope.name for scope in scopes_found] == ["f"]


def test_a_declared_encoding_is_followed() -> None:
    assert [scope.name for scope in found(b"# coding: latin-1\ndef f(x='\xe9'): ...\n")] == ["f"]


def test_an_empty_file_has_no_definitions() -> None:
    assert scopes(b"") == ()


def test_a_file_that_warns_is_read_in_silence() -> None:
    assert [scope.name for scope in found(b"def f():\n    assert (1, '\\d')\n")] == ["f"]


def test_windows_line_ends_count_once() -> None:
    (f,) = found(b"x = 1\r\n\r\ndef f():\r\n    return 1\r\n")
    assert (f.start, f.body, f.end) == (3, 4, 4)


@pytest.mark.parametrize(
    "above",
    ["# a\rb = 1\n", "x = '''\r\r'''\n", "\r# one\r\n"],
    ids=["in a comment", "in a string", "beside CRLF"],
)
def test_only_a_newline_ends_a_line_whatever_python_says(above: str) -> None:
    (f,) = found(above.encode() + b"def f():\n    return 1\n")
    assert (f.start, f.line, f.first, f.body, f.end) == (2, 2, 3, 3, 3)


@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_other_separators_end_no_line(odd: str) -> None:
    (f,) = found(f"# a{odd}b\ndef f():\n    return '{odd}'\n".encode())
    assert (f.start, f.end) == (2, 3)


def test_every_definition_of_one_name_is_found() -> None:
    both = find_scope(found(FILE), "f")
    assert [scope.line for scope in both] == [30, 33]
    assert find_scope(found(FILE), "A.missing") == []


def test_names_defined_more_than_once_are_counted() -> None:
    assert defined_twice(found(FILE)) == {"f": 2}
