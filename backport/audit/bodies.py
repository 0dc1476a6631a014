"""Function bodies, read for what outlives the call.

That is: attributes assigned on `self` (with what they are made of, where that can
be said), attributes assigned on anything else, lazy imports, registrations, and
the shape of what is returned.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from backport.audit.facts import ClassFacts, FileFacts, import_binding
from backport.audit.functions import Definition, decorator_term, function_record, parameter_terms
from backport.audit.guards import expects_failure
from backport.audit.records import CONDITIONAL, FALLIBLE, Function
from backport.audit.registrations import decorated
from backport.audit.terms import SELF, Term, annotation_term, dotted, instance, value_term

_Source: TypeAlias = "ast.expr | Term"


@dataclass(slots=True)
class Frame:
    """One function while its body is read."""

    file: FileFacts
    guard: int = 0
    cls: ClassFacts | None = None
    self_name: str = ""
    local: dict[str, list[_Source]] = field(default_factory=dict)
    pending: list[tuple[str, _Source, bool]] = field(default_factory=list)
    returns: list[ast.Return] = field(default_factory=list)
    nested: dict[str, Function] = field(default_factory=dict)
    rebinds: set[str] = field(default_factory=set)

    def bind(self, name: str, source: _Source) -> None:
        self.local.setdefault(name, []).append(source)


def read_function(
    node: Definition,
    file: FileFacts,
    guard: int,
    cls: ClassFacts | None,
    outer: Frame | None = None,
) -> Function:
    """The record of a function; what its body assigns goes to `file` and `cls`."""
    frame = Frame(file, guard & ~CONDITIONAL if outer is None else guard, cls)
    frame.self_name = _self_name(node, cls, outer)
    walk(node.body, frame)
    function = function_record(node, frame.returns, frame.nested, frame.rebinds)
    if frame.pending:
        _settle(frame, function, outer)
    if outer is not None:
        outer.rebinds |= frame.rebinds
    file.registrations += decorated(node, guard)
    return function


def walk(body: Iterable[ast.stmt], frame: Frame) -> None:
    """Read every statement of a body, nested blocks included."""
    for node in body:
        _STATEMENTS.get(type(node), _other)(node, frame)


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """What a loop, a `with` or an augmented assignment binds."""
    if isinstance(node, ast.For | ast.AsyncFor | ast.AugAssign):
        yield node.target
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.optional_vars for item in node.items if item.optional_vars)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements directly inside a statement."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _self_name(node: Definition, cls: ClassFacts | None, outer: Frame | None) -> str:
    arguments = node.args.posonlyargs + node.args.args
    if outer is not None:
        shadowed = any(arg.arg == outer.self_name for arg in arguments)
        return "" if shadowed else outer.self_name
    static = any(dotted(decorator_term(d)) == "staticmethod" for d in node.decorator_list)
    return arguments[0].arg if cls is not None and arguments and not static else ""


def _settle(frame: Frame, function: Function, outer: Frame | None) -> None:
    """Turn what was assigned to attributes into terms, now that all local names are known."""
    known: dict[str, Term] = dict.fromkeys(outer.local if outer else ())
    known |= parameter_terms(function.parameters)
    if frame.self_name:
        known[frame.self_name] = SELF
    parameters = set(known)
    known |= dict.fromkeys(frame.local)
    for name, sources in frame.local.items():
        if len(sources) == 1 and name not in parameters:
            known[name] = _term(sources[0], known)
    for name, source, on_self in frame.pending:
        if on_self and frame.cls is not None:
            frame.cls.assign(name, _term(source, known))
        else:
            frame.file.loosen(name, _loose(_term(source, known)))


def _loose(term: Term) -> Term:
    """What is given to an object of some class, where that can be told outside the method."""
    return None if "self" in str(term) else term


def _term(source: _Source, known: dict[str, Term]) -> Term:
    return value_term(source, known) if isinstance(source, ast.expr) else source


def _assign(target: ast.expr, source: _Source, frame: Frame) -> None:
    if isinstance(target, ast.Name):
        frame.bind(target.id, source)
    elif isinstance(target, ast.Attribute):
        if frame.self_name and getattr(target.value, "id", None) == frame.self_name:
            frame.pending.append((target.attr, source, True))
        else:
            frame.pending.append((target.attr, source, False))
            frame.rebinds.add(target.attr)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            _assign(element, None, frame)
    elif isinstance(target, ast.Starred):
        _assign(target.value, None, frame)


def _assignment(node: ast.Assign, frame: Frame) -> None:
    for target in node.targets:
        _assign(target, node.value, frame)
    frame.file.note_call(node.value, frame.guard, getattr(node.targets[0], "id", ""))


def _annotated(node: ast.AnnAssign, frame: Frame) -> None:
    _assign(node.target, instance(annotation_term(node.annotation)), frame)


def _expression(node: ast.Expr, frame: Frame) -> None:
    frame.file.note_call(node.value, frame.guard)


def _returned(node: ast.Return, frame: Frame) -> None:
    frame.returns.append(node)


def _imported(node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    frame.file.note_import(node)
    for alias in node.names:
        name, target = import_binding(node, alias)
        frame.bind(name, ("import", *target))


def _global(node: ast.Global, frame: Frame) -> None:
    frame.file.globals.update(node.names)


def _function(node: Definition, frame: Frame) -> None:
    frame.bind(node.name, None)
    frame.nested[node.name] = read_function(node, frame.file, frame.guard, frame.cls, frame)


def _class(node: ast.ClassDef, frame: Frame) -> None:
    """A class made by a function is out of the table's reach: its attributes are loose."""
    frame.bind(node.name, None)
    inner = Frame(frame.file, frame.guard)
    walk(node.body, inner)
    for name, _, _ in inner.pending:
        frame.file.loosen(name, None)


