"""Calls that do not go with whether what they call is a coroutine function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit import tolerance
from backport.audit.checks.unpacking import overrides
from backport.audit.functions import Definition
from backport.audit.paths import is_test
from backport.audit.records import Function
from backport.audit.returned import own_nodes
from backport.audit.source import Source
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import NONE, Term, dotted
from backport.audit.values import Sort, Type, Value, present
from backport.core.outcomes import Finding

DROPPED = Rule(
    "never-awaited",
    "a coroutine function is called as if it gave its result: nothing of it runs",
    "await the call, or carry the change that makes the function a plain one",
)
PLAIN = Rule(
    "awaited-result",
    "what is awaited is the plain result of a function that is no coroutine function",
    "take the `await` away, or carry the change that makes it a coroutine function",
)

_QUIET = tolerance.CALLS | tolerance.VERSION | tolerance.TYPING
_KEEPING = frozenset({"staticmethod", "classmethod", "override", "abstractmethod"})
"""Decorators after which a function is as much of a coroutine function as it was."""

_VALUES = frozenset({"int", "str", "bool", "float", "bytes", "Tensor"})
_VALUES |= frozenset({"dict", "list", "tuple", "set", "Dict", "List", "Tuple", "Set"})
"""What can never be awaited."""

_OF_COROUTINES = frozenset({"close", "send", "throw"})


def check(subject: Subject) -> Iterator[Finding]:
    """Calls in one file that lack an `await`, or have one too many; not in tests, where what is
    called may be a mock."""
    source = subject.file.source
    if is_test(source.path):
        return
    awaited, used = source.awaited, _used(source)
    concerned = awaited | used
    for site in source.calls:
        node = site.node
        if site.guard & _QUIET or source.is_excused(node) or node not in concerned:
            continue
        found = present(subject.file.type_of(node.func, site.scope))
        if not found or any(_is_replaced(subject, value) for value in found):
            continue
        name = found[0].name
        if node in used and _all_coroutines(subject, found):
            message = f"`{name}` is a coroutine function, and its call is not awaited"
            yield finding(source.path, node, DROPPED, message, name)
        elif node in awaited and _none_awaitable(subject, found):
            message = f"`{name}` is no coroutine function, and its result is awaited"
            yield finding(source.path, node, PLAIN, message, name)


CHECK = Check(check, (DROPPED, PLAIN))


def _used(source: Source) -> set[ast.expr]:
    """The expressions that a file drops, or takes for a value that no coroutine is."""
    read = (site.node for site in source.attributes if site.node.attr not in _OF_COROUTINES)
    unpacked = (site.node.value for site in source.unpackings)
    return {*source.dropped, *(node.value for node in read), *unpacked}


def _all_coroutines(subject: Subject, found: Type) -> bool:
    """True where all that may be called are coroutine functions."""
    every = _every(subject, found)
    return all(f is not None and f.asynchronous for f in map(_function, every)) and not any(
        _is_generator(subject.definition(value)) for value in every
    )


def _none_awaitable(subject: Subject, found: Type) -> bool:
    """True where all that may be called give what cannot be awaited."""
    return all(_gives_value(subject, value) for value in _every(subject, found))


def _every(subject: Subject, found: Type) -> list[Value | None]:
    """What may be called, with the versions of it in the classes below."""
    return [*found, *(other for value in found for other in overrides(subject, value))]


def _function(value: Value | None) -> Function | None:
    """The function that is called as it is written; None where a decorator may change it."""
    function = value.function if value is not None and value.sort is Sort.FUNCTION else None
    last = {dotted(d).rpartition(".")[2] for d in function.decorators} if function else set()
    return function if last <= _KEEPING else None


def _is_replaced(subject: Subject, value: Value) -> bool:
    """True where some code outside of tests puts something in the place of the function."""
    name = value.name.rpartition(".")[2]
    return any(True for _ in subject.table.given(name))


def _gives_value(subject: Subject, value: Value | None) -> bool:
    function = _function(value)
    if function is None or function.asynchronous:
        return False
    returns = function.returns
    is_generic = isinstance(returns, tuple) and returns[0] == "[]"
    base: Term = returns[1] if is_generic else returns  # type: ignore[assignment, index]
    if dotted(base).rpartition(".")[2] in _VALUES:
        return True
    node = subject.definition(value) if returns in (None, NONE) else None
    return node is not None and not _is_stub(node) and _returns_nothing(node)


def _is_stub(node: Definition) -> bool:
    """True for a body that is there to be replaced: a text, `pass`, or a failure."""
    return all(
        isinstance(n, ast.Pass | ast.Raise)
        or (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
        for n in node.body
    )


def _returns_nothing(node: Definition) -> bool:
    """True where no `return` gives a value, and no `yield` makes a generator of it."""
    return not any(
        isinstance(n, ast.Yield | ast.YieldFrom) or (isinstance(n, ast.Return) and _value(n))
        for n in own_nodes(node)
    )


def _value(node: ast.Return) -> ast.expr | None:
    is_none = isinstance(node.value, ast.Constant) and node.value.value is None
    return None if is_none else node.value


def _is_generator(node: Definition | None) -> bool:
    """True for one, and where the body is not at hand."""
    return node is None or any(isinstance(n, ast.Yield | ast.YieldFrom) for n in own_nodes(node))
