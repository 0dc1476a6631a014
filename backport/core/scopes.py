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


class Scope(NamedTuple):
    """One class or function; lines count from 1, `start` includes its decorators.

    `first` is where its block begins, a docstring included, and `body` what
    follows the docstring; both are 0 where that shares a line with the header.
    """

    name: str
    start: int
    line: int
    first: int
    body: int
    end: int


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


def _collect(node: ast.AST, prefix: str, lines: _Lines, found: list[Scope]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            end = child.end_lineno or child.lineno
            places = (_start(child), child.lineno, *_block(child, lines), end)
            found.append(Scope(name, *(lines.number(line) if line else 0 for line in places)))
            _collect(child, f"{name}.", lines, found)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            _collect(child, prefix, lines, found)


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
