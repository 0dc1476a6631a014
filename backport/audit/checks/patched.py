"""What a test replaces for a while (`mock.patch`, `monkeypatch.setattr`) must be there.

The target stands in a string, or is an object with the attribute's name in a string, so
nothing resolves it before the test runs.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from backport.audit import tolerance
from backport.audit.checks.replaced import (
    Replaced,
    is_certain,
    named,
    passed,
    replaced,
    scope_of,
    stores,
)
from backport.audit.modules import Kind
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Type, Value, present
from backport.core.outcomes import Finding

MISSING = Rule(
    "missing-patch-target",
    "a test replaces a name that is not there: the replacing itself fails",
    "replace what the target has in its place, or carry the definition",
)

_PATH = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NAMED = ("patch.object", "mocker.spy", ".setattr", ".delattr")
_PATHS = (".patch", ".setattr", ".delattr")
_QUIET = tolerance.ATTRIBUTES | tolerance.IMPORTS | tolerance.VERSION
_BUILTINS = frozenset(dir(builtins))


class _Target(NamedTuple):
    """An attribute that is replaced: of what, the node and the words that name it, and what
    is passed on the way to it. Without a name it is some attribute, nobody knows which."""

    owner: Type
    name: str
    node: ast.expr
    shown: str
    way: Type


def check(subject: Subject) -> Iterator[Finding]:
    """Replaced names of one file that are not there."""
    source = subject.file.source
    files: list[Replaced] = []
    for site in source.calls:
        if site.guard & _QUIET or source.is_excused(site.node) or _may_create(site.node):
            continue
        target = _target(subject, site)
        if target is None or not target.name or not _lacks(subject, target):
            continue
        if not _is_sure(subject, site, target):
            continue
        places = () if files else subject.surroundings()
        files += [replaced(p.source, _replaced(replace(subject, reading=p))) for p in places]
        if not _is_filled(subject, site.node) and not _is_a_mock(subject, target, files):
            message = f"`{target.shown}` is replaced, and is not there"
            yield finding(source.path, target.node, MISSING, message, target.shown)


CHECK = Check(check, (MISSING,))


def _may_create(call: ast.Call) -> bool:
    """True where the call says that the attribute need not be there, or may say so."""
    return any(keyword.arg in (None, "create", "raising") for keyword in call.keywords)


def _target(subject: Subject, site: Site[ast.Call]) -> _Target | None:
    call = site.node
    function = dotted(value_term(call.func))
    if len(call.args) > 1 and function.endswith(_NAMED):
        owner, name = call.args[:2]
        text = _text(name)
        found = present(subject.file.type_of(owner, site.scope))
        if text.isidentifier() or (found and not isinstance(name, ast.Constant)):
            shown = f"{dotted(value_term(owner))}.{text}"
            return _Target(found, text, name, shown, passed(subject.file, owner, site.scope))
    if call.args and f".{function}".endswith(_PATHS):
        path = _text(call.args[0])
        return _by_path(subject, call.args[0], path) if _PATH.fullmatch(path) else None
    return None


def _text(node: ast.expr) -> str:
    found = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if found else ""  # type: ignore[attr-defined]


def _by_path(subject: Subject, node: ast.expr, path: str) -> _Target | None:
    """The first part of a dotted path that is not there, or its last one."""
    top, *parts = path.split(".")
    found = subject.table.modules.find(subject.file.source.path, 0, top)
    if found.kind is not Kind.FILE:
        return None  # another project's, or a folder that may be one
    owner: Type = (Value(Sort.MODULE, found.path, top),)
    way = owner
    for name in parts[:-1]:
        target = _Target(owner, name, node, path, way)
        if not owner or _lacks(subject, target):
            return target
        given = [subject.resolver.attribute(value, name) or () for value in owner]
        owner = tuple(value for values in given for value in values) if all(given) else ()
        way += owner
    return _Target(owner, parts[-1], node, path, way)


def _lacks(subject: Subject, target: _Target) -> bool:
    """True where no alternative has the attribute, and nothing gives it to them."""
    for value in target.owner:
        if value.sort not in (Sort.MODULE, Sort.CLASS, Sort.INSTANCE):
            return False
        if value.sort is Sort.MODULE and target.name in _BUILTINS:
            return False  # those may be replaced in any module
        if subject.resolver.attribute(value, target.name) is not None:
            return False
        if value.sort is not Sort.MODULE and subject.table.is_loose(target.name, in_tests=True):
            return False
    return bool(target.owner)


def _is_sure(subject: Subject, site: Site[ast.Call], target: _Target) -> bool:
    """False for an object of which only an annotation, or another module, says what it is."""
    if all(value.sort is not Sort.INSTANCE for value in target.owner):
        return True
    owner = site.node.args[0]
    return owner is not target.node and is_certain(subject.file, owner, site.scope)


def _is_filled(subject: Subject, call: ast.Call) -> bool:
    """True where the file gives the owner attributes by `setattr` or its `__dict__`."""
    owner = dotted(value_term(call.args[0])).encode()
    entry = subject.entry(subject.file.source.path) if owner else None
    filling = rb"(?<![.\w])(?:setattr\(\s*%b\s*,|vars\(\s*%b\s*\)|%b\.__dict__)"
    return entry is not None and bool(
        re.search(filling.replace(b"%b", re.escape(owner)), entry.data)
    )


def _is_a_mock(subject: Subject, target: _Target, files: list[Replaced]) -> bool:
    """True where something on the way to the attribute may be replaced itself already."""
    way = {key for value in target.way for key in named(value)}
    modules = {value.path for value in target.way if value.sort is Sort.MODULE}
    shown = {subject.table.modules.name_of(path) for path in modules}
    return any(
        not shown.isdisjoint(file.modules) or not way.isdisjoint(file.at(target.node))
        for file in files
    )


def _replaced(subject: Subject) -> Iterator[tuple[ast.AST, Value]]:
    """What a file replaces: each node that does, and what stood there before."""
    source, resolver = subject.file.source, subject.resolver
    for site in source.calls:
        for owner, name in _owners(subject, site):
            found = (resolver.attribute(owner, name) or ()) if name else (owner,)
            yield from ((site.node, value) for value in found)
    for node in stores(source.tree):
        yield from ((node, v) for v in subject.file.type_of(node, scope_of(source, node)))


def _owners(subject: Subject, site: Site[ast.Call]) -> Iterator[tuple[Value, str]]:
    """The objects of which a call replaces attributes, and the names of those."""
    call = site.node
    if dotted(value_term(call.func)).endswith("patch.multiple") and call.args:
        path = f"{_text(call.args[0])}.any"
        by_path = _by_path(subject, call, path) if _PATH.fullmatch(path) else None
        owners = by_path.owner if by_path else subject.file.type_of(call.args[0], site.scope)
        names = [keyword.arg or "" for keyword in call.keywords]
        yield from ((owner, name) for owner in owners for name in names)
        return
    target = _target(subject, site)
    if target is not None:
        yield from ((owner, target.name) for owner in target.owner)
