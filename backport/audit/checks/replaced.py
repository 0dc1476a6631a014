"""Which objects a test has replaced already where it replaces an attribute of one.

What stands under a decorator, a `with`, a fixture or an earlier `setattr` is a mock, and a
mock has any attribute. When that is in force is hard to tell, so everything counts that
the same test, the code around it, or a function which is no test replaces.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

from backport.audit.functions import Definition
from backport.audit.scopes import Scope
from backport.audit.scoping import Places
from backport.audit.source import Source
from backport.audit.standins import stand_ins
from backport.audit.values import Sort, Type, Value

Key = tuple[Sort, str, str]


_CERTAIN = ("assign", "import", "class", "function")
"""The forms of bindings that say what a value is, each by code."""


class Unit(NamedTuple):
    """The lines of a function of a module or class, decorators included."""

    first: int
    last: int
    is_test: bool


class Replaced(NamedTuple):
    """What one file replaces: in every test (under None), and in each one alone; `modules`
    are those that it puts others in the place of."""

    keys: dict[Unit | None, set[Key]]
    units: list[Unit]
    modules: frozenset[str]

    def at(self, node: ast.AST) -> set[Key]:
        """What may be replaced still where a node runs."""
        everywhere, unit = self.keys.get(None, set()), _unit_of(node, self.units)
        return everywhere | self.keys.get(unit, set())


def replaced(source: Source, found: Iterable[tuple[ast.AST, Value]]) -> Replaced:
    """What a file replaces, given the nodes that do and what each of them is about."""
    units, keys = list(_units(source.tree.body)), defaultdict[Unit | None, set[Key]](set)
    for node, value in found:
        unit = _unit_of(node, units)
        keys[unit if unit is not None and unit.is_test else None].add(named(value)[0])
    return Replaced(keys, units, stand_ins(source))


def is_certain(places: Places, node: ast.expr, scope: Scope) -> bool:
    """True where code alone says what a value is: where an annotation does, it may be an
    object of a class below."""
    ways, seen = [(node, scope)], set[tuple[Scope, str]]()
    while ways:
        node, scope = ways.pop()
        holder = scope.holder(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(node, ast.Name) or holder is None:
            if not _is_made(places, node, scope):
                return False
        elif (holder, node.id) not in seen:
            seen.add((holder, node.id))
            binds = holder.binds[node.id]
            if any(bind.form not in _CERTAIN for bind in binds):
                return False
            sources = (bind.source for bind in binds if bind.form == "assign")
            ways += [(source, holder) for source in sources if isinstance(source, ast.expr)]
    return True


def _is_made(places: Places, node: ast.expr, scope: Scope) -> bool:
    """True for a call of a class, and for what is read from a module or class."""
    if isinstance(node, ast.Call):
        return all(value.sort is Sort.CLASS for value in places.type_of(node.func, scope))
    if not isinstance(node, ast.Attribute):
        return False
    read = (*places.type_of(node, scope), *places.type_of(node.value, scope))
    return all(value.sort is not Sort.INSTANCE for value in read)


def named(value: Value) -> list[Key]:
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
    place = bisect_right(found, line, key=attrgetter("first"))
    return found[place - 1] if place and line <= found[place - 1].last else None


def _units(body: list[ast.stmt]) -> Iterator[Unit]:
    for node in body:
        if isinstance(node, Definition):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield Unit(first, node.end_lineno or first, node.name.startswith("test"))
        elif isinstance(node, ast.ClassDef):
            yield from _units(node.body)
