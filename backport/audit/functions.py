"""The record of one function or method: its signature and what its body reveals."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.records import (
    EITHER,
    KEYWORD,
    KEYWORDS,
    MAKES_SAME,
    POSITIONAL,
    SAME,
    VARIADIC,
    Function,
    Parameter,
)
from backport.audit.terms import Term, annotation_term, dotted, instance, value_term

Definition = ast.FunctionDef | ast.AsyncFunctionDef

_REBINDING = frozenset({"__init__", "__new__", "__call__", "forward"})


def signature(node: Definition | ast.Lambda) -> tuple[Parameter, ...]:
    """The parameters of a function in the order of its signature."""
    return tuple(_parameters(node.args))


def function_record(
    node: Definition, returns: list[ast.Return], nested: dict[str, Function], rebinds: set[str]
) -> Function:
    """The record of a function, given its `return` statements, the functions defined
    in it and the attributes that it assigns on other objects."""
    parameters = signature(node)
    return Function(
        node.name,
        node.lineno,
        parameters,
        annotation_term(node.returns),
        tuple(decorator_term(decorator) for decorator in node.decorator_list),
        isinstance(node, ast.AsyncFunctionDef),
        _arity(returns),
        0 if rebinds & _REBINDING else _passes(parameters, returns, nested),
        _made(returns, {p.name for p in parameters}),
    )


def decorator_term(node: ast.expr) -> Term:
    """What a decorator names, called or not."""
    return value_term(node.func if isinstance(node, ast.Call) else node)


def parameter_terms(parameters: tuple[Parameter, ...]) -> dict[str, Term]:
    """What each parameter stands for inside the function."""
    plain = (POSITIONAL, EITHER, KEYWORD)
    return {p.name: instance(p.annotation) if p.kind in plain else None for p in parameters}


def _parameters(args: ast.arguments) -> Iterator[Parameter]:
    positional = [(arg, POSITIONAL) for arg in args.posonlyargs]
    positional += [(arg, EITHER) for arg in args.args]
    required = len(positional) - len(args.defaults)
    for place, (arg, kind) in enumerate(positional):
        default = args.defaults[place - required] if place >= required else None
        yield _parameter(arg, kind, default)
    if args.vararg:
        yield _parameter(args.vararg, VARIADIC, None)
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(arg, KEYWORD, default)
    if args.kwarg:
        yield _parameter(args.kwarg, KEYWORDS, None)


def _parameter(arg: ast.arg, kind: int, default: ast.expr | None) -> Parameter:
    annotation = annotation_term(arg.annotation)
    return Parameter(arg.arg, kind, None if default is None else _short(default), annotation)


def _short(node: ast.expr) -> str:
    """A constant's text, so that two defaults can be compared; `...` for the rest."""
    if isinstance(node, ast.Constant):
        return repr(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return ast.unparse(node)
    return "..."


def _arity(returns: list[ast.Return]) -> int:
    lengths = {_length(node.value) for node in returns}
    return lengths.pop() if len(lengths) == 1 else 0


def _length(node: ast.expr | None) -> int:
    if not isinstance(node, ast.Tuple) or any(isinstance(e, ast.Starred) for e in node.elts):
        return 0
    return len(node.elts)


def _made(returns: list[ast.Return], parameters: set[str]) -> Term:
    """What all returns call; not what a parameter is, which only the caller knows."""
    values = [node.value for node in returns]
    called = {value_term(v.func) if isinstance(v, ast.Call) else None for v in values}
    made = called.pop() if len(called) == 1 else None
    return made if dotted(made).partition(".")[0] not in {"", *parameters} else None


def _passes(
    parameters: tuple[Parameter, ...], returns: list[ast.Return], nested: dict[str, Function]
) -> int:
    """How the function hands on what it decorates; 0 when one `return` does otherwise."""
    names = [p.name for p in parameters if p.name not in ("self", "cls") or len(parameters) == 1]
    makers = {name for name, function in nested.items() if function.passes & SAME}
    found = 0
    for node in returns:
        value = node.value
        called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
        name = value.func.id if called else getattr(value, "id", "")  # type: ignore[union-attr]
        if name in makers:
            found |= SAME if called else MAKES_SAME
        elif names and name == names[0] and not called:
            found |= SAME
        else:
            return 0
    return found
