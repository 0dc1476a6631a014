"""Imports of modules and symbols that the tree lacks, lazy ones included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from backport.audit import tolerance
from backport.audit.modules import Kind, Target
from backport.audit.paths import is_test
from backport.audit.source import Site
from backport.audit.standins import stand_ins
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort
from backport.core.outcomes import Finding

MODULE = Rule(
    "missing-module",
    "an import names a module that the tree does not have",
    "carry the module, or import what the target has in its place",
)
SYMBOL = Rule(
    "missing-symbol",
    "an import names a symbol that its module does not define",
    "carry the definition, or import what the target has in its place",
)
ATTRIBUTE = Rule(
    "missing-attribute",
    "an attribute of a module is read that the module does not define",
    "carry the definition, or use what the target has in its place",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Imports and module attributes of one file that do not resolve."""
    source = subject.file.source
    for site in source.imports:
        node = site.node
        if site.guard & tolerance.VERSION:
            continue
        if isinstance(node, ast.ImportFrom):
            yield from _from(subject, site, node)
        elif isinstance(node, ast.Import):
            yield from _modules(subject, site, node)
    for read in source.attributes:
        if not read.guard & (tolerance.ATTRIBUTES | _QUIET):
            yield from _attribute(subject, read, read.node)
    for call in source.calls:
        if not call.guard & _QUIET:
            yield from _by_name(subject, call)


CHECK = Check(check, (MODULE, SYMBOL, ATTRIBUTE))

_QUIET = tolerance.VERSION | tolerance.TYPING
_IMPORTERS = ("import_module", "importorskip")
_TOLERATED = tolerance.IMPORTS | tolerance.VERSION | tolerance.TYPING


def _modules(subject: Subject, site: Site[Any], node: ast.Import) -> Iterator[Finding]:
    for alias in node.names:
        yield from _module(subject, site, 0, alias.name)


def _module(subject: Subject, site: Site[Any], level: int, name: str) -> Iterator[Finding]:
    target = _target(subject, level, name)
    if target.kind is not Kind.MISSING or _is_built_later(subject, level, name):
        return
    if not level and subject.ignored.covers(f"{name.replace('.', '/')}.py"):
        return
    if not level and _is_made_up(subject, name):
        return
    if not _may_appear(subject, level, name):
        shown = "." * level + name
        message = f"module `{shown}` is not in the tree"
        path, quiet = subject.file.source.path, bool(site.guard & _TOLERATED)
        yield finding(path, site.node, MODULE, message, shown, warns=quiet)


def _from(subject: Subject, site: Site[Any], node: ast.ImportFrom) -> Iterator[Finding]:
    path, name = subject.file.source.path, node.module or ""
    target = _target(subject, node.level, name)
    if target.kind is Kind.MISSING:
        yield from _module(subject, site, node.level, name)
    if target.kind not in (Kind.FILE, Kind.FOLDER) or target.path == path:
        return
    typing = bool(site.guard & tolerance.TYPING)
    for alias in node.names:
        if alias.name == "*":
            continue
        if subject.resolver.symbol(target, alias.name, runtime=not typing) is None:
            if not node.level and _is_made_up(subject, name):
                return
            shown = f"{'.' * node.level}{name}.{alias.name}"
            message = f"`{'.' * node.level}{name}` does not define `{alias.name}`"
            quiet = bool(site.guard & _TOLERATED)
            yield finding(path, site.node, SYMBOL, message, shown, warns=quiet)


def _by_name(subject: Subject, call: Site[ast.Call]) -> Iterator[Finding]:
    """`import_module("a.b")` and `importorskip("a.b")`; private modules may be compiled ones."""
    first = call.node.args[0] if call.node.args else None
    name = first.value if isinstance(first, ast.Constant) else None
    if dotted(value_term(call.node.func)).rpartition(".")[2] not in _IMPORTERS:
        return
    if isinstance(name, str) and name[:1] != "." and "._" not in name:
        yield from _module(subject, call, 0, name)


def _attribute(subject: Subject, site: Site[Any], node: ast.Attribute) -> Iterator[Finding]:
    found = subject.file.type_of(node.value, site.scope)
    if not found or any(value.sort is not Sort.MODULE for value in found):
        return
    if any(subject.resolver.attribute(value, node.attr) is not None for value in found):
        return
    if subject.table.is_loose(node.attr, in_tests=is_test(subject.file.source.path)):
        return
    record = subject.table.record(found[0].path)
    if record is not None and record.served is not None:
        return  # an environment flag, which has a check of its own
    name = subject.table.modules.name_of(found[0].path)
    message = f"module `{name}` has no attribute `{node.attr}`"
    yield finding(subject.file.source.path, node, ATTRIBUTE, message, f"{name}.{node.attr}")


def _target(subject: Subject, level: int, name: str) -> Target:
    return subject.table.modules.find(subject.file.source.path, level, name)


def _is_made_up(subject: Subject, name: str) -> bool:
    """True for a module that the file, or a conftest above it, puts into `sys.modules`."""
    made = {name for read in subject.surroundings() for name in stand_ins(read.source)}
    return any(name == each or name.startswith(f"{each}.") for each in made)


def _is_built_later(subject: Subject, level: int, name: str) -> bool:
    """True for a module that is made at build time: the pristine tree has it neither, and
    files that the stack leaves alone import it all the same."""
    path = subject.file.source.path
    if subject.before is not None:
        if subject.before.modules.find(path, level, name).kind is not Kind.MISSING:
            return False
    elif level:
        return False
    for other in subject.table.mentioning(name.rpartition(".")[2]):
        record = None if other == path or other in subject.touched else subject.table.record(other)
        if record is not None and any(_means(i, name) for i in record.imports):
            return True
    return False


def _means(imported: tuple[int, str, tuple[str, ...]], name: str) -> bool:
    level, module, symbols = imported
    package, _, last = name.rpartition(".")
    return not level and (module == name or (module == package and last in symbols))


def _may_appear(subject: Subject, level: int, name: str) -> bool:
    """True where the package of a missing module makes its modules itself."""
    while "." in name:
        name = name.rpartition(".")[0]
        target = _target(subject, level, name)
        if target.kind is Kind.FILE:
            record = subject.table.record(target.path)
            return record is None or record.open or "__path__" in record.names
        if target.kind is not Kind.MISSING:
            return target.kind is Kind.COMPILED
    return False
