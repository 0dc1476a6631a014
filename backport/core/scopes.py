"""Where Python definitions begin and end in a file, by qualified name.

Qualified names are what survives between releases: git's own text after `@@`
names the innermost scope only now and then, and line numbers never last.
"""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from backport.core.patches import MODULE_SCOPE

_LONE_CR = re.compile(rb"\r(?!\n)")


Arms = tuple[tuple[int, int], ...]


class Scope(NamedTuple):
    """One class or function; lines count from 1, `start` includes its decorators.

    `first` is where its block begins, a docstring included, and `body` what
    follows the docstring; both are 0 where that shares a line with the header.
    `arms` names the branches that it stands in: the line of each `if`, `try` or
    `match` around it, and which of its alternatives.
    """

    name: str
    start: int
    line: int
    first: int
    body: int
    end: int
    arms: Arms = ()

    def excludes(self, other: Scope) -> bool:
        """True where only one of both can be run: they stand in two arms of one statement."""
        mine = dict(self.arms)
        return any(mine.get(line, arm) != arm for line, arm in other.arms)


@lru_cache(maxsize=64)
def scopes(text: bytes) -> tuple[Scope, ...] | None:
    """Every class and function of a Python file in order, or None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
        found: list[Scope] = []
        _collect(module, "", _Lines(text), found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tuple(found)


class _Lines:
    """Python's own lines: unlike git it also ends one at a carriage return alone."""

    def __init__(self, text: bytes) -> None:
        self._lines = re.split(rb"\r\n|\r|\n", text)
        self._numbers = self._count(text) if _LONE_CR.search(text) else None

    @staticmethod
    def _count(text: bytes) -> list[int]:
        ends = re.findall(rb"\r\n|\r|\n", text)
        return [1, *accumulate((end != b"\r" for end in ends), initial=1)]

    def number(self, line: int) -> int:
        """The line of the file, where only `\\n` ends one, that Python's `line` lies in."""
        return line if self._numbers is None else self._numbers[min(line, len(self._numbers) - 1)]

    def alone(self, node: ast.stmt) -> bool:
        """True where nothing stands before the statement in its line."""
        return not self._lines[node.lineno - 1][: node.col_offset].strip()


def _collect(
    node: ast.AST, prefix: str, lines: _Lines, found: list[Scope], arms: Arms = ()
) -> None:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else ():  # statements stand in lists only
            inner = (*arms, *_arm(node, field, child))
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                found.append(_scope(name, child, lines, inner))
                _collect(child, f"{name}.", lines, found, inner)
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                _collect(child, prefix, lines, found, inner)


def _scope(
    name: str,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    lines: _Lines,
    arms: Arms,
) -> Scope:
    first, body = _block(node, lines)
    places = (_start(node), node.lineno, first, body, node.end_lineno or node.lineno)
    start, line, first, body, end = (lines.number(line) if line else 0 for line in places)
    return Scope(name, start, line, first, body, end, arms)


def _arm(node: ast.AST, field: str, child: ast.AST) -> Arms:
    """Which alternative of `node` the child stands in: nothing where it always runs."""
    if isinstance(node, ast.If):
        return ((node.lineno, int(field == "orelse")),)
    if isinstance(node, ast.Try | ast.TryStar) and field != "finalbody":
        return ((node.lineno, child.lineno if isinstance(child, ast.ExceptHandler) else 0),)
    if isinstance(child, ast.match_case) and isinstance(node, ast.Match):
        return ((node.lineno, child.pattern.lineno),)
    return ()


def _start(node: ast.stmt) -> int:
    """The first line of a statement, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(deco.lineno for deco in decorators)])


def _block(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: _Lines
) -> tuple[int, int]:
    """The lines of the first statement, and of the first one after the docstring."""
    statements = node.body
    documented = ast.get_docstring(node, clean=False) is not None
    if not all(map(lines.alone, statements[: 1 + documented])):
        return 0, 0
    if documented and len(statements) == 1:
        return statements[0].lineno, (statements[0].end_lineno or statements[0].lineno) + 1
    return _start(statements[0]), _start(statements[documented])


def scope_at(found: tuple[Scope, ...], line: int) -> str:
    """The qualified name of the innermost scope that holds `line`."""
    name = MODULE_SCOPE
    for scope in found:
        if scope.start > line:
            break
        if line <= scope.end:
            name = scope.name
    return name


def find_scope(found: tuple[Scope, ...], name: str) -> list[Scope]:
    """Every definition that goes by the qualified name (several where a file defines it twice)."""
    return [scope for scope in found if scope.name == name]


def defined_twice(found: tuple[Scope, ...]) -> dict[str, int]:
    """How often each qualified name is defined, for the names that are defined more than once."""
    counts: dict[str, int] = {}
    for scope in found:
        counts[scope.name] = counts.get(scope.name, 0) + 1
    return {name: count for name, count in counts.items() if count > 1}
