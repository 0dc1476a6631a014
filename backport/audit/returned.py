"""How many values a function is sure to return: 0 for nothing, None where that is open."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.functions import Definition
from backport.audit.records import Function
from backport.audit.terms import NONE, dotted

_TUPLES = frozenset({"tuple", "Tuple"})
_SINGLE = frozenset({"Tensor", "int", "bool", "float"})


def declared(function: Function) -> int | None:
    """The number that the annotation tells."""
    term = function.returns
    if term == NONE:
        return 0
    if isinstance(term, tuple) and term[0] == "[]":
        _, base, *parts = term
        known = dotted(base).rpartition(".")[2] in _TUPLES and None not in parts  # type: ignore[arg-type]
        return len(parts) if known else None
    return 1 if dotted(term).rpartition(".")[2] in _SINGLE else None


def observed(function: Function, node: Definition) -> int | None:
    """The number that the body gives, where the annotation says nothing against it."""
    if function.arity:
        return function.arity
    returns = [n for n in own_nodes(node) if isinstance(n, ast.Return)]
    values = [n.value for n in returns if not _is_none(n.value)]
    if not values:
        return None if _ends_otherwise(node) else 0
    sure = declared(function) == 1 and len(values) == len(returns)
    return 1 if sure and not any(isinstance(value, ast.Tuple) for value in values) else None


def own_nodes(node: Definition | ast.Module) -> Iterator[ast.AST]:
    """The nodes of the body of a function or module, without those of the functions in it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        found = waiting.pop()
        yield found
        if not isinstance(found, Definition | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(found)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _ends_otherwise(node: Definition) -> bool:
    """True for a generator, and for a body that raises instead of coming to its end."""
    return any(isinstance(n, ast.Raise | ast.Yield | ast.YieldFrom) for n in own_nodes(node))
