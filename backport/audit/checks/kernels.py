"""Globals that a Triton kernel reads and that are no `tl.constexpr`: it does not compile."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.checks.launches import is_kernel
from backport.audit.facts import import_binding
from backport.audit.functions import Definition, decorator_term
from backport.audit.modules import Kind
from backport.audit.scopes import Bind
from backport.audit.scoping import Places
from backport.audit.subject import Check, Rule, Subject, finding
from backport.core.outcomes import Finding

GLOBAL = Rule(
    "kernel-global",
    "a Triton kernel reads a global that is no `tl.constexpr`, which its compiler refuses",
    "wrap the value in `tl.constexpr(...)` where it is defined, or pass it to the kernel",
)

_FAR = 3
"""So many imports are followed to where a global is defined."""


def check(subject: Subject) -> Iterator[Finding]:
    """Reads in the kernels of one file of globals that are written out as plain values."""
    source = subject.file.source
    kernels = {node for node in source.scopes if isinstance(node, Definition) and _is_kernel(node)}
    for site in source.names if kernels else ():
        function, name = site.scope.function, site.node.id
        holder = site.scope.holder(name) if function and function.node in kernels else None
        if function is None or holder is None or holder.kind != "module":
            continue
        if _is_plain(subject, subject.file, name, _FAR) and not source.is_excused(site.node):
            kernel = function.node.name  # type: ignore[attr-defined]
            message = f"kernel `{kernel}` reads `{name}`, which is no `tl.constexpr`"
            yield finding(source.path, site.node, GLOBAL, message, f"{kernel}({name})")


CHECK = Check(check, (GLOBAL,))


def _is_kernel(node: Definition) -> bool:
    return is_kernel(tuple(decorator_term(decorator) for decorator in node.decorator_list))


def _is_plain(subject: Subject, places: Places, name: str, far: int) -> bool:
    """True for a global of a file that nothing but plain values are ever bound to."""
    binds = places.source.scope.binds.get(name, ())
    return bool(binds) and all(_binds_plain(subject, places, name, bind, far) for bind in binds)


def _binds_plain(subject: Subject, places: Places, name: str, bind: Bind, far: int) -> bool:
    if bind.form == "import" and isinstance(bind.source, ast.ImportFrom) and far:
        imported = dict(import_binding(bind.source, alias) for alias in bind.source.names)
        level, module, symbol = imported[name]
        target = subject.table.modules.find(places.source.path, level, module)
        read = subject.read(target.path) if target.kind is Kind.FILE else None
        return read is not None and symbol is not None and _is_plain(subject, read, symbol, far - 1)
    return bind.form == "assign" and _is_literal(bind.source)


def _is_literal(node: ast.AST | None) -> bool:
    """True for numbers, texts and what operators, lists and tuples make of them."""
    parts = list(ast.walk(node)) if node is not None else []
    return bool(parts) and all(isinstance(part, _LITERAL) for part in parts)


_OPERATORS = (ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
_LITERAL = (ast.Constant, ast.Tuple, ast.List, ast.expr_context, *_OPERATORS)
