"""A walk over one file that knows where it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from backport.audit import tolerance
from backport.audit.guards import annotations_are_lazy
from backport.audit.scopes import Bind, Scope
from backport.audit.source import N, Site, Source


class Walk:
    """Where the walk over a file is: the scope, the guards, the statement and the loop around it.

    `handlers` visit the nodes of a type; of any other, the children are visited.
    """

    handlers: ClassVar[dict[type, Callable[..., None]]]

    def __init__(self, path: str, tree: ast.Module, excused: frozenset[int]) -> None:
        self.scope = Scope("module", tree, None)
        self.source = Source(path, tree, self.scope, {tree: self.scope}, excused)
        self.guard = self.statement = self.loop = 0
        self.lazy = tolerance.LAZY if annotations_are_lazy(tree) else 0

    def block(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self.statement = node.lineno
            self.visit(node)

    def visit(self, node: ast.AST | None) -> None:
        if node is not None:
            self.handlers.get(type(node), Walk.children)(self, node)

    def children(self, node: ast.AST) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self.visit(value)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        if isinstance(item, ast.stmt):
                            self.statement = item.lineno
                        self.visit(item)

    @contextmanager
    def inside(self, kind: str, node: ast.AST) -> Iterator[None]:
        outer, loop, statement = self.scope, self.loop, self.statement
        self.scope = Scope(kind, node, outer)
        self.source.scopes[node] = self.scope
        self.loop = 0 if kind in ("function", "lambda") else loop
        yield
        self.scope, self.loop, self.statement = outer, loop, statement

    @contextmanager
    def under(self, guard: int) -> Iterator[None]:
        before = self.guard
        self.guard |= guard
        yield
        self.guard = before

    def site(self, node: N) -> Site[N]:
        return Site(node, self.scope, self.guard, self.statement, self.loop)

    def bind(self, name: str, form: str, source: ast.AST | None, line: int) -> None:
        bind = Bind(form, source, line, self.statement, self.loop, self.guard)
        self.scope.add(name, bind)

    def target(self, node: ast.expr, form: str, source: ast.AST | None) -> None:
        """Bind what an assignment target names, and look at what it reads."""
        if isinstance(node, ast.Name):
            self.bind(node.id, form, source, node.lineno)
        elif isinstance(node, ast.Tuple | ast.List):
            for element in node.elts:
                self.target(element, "other", None)
        elif isinstance(node, ast.Starred):
            self.target(node.value, "other", None)
        elif isinstance(node, ast.Attribute):
            self.visit(node)
        else:
            self.children(node)
