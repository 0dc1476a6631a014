"""What one pass over a file gathers beside the names that it binds."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from backport.audit.records import Binding, Registration
from backport.audit.registrations import called, helper_of
from backport.audit.terms import Term

Names = dict[str, list[Binding]]


@dataclass(slots=True)
class FileFacts:
    """The parts of a record that any statement of the file may add to."""

    imports: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    registrations: list[Registration] = field(default_factory=list)
    loose: dict[str, set[Term]] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)

    def loosen(self, name: str, term: Term) -> None:
        """Remember an attribute that is given to some object, with what it is given."""
        self.loose.setdefault(name, set()).add(term)

    def note_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Remember what the file imports, wherever it does."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imports.setdefault((0, alias.name), set())
        else:
            symbols = self.imports.setdefault((node.level, node.module or ""), set())
            symbols.update(alias.name for alias in node.names)

    def note_call(self, value: ast.expr | None, guard: int, bound: str = "") -> None:
        """Remember the registration of a custom op."""
        if isinstance(value, ast.Call) and helper_of(value):
            found = called(value, guard, bound)
            if found is not None:
                self.registrations.append(found)


@dataclass(slots=True)
class ClassFacts:
    """What the methods of a class assign on their instance."""

    attributes: dict[str, list[Term]] = field(default_factory=dict)

    def assign(self, name: str, term: Term) -> None:
        self.attributes.setdefault(name, []).append(term)


def import_binding(
    node: ast.Import | ast.ImportFrom, alias: ast.alias
) -> tuple[str, tuple[int, str, str | None]]:
    """The name that one part of an import binds, and to what."""
    if isinstance(node, ast.ImportFrom):
        return alias.asname or alias.name, (node.level, node.module or "", alias.name)
    if alias.asname:
        return alias.asname, (0, alias.name, None)
    top = alias.name.partition(".")[0]
    return top, (0, top, None)
