"""What a test replaces for a while (`mock.patch`, `monkeypatch.setattr`) must be there.

The target stands in a string, or is an object with the attribute's name in a string, so
nothing resolves it before the test runs.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit import tolerance
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
    """An attribute that is replaced: of what, the node and the words that name it."""

    owner: Type
    name: str
    node: ast.expr
    shown: str


def check(subject: Subject) -> Iterator[Finding]:
    """Replaced names of one file that are not there."""
    source = subject.file.source
    for site in source.calls:
        if site.guard & _QUIET or source.is_excused(site.node) or _may_create(site.node):
            continue
        target = _target(subject, site)
        if target is not None and _lacks(subject, target):
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
        shown = f"{dotted(value_term(owner))}.{text}"
        if text.isidentifier():
            return _Target(present(subject.file.type_of(owner, site.scope)), text, name, shown)
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
    for name in parts[:-1]:
        target = _Target(owner, name, node, path)
        if not owner or _lacks(subject, target):
            return target
        given = [subject.resolver.attribute(value, name) or () for value in owner]
        owner = tuple(value for values in given for value in values) if all(given) else ()
    return _Target(owner, parts[-1], node, path)


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
