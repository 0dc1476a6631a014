"""Which objects a test has replaced already where it replaces an attribute of one.

What stands under a decorator, a `with`, a fixture or an earlier `setattr` is a mock, and a
mock has any attribute. When that is in force is hard to tell, so everything counts that
the same test, the code around it, or a function which is no test replaces.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit.functions import Definition
from backport.audit.scopes import Scope
from backport.audit.scoping import Places
from backport.audit.source import Source
from backport.audit.values import Sort, Type, Value


class Unit(NamedTuple):
    """The lines of a function of a module or class, decorators included."""

    first: int
    last: int
    is_test: bool


def units(source: Source) -> list[Unit]:
    """The functions of a file that pytest may call."""
    return list(_units(source.tree.body))


def reaches(replacing: ast.AST, node: ast.AST, found: list[Unit]) -> bool:
    """True where what one node replaces may be replaced still at the other."""
    unit = _unit_of(replacing, found)
    return unit is None or not unit.is_test or unit == _unit_of(node, found)


def named(value: Value) -> list[tuple[Sort, str, str]]:
    """The keys by which a value is found among what is replaced, its own first: an object
    of a class that is replaced is none any more."""
    name = "" if value.sort is Sort.MODULE else value.name
    own = (value.sort, value.path, name)
    return [own, (Sort.CLASS, value.path, name)] if value.sort is Sort.INSTANCE else [own]


def passed(places: Places, node: ast.expr, scope: Scope) -> Type:
    """Everything on the way to an object: what it is read from, called on, assigned from."""
    found: list[Value] = []
    ways, seen = [node], set[str]()
    while ways:
        node = ways.pop()
        found += places.type_of(node, scope)
        if isinstance(node, ast.Attribute | ast.Subscript):
            ways.append(node.value)
        elif isinstance(node, ast.Call):
            ways.append(node.func)
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            holder = scope.holder(node.id)
            binds = holder.binds.get(node.id, ()) if holder is not None else ()
            ways += [
                b.source for b in binds if b.form == "assign" and isinstance(b.source, ast.expr)
            ]
    return tuple(found)


def stores(tree: ast.Module) -> Iterator[ast.Attribute]:
    """The attributes that a file assigns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node


def scope_of(source: Source, node: ast.expr) -> Scope:
    """The innermost function around a node, or the module."""
    around = [
        scope
        for owner, scope in source.scopes.items()
        if isinstance(owner, Definition)
        and owner.lineno <= node.lineno <= (owner.end_lineno or owner.lineno)
    ]
    return around[-1] if around else source.scope


def _unit_of(node: ast.AST, found: list[Unit]) -> Unit | None:
    line = getattr(node, "lineno", 0)
    return next((unit for unit in found if unit.first <= line <= unit.last), None)


def _units(body: list[ast.stmt]) -> Iterator[Unit]:
    for node in body:
        if isinstance(node, Definition):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield Unit(first, node.end_lineno or first, node.name.startswith("test"))
        elif isinstance(node, ast.ClassDef):
            yield from _units(node.body)
