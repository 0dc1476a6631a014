"""Where Python definitions begin and end in a file, by qualified name.

Qualified names are what survives between releases: git's own text after `@@`
names the innermost scope only now and then, and line numbers never last.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from functools import lru_cache

from backport.core.patches import MODULE_SCOPE


@dataclass(frozen=True, slots=True)
class Scope:
    """One class or function; lines count from 1, `start` includes its decorators."""

    name: str
    start: int
    line: int
    body: int
    end: int


@lru_cache(maxsize=64)
def scopes(text: bytes) -> tuple[Scope, ...] | None:
    """Every class and function of a Python file in order, or None where it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: list[Scope] = []
    _collect(module, "", found)
    return tuple(found)


def _collect(node: ast.AST, prefix: str, found: list[Scope]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            start = min([child.lineno, *(deco.lineno for deco in child.decorator_list)])
            end = child.end_lineno or child.lineno
            found.append(Scope(name, start, child.lineno, _body_start(child), end))
            _collect(child, f"{name}.", found)
        elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            _collect(child, prefix, found)


def _body_start(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    """The line of the first statement after the docstring, its decorators included."""
    body = node.body
    documented = ast.get_docstring(node, clean=False) is not None
    if documented and len(body) == 1:
        return (body[0].end_lineno or body[0].lineno) + 1
    first = body[1] if documented else body[0]
    decorators: list[ast.expr] = getattr(first, "decorator_list", [])
    return min([first.lineno, *(deco.lineno for deco in decorators)])


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
