"""Parts of the standard library that the oldest supported Python does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit import tolerance
from backport.audit.stdlib import MODULES, SYMBOLS
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.values import Sort
from backport.core.outcomes import Finding

NEWER = Rule(
    "newer-stdlib",
    "a part of the standard library is used that the oldest supported Python lacks",
    "use what that Python has, or guard the use by version or by `except ImportError`",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Uses in one file of what came after the tree's minimum Python."""
    minimum = subject.minimum
    if minimum is None:
        return
    source = subject.file.source
    for node, name in _used(subject):
        since = MODULES.get(name) or SYMBOLS.get(name)
        if since is not None and since > minimum:
            shown = name.removeprefix("builtins.")
            versions = [".".join(map(str, version)) for version in (since, minimum)]
            message = f"`{shown}` is new in Python {versions[0]}, the tree supports {versions[1]}"
            yield finding(source.path, node, NEWER, message, shown)


def needs(subject: Subject) -> str:
    return "" if subject.minimum is not None else "the tree does not say which Python it requires"


CHECK = Check(check, (NEWER,), needs=needs)

_GUARDED = (
    tolerance.IMPORTS
    | tolerance.ATTRIBUTES
    | tolerance.NAMES
    | tolerance.VERSION
    | tolerance.TYPING
)
_LAST = frozenset(name.rpartition(".")[2] for name in SYMBOLS)


def _used(subject: Subject) -> Iterator[tuple[ast.AST, str]]:
    """What a file uses of other projects, by dotted name, where nothing guards the use."""
    source = subject.file.source
    for site in source.imports:
        if not site.guard & _GUARDED:
            yield from ((site.node, name) for name in _imported(site.node))
    for read in source.attributes:
        if read.node.attr in _LAST and not read.guard & _GUARDED:
            found = subject.file.type_of(read.node, read.scope)
            yield from ((read.node, v.name) for v in found if v.sort is Sort.EXTERNAL)
    for bare in source.names:
        name = bare.node.id
        if name in _LAST and not bare.guard & _GUARDED and bare.scope.holder(name) is None:
            yield bare.node, f"builtins.{name}"


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The dotted names of the modules and symbols that an import asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        return []
    return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
