"""How each form of term is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from backport.audit.records import Function
from backport.audit.terms import Term, dotted
from backport.audit.values import NONE, UNKNOWN, Sort, Type, Value, either, present

if TYPE_CHECKING:
    from backport.audit.resolve import Env, Resolver

_SEQUENCES = frozenset(
    {"list", "List", "tuple", "Tuple", "set", "Set", "frozenset", "deque", "Sequence"}
    | {"Iterable", "Iterator", "Collection", "MutableSequence", "Generator"}
)
_CLASSES = frozenset({"type", "Type"})
_AWAITED = frozenset({"Awaitable", "Coroutine"})


def evaluate_form(resolver: Resolver, term: tuple[Any, ...], env: Env) -> Type:
    """Every value that a compound term can have."""
    return _FORMS[term[0]](resolver, term, env)


def annotated(resolver: Resolver, annotation: Term, env: Env) -> Type:
    """The values of something with this annotation."""
    if annotation is None:
        return UNKNOWN
    if not isinstance(annotation, str):
        kind, *parts = annotation
        if kind == "none":
            return (NONE,)
        if kind == "|":
            return either([annotated(resolver, part, env) for part in parts])  # type: ignore[arg-type]
        if kind == "[]":
            return _generic(resolver, parts, env)
    if dotted(annotation).rpartition(".")[2] == "Self":
        return (env.instance,) if env.instance else UNKNOWN
    found = resolver.evaluate(annotation, env)
    return either([_instance(resolver, value) for value in found]) if found else UNKNOWN


def result(resolver: Resolver, callee: Value, *, awaited: bool = False) -> Type:
    """What calling a value gives."""
    if callee.sort is Sort.CLASS:
        return (callee.as_instance(),)
    if callee.sort is Sort.FUNCTION and callee.function is not None:
        if callee.function.asynchronous != awaited or not _is_plain(callee.function):
            return UNKNOWN
        return resolver.annotated_in(callee, callee.function.returns)
    return UNKNOWN


def _is_plain(function: Function) -> bool:
    """True where the decorators leave the return type alone, as far as names tell."""
    last = {dotted(d).rpartition(".")[2] for d in function.decorators}
    return not last & {"contextmanager", "asynccontextmanager", ""}


def _generic(resolver: Resolver, parts: list[Any], env: Env) -> Type:
    base, *arguments = parts
    last = dotted(base).rpartition(".")[2]
    if last in _CLASSES and arguments:
        return tuple(v.as_class() for v in annotated(resolver, arguments[0], env) if v.cls)
    if last in _SEQUENCES:
        same = last not in ("tuple", "Tuple") or len(set(arguments) - {None}) == 1
        items = annotated(resolver, arguments[0], env) if arguments and same else UNKNOWN
        return (Value(Sort.CONTAINER, items=items),) if items else UNKNOWN
    if last in _AWAITED:
        return UNKNOWN
    found = resolver.evaluate(base, env)
    return either([_instance(resolver, value) for value in found]) if found else UNKNOWN


def _instance(resolver: Resolver, value: Value) -> Type:
    """An instance of a class; what fits a protocol may be of any class, and so may what fits
    one and a base: `class Both(Module, Protocol): ...` is there for annotations alone."""
    if value.sort is not Sort.CLASS or value.cls is None:
        return UNKNOWN
    related = [value] if value.cls.members else resolver.classes.chain(value).classes
    bases = {dotted(base).rpartition(".")[2] for cls in related for base in cls.record.bases}
    return UNKNOWN if "Protocol" in bases else (value.as_instance(),)


def _attribute(resolver: Resolver, term: tuple[Any, ...], env: Env) -> Type:
    found = present(resolver.evaluate(term[1], env))
    return either([resolver.attribute(value, term[2]) or UNKNOWN for value in found])


def _call(resolver: Resolver, term: tuple[Any, ...], env: Env) -> Type:
    found = present(resolver.evaluate(term[1], env))
    return either([result(resolver, value) for value in found])


def _await(resolver: Resolver, term: tuple[Any, ...], env: Env) -> Type:
    inner = term[1]
    if not isinstance(inner, tuple) or inner[0] != "()":
        return UNKNOWN
    found = present(resolver.evaluate(inner[1], env))
    return either([result(resolver, value, awaited=True) for value in found])


def _item(resolver: Resolver, term: tuple[Any, ...], env: Env) -> Type:
    found = present(resolver.evaluate(term[1], env))
    return either([value.items for value in found])


def _union(resolver: Resolver, term: tuple[Any, ...], env: Env) -> Type:
    return either([resolver.evaluate(part, env) for part in term[1:]])


def _self(_: Resolver, __: tuple[Any, ...], env: Env) -> Type:
    return (env.instance,) if env.instance else UNKNOWN


def _super(_: Resolver, __: tuple[Any, ...], env: Env) -> Type:
    own = env.instance
    if own is None:
        return UNKNOWN
    return (Value(Sort.SUPER, own.path, own.name, own.line, cls=own.cls),)


_FORMS: dict[str, Callable[[Resolver, tuple[Any, ...], Env], Type]] = {
    ".": _attribute,
    "()": _call,
    "@": lambda resolver, term, env: annotated(resolver, term[1], env),
    "[]": lambda *_: UNKNOWN,
    "item": _item,
    "|": _union,
    "await": _await,
    "self": _self,
    "super": _super,
    "none": lambda *_: (NONE,),
    "import": lambda resolver, term, env: resolver.imported(env.path, *term[1:]),
}
