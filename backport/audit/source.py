"""A file read closely: its scopes, and every place where a name, attribute or call stands."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from backport.audit.scopes import Scope

N = TypeVar("N", bound=ast.AST)

_EXCUSES = re.compile(rb"#[^\n]*(?:type:\s*ignore|noqa(?!:)|noqa:[^\n]*F821|pylint: *disable)")


class Site(NamedTuple, Generic[N]):
    """A node with the scope it stands in and its guards (see `tolerance`).

    `statement` is the line of the statement around it, `loop` the first line of the
    outermost loop of its scope around it, or 0.
    """

    node: N
    scope: Scope
    guard: int
    statement: int
    loop: int


@dataclass(slots=True)
class Source:
    """One file's tree, scopes and sites; `excused` are its `excused_lines`,
    `awaited` what it awaits, and `dropped` the expressions whose value it leaves alone."""

    path: str
    tree: ast.Module
    scope: Scope
    scopes: dict[ast.AST, Scope]
    excused: frozenset[int]
    names: list[Site[ast.Name]] = field(default_factory=list)
    attributes: list[Site[ast.Attribute]] = field(default_factory=list)
    stores: list[Site[ast.Attribute]] = field(default_factory=list)
    calls: list[Site[ast.Call]] = field(default_factory=list)
    imports: list[Site[ast.Import | ast.ImportFrom]] = field(default_factory=list)
    awaited: set[ast.expr] = field(default_factory=set)
    dropped: set[ast.expr] = field(default_factory=set)
    unpackings: list[Site[ast.Assign]] = field(default_factory=list)
    _nodes: list[ast.AST] = field(default_factory=list)

    @property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree but contexts, those further out first."""
        if not self._nodes:
            self._nodes.append(self.tree)
            for node in self._nodes:  # which grows meanwhile
                for name in node._fields:
                    value = getattr(node, name, None)
                    if isinstance(value, list):
                        self._nodes += [each for each in value if isinstance(each, ast.AST)]
                    elif isinstance(value, ast.AST) and name != "ctx":
                        self._nodes.append(value)
        return self._nodes

    def is_excused(self, node: ast.AST) -> bool:
        first = getattr(node, "lineno", 0)
        return first in self.excused or getattr(node, "end_lineno", first) in self.excused


def excused_lines(data: bytes) -> frozenset[int]:
    """The lines whose author tells type checkers and linters to look away."""
    return frozenset(data.count(b"\n", 0, m.start()) + 1 for m in _EXCUSES.finditer(data))
