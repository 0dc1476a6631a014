"""Scopes of a parsed file: which names each one binds, and how."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Bind(NamedTuple):
    """One place that binds a name.

    `form` is "assign", "annotation", "parameter", "import", "function", "class",
    "item" (one element of `source`) or "other"; `source` is the expression, statement
    or parameter that it comes from. `statement` is the line of the whole statement and
    `loop` the first line of the outermost loop of that scope around it, or 0.
    """

    form: str
    source: ast.AST | None
    line: int
    statement: int
    loop: int
    guard: int


@dataclass(slots=True, eq=False)
class Scope:
    """A module, class, function, lambda or comprehension."""

    kind: str
    node: ast.AST
    parent: Scope | None
    binds: dict[str, list[Bind]] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)
    narrowed: set[str] = field(default_factory=set)

    def add(self, name: str, bind: Bind) -> None:
        """Bind a name here, or where `global` and `nonlocal` send it."""
        self._home(name).binds.setdefault(name, []).append(bind)

    def holder(self, name: str) -> Scope | None:
        """The scope that a read of the name in this one finds, None for builtins."""
        if self.outer.get(name) == "global":
            return self.module if name in self.module.binds else None
        for scope in self.visible():
            if name in scope.binds and (scope is not self or name not in scope.outer):
                return scope
        return None

    def visible(self) -> Iterator[Scope]:
        """This scope and the ones around it whose names it sees."""
        yield self
        direct = self.kind in ("comprehension", "parameters")
        scope = self.parent
        while scope is not None:
            if scope.kind != "class" or direct:
                yield scope
            direct = direct and scope.kind in ("comprehension", "parameters")
            scope = scope.parent

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def function(self) -> Scope | None:
        """The nearest function around, this scope included."""
        scope: Scope | None = self
        while scope is not None and scope.kind != "function":
            scope = scope.parent
        return scope

    @property
    def cls(self) -> Scope | None:
        """The class whose body holds the nearest method around."""
        scope: Scope | None = self
        while scope is not None:
            if scope.kind == "function" and scope.parent is not None:
                owner = scope.parent
                while owner is not None and owner.kind == "parameters":
                    owner = owner.parent  # type: ignore[assignment]
                if owner is not None and owner.kind == "class":
                    return owner
            elif scope.kind == "class":
                return scope
            scope = scope.parent
        return None

    @property
    def runs_on_import(self) -> bool:
        """True where a statement of this scope runs when the module is imported."""
        scope: Scope | None = self
        while scope is not None and scope.kind in ("module", "class"):
            scope = scope.parent
        return scope is None

    def is_narrowed(self, text: str) -> bool:
        """True where the code around asks for the kind of what this text names."""
        scope: Scope | None = self
        while scope is not None:
            if text in scope.narrowed:
                return True
            scope = scope.parent
        return False

    def _home(self, name: str) -> Scope:
        where = self.outer.get(name)
        if where == "global":
            return self.module
        if where == "nonlocal" and self.parent is not None:
            for scope in self.parent.visible():
                if scope.kind == "function" and name in scope.binds:
                    return scope
        return self
