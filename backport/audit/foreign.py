"""What a file uses of projects that are not the tree's own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from backport.audit import tolerance
from backport.audit.modules import Kind
from backport.audit.source import Site
from backport.audit.subject import Subject
from backport.audit.values import Sort

_GUARDED = (
    tolerance.IMPORTS
    | tolerance.ATTRIBUTES
    | tolerance.NAMES
    | tolerance.VERSION
    | tolerance.TYPING
)


def used(subject: Subject, is_wanted: Callable[[str], bool]) -> Iterator[tuple[ast.AST, str]]:
    """What a file uses of other projects and of Python, where nothing guards the use.

    Each use is told by its dotted name, an argument as `module.function(keyword=)`, and
    only where the last name is wanted.
    """
    source = subject.file.source
    for site in source.imports:
        if not site.guard & _GUARDED:
            wanted = (n for n in _imported(site.node) if is_wanted(n.rpartition(".")[2]))
            yield from ((site.node, name) for name in wanted if _is_foreign(subject, name))
    for read in source.attributes:
        if not read.guard & _GUARDED and is_wanted(read.node.attr):
            found = subject.file.type_of(read.node, read.scope)
            yield from ((read.node, v.name) for v in found if v.sort is Sort.EXTERNAL)
    for call in source.calls:
        if not call.guard & _GUARDED:
            yield from _keywords(subject, call, is_wanted)
    for bare in source.names:
        name = bare.node.id
        if not bare.guard & _GUARDED and is_wanted(name) and bare.scope.holder(name) is None:
            yield bare.node, f"builtins.{name}"


def _keywords(
    subject: Subject, call: Site[ast.Call], is_wanted: Callable[[str], bool]
) -> Iterator[tuple[ast.AST, str]]:
    for keyword in call.node.keywords:
        if keyword.arg is not None and is_wanted(keyword.arg):
            found = subject.file.type_of(call.node.func, call.scope)
            external = (v.name for v in found if v.sort is Sort.EXTERNAL)
            yield from ((keyword, f"{name}({keyword.arg}=)") for name in external)


def _is_foreign(subject: Subject, name: str) -> bool:
    root = name.partition(".")[0]
    return subject.table.modules.find(subject.file.source.path, 0, root).kind is Kind.EXTERNAL


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The dotted names of the modules and symbols that an import asks for."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        return []
    return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