def _try(node: ast.Try | ast.TryStar, frame: Frame) -> None:
    before = frame.guard
    frame.guard |= FALLIBLE if expects_failure(node) else 0
    walk(node.body, frame)
    frame.guard = before
    for block in (*(handler.body for handler in node.handlers), node.orelse, node.finalbody):
        walk(block, frame)


def _branch(node: ast.stmt, frame: Frame) -> None:
    before = frame.guard
    frame.guard |= CONDITIONAL
    _other(node, frame)
    frame.guard = before


def _loop(node: ast.For, frame: Frame) -> None:
    for name in _named_in_turn(node):
        frame.file.loosen(name, None)
    _other(node, frame)


def _named_in_turn(node: ast.For) -> list[str]:
    """The attributes that `for name, value in (("a", x), ("b", y)): put(self, name, value)`
    gives to an object."""
    firsts = [getattr(e, "elts", [e])[:1] for e in getattr(node.iter, "elts", ())]
    texts = [getattr(first[0], "value", None) for first in firsts if first]
    names = [text for text in texts if isinstance(text, str) and text.isidentifier()]
    if not names:
        return []
    variable = getattr(getattr(node.target, "elts", [node.target])[0], "id", "")
    calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
    return names if any(_puts(call, variable) for call in calls) else []


def _puts(call: ast.Call, variable: str) -> bool:
    """True for `put(object, variable, value)`, whatever sets the attribute."""
    named = len(call.args) > 2 and getattr(call.args[1], "id", None) == variable
    return named and getattr(call.func, "id", "") not in ("getattr", "hasattr")


def _other(node: ast.stmt, frame: Frame) -> None:
    for target in targets(node):
        _assign(target, None, frame)
    for block in blocks(node):
        walk(block, frame)


_STATEMENTS: dict[type, Callable[..., None]] = {
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.Expr: _expression,
    ast.Return: _returned,
    ast.Global: _global,
    ast.Import: _imported,
    ast.ImportFrom: _imported,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Try: _try,
    ast.TryStar: _try,
    ast.If: _branch,
    ast.For: _loop,
    ast.While: _branch,
    ast.Match: _branch,
}
