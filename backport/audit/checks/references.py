"""Strings that name modules and classes of the tree, as registries of lazy imports do.

Nothing resolves them before the entry is used, so a module that a release renamed
fails only when its model is loaded.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from backport.audit.modules import Kind, Target
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.values import Sort
from backport.core.outcomes import Finding

UNRESOLVED = Rule(
    "unresolved-reference",
    "a string names a module or symbol of the tree that is not there",
    "carry what it names, or name what the target has in its place",
)

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}(?::[A-Za-z_]\w*)?")
_MANY = _FEW = 5
"""A dict of so many pairs, of which all but a fifth resolve in one package, is a registry."""


def check(subject: Subject) -> Iterator[Finding]:
    """References in the strings of one file that do not resolve."""
    source = subject.file.source
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if _DOTTED.fullmatch(node.value):
                yield from _reference(subject, node, node.value)
        elif isinstance(node, ast.Dict) and len(node.keys) >= _MANY:
            yield from _registry(subject, node)


CHECK = Check(check, (UNRESOLVED,))


def _reference(subject: Subject, node: ast.Constant, text: str) -> Iterator[Finding]:
    """`package.module.Class` or `package.module:Class`, where the package is the tree's own."""
    parts = text.replace(":", ".").split(".")
    if not parts[-1][:1].isupper():
        return  # a logger's name, a key, a module: nothing says that it is a class
    target = _module(subject, ".".join(parts[:-1]))
    if target.kind is Kind.FILE:
        missing = subject.resolver.member(target.path, parts[-1], runtime=False) is None
    elif target.kind is Kind.MISSING:
        missing = _module(subject, parts[0]).kind is Kind.FILE and not _is_attribute(subject, parts)
    else:
        return
    if missing:
        message = f"`{text}` names nothing in the tree"
        yield finding(subject.file.source.path, node, UNRESOLVED, message, text)


def _is_attribute(subject: Subject, parts: list[str]) -> bool:
    """True where a shorter prefix is a module whose symbol the rest goes into."""
    for size in range(len(parts) - 2, 0, -1):
        target = _module(subject, ".".join(parts[:size]))
        if target.kind is not Kind.FILE:
            continue
        found = subject.resolver.member(target.path, parts[size], runtime=False)
        return found is not None and not any(value.sort is Sort.MODULE for value in found)
    return False


def _registry(subject: Subject, node: ast.Dict) -> Iterator[Finding]:
    """A dict of (module, class) pairs that nearly all resolve in one package."""
    pairs = [pair for value in node.values if (pair := _pair(value)) is not None]
    if len(pairs) < max(_MANY, len(node.values) - len(node.values) // _FEW):
        return
    package = _package(subject, {module for _, module, _ in pairs})
    if package is None:
        return
    faults = [pair for pair in pairs if not _resolves(subject, package, *pair[1:])]
    if len(faults) * _FEW > len(pairs):
        return
    for value, module, name in faults:
        message = f"`{module}`, `{name}` names nothing in `{package.rstrip('/')}`"
        path = subject.file.source.path
        yield finding(path, value, UNRESOLVED, message, f"{module}.{name}")


def _pair(node: ast.expr) -> tuple[ast.expr, str, str] | None:
    elements = getattr(node, "elts", ())
    texts = [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    if len(elements) != 2 or len(texts) != 2 or not texts[1].isidentifier():
        return None
    return node, texts[0], texts[1]


def _package(subject: Subject, modules: set[str]) -> str | None:
    """The folder that holds most of these modules."""
    short = {module.rpartition(".")[2] for module in modules}
    folders: Counter[str] = Counter()
    for path in subject.table.modules.paths:
        folder, _, file = path.rpartition("/")
        if file.endswith(".py") and file[:-3] in short:
            folders[f"{folder}/"] += 1
    best = folders.most_common(1)
    return best[0][0] if best and best[0][1] >= len(short) / 2 else None


def _resolves(subject: Subject, package: str, module: str, name: str) -> bool:
    target = _module(subject, module) if "." in module else None
    if target is None or target.kind is not Kind.FILE:
        target = subject.table.modules.submodule(package, module.replace(".", "/"))
    if target is None or target.kind is not Kind.FILE:
        return target is not None
    return subject.resolver.member(target.path, name, runtime=False) is not None


def _module(subject: Subject, name: str) -> Target:
    return subject.table.modules.find(subject.file.source.path, 0, name)
