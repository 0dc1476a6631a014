"""Modules that a file makes up: what it puts into `sys.modules` may be imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.paths import is_test
from backport.audit.source import Source
from backport.audit.terms import dotted, value_term

_TAKING = frozenset({"pop", "get", "delitem", "__contains__"})


def stand_ins(source: Source) -> frozenset[str]:
    """The modules that the code of a file puts in place, by name. Where a test computes a
    name, any text of the file may be one; other code that does so loads what it is asked for."""
    keys = list(_keys(source.tree))
    names = {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    if not all(isinstance(key, ast.Constant) for key in keys) and is_test(source.path):
        names.update(_texts(source.tree))
    return frozenset(names)


def _keys(tree: ast.Module) -> Iterator[ast.expr | None]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            if isinstance(node.ctx, ast.Store) and _is_table(node.value):
                yield node.slice
        elif isinstance(node, ast.Call):
            function = node.func
            if getattr(function, "attr", "") in _TAKING:
                continue
            if _is_table(getattr(function, "value", None)):  # sys.modules.setdefault("a", m)
                yield from _given(node.args, node.keywords)
            elif node.args and _is_table(node.args[0]):  # setitem(sys.modules, "a", m)
                yield from _given(node.args[1:], node.keywords)


def _given(args: list[ast.expr], keywords: list[ast.keyword]) -> Iterator[ast.expr | None]:
    """The keys in the arguments of a call that adds to the table: a key, or a dict of them."""
    if args:
        yield from args[0].keys if isinstance(args[0], ast.Dict) else [args[0]]
    yield from (None for keyword in keywords if keyword.arg is None)
    yield from (ast.Constant(keyword.arg) for keyword in keywords if keyword.arg)


def _is_table(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == "sys.modules"  # patch.dict("sys.modules", ...)
    return isinstance(node, ast.expr) and dotted(value_term(node)) == "sys.modules"


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
