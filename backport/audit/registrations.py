"""Custom-op registrations in Python source, by the helpers that make them.

The names below are the only ones that the audit takes from a project or from
torch: everything else it reads off the tree.
"""

from __future__ import annotations

import ast

from backport.audit.functions import Definition
from backport.audit.records import Registration
from backport.audit.terms import Term, dotted, value_term

DIRECT = frozenset({"direct_register_custom_op"})
"""Helpers called with an op's name, implementation and fake."""
_DIRECT_SHAPE = {"op_name", "op_func"}
DECORATORS = frozenset({"custom_op", "triton_op"})
"""Decorators (with an op's full name) that define an op by its implementation."""
FAKES = frozenset({"register_fake", "impl_abstract", "_register_fake"})
IMPLEMENTATIONS = frozenset({"impl", "register_kernel"})
DEFINITIONS = frozenset({"define", "def_"})

LIBRARIES = frozenset({"Library"})
"""Classes whose objects hold the ops of the library that their first argument names."""

HELPERS = DIRECT | DECORATORS | FAKES | IMPLEMENTATIONS | DEFINITIONS | LIBRARIES


def helper_of(call: ast.expr | None) -> str:
    """The last name of a called helper, the empty string for any other call."""
    if not isinstance(call, ast.Call):
        return ""
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", "")
    if name not in HELPERS and {k.arg for k in call.keywords} >= _DIRECT_SHAPE:
        return next(iter(DIRECT))  # the helper under a name of the project's own
    return name if name in HELPERS else ""


def called(call: ast.Call, guard: int, bound: str) -> Registration | None:
    """The registration that a call makes whose result is bound to a name (or to none)."""
    helper = helper_of(call)
    if helper in DIRECT:
        return _direct(call, guard)
    if helper in LIBRARIES:
        name, *kinds = [_text(arg) for arg in call.args] or [None]
        if not set(kinds) & {"DEF", "FRAGMENT"}:
            return None
        return Registration("library", name, bound, None, None, None, guard, call.lineno)
    texts = [_text(arg) for arg in call.args]
    library, op = _target(call, texts)
    if not op:
        return None
    rest = call.args[texts.index(next(filter(None, texts))) + 1 :]
    if helper in DEFINITIONS:
        name, schema = _schema(op, texts)
        return Registration("define", library, name, schema, None, None, guard, call.lineno)
    if helper in FAKES and rest:
        fake = value_term(rest[0])
        return Registration("fake", library, op, None, None, fake, guard, call.lineno)
    if helper in IMPLEMENTATIONS and rest:
        implementation = value_term(rest[0])
        return Registration("impl", library, op, None, implementation, None, guard, call.lineno)
    return None


def decorated(node: Definition, guard: int) -> list[Registration]:
    """The registrations that the decorators of a function make."""
    return [r for d in node.decorator_list if (r := _decorator(node, d, guard)) is not None]


def _direct(call: ast.Call, guard: int) -> Registration:
    given = {k.arg: k.value for k in call.keywords if k.arg}
    given |= dict(zip(("op_name", "op_func", "mutates_args", "fake_impl"), call.args, strict=False))
    op, library = _text(given.get("op_name")) or "", dotted(value_term(given.get("target_lib")))
    implementation, fake = (value_term(given.get(name)) for name in ("op_func", "fake_impl"))
    owner = f"${library}" if library else None
    mutates = _texts(given.get("mutates_args"))
    return Registration("both", owner, op, None, implementation, fake, guard, call.lineno, mutates)


def _decorator(node: Definition, decorator: ast.expr, guard: int) -> Registration | None:
    helper = helper_of(decorator)
    if isinstance(decorator, ast.Attribute) and decorator.attr in FAKES:
        owner = dotted(value_term(decorator.value))  # @op.register_fake: the op is a function
        return Registration("fake", None, owner, None, None, node.name, guard, node.lineno)
    if not isinstance(decorator, ast.Call) or not helper:
        return None
    library, op = _target(decorator, [_text(arg) for arg in decorator.args])
    if not op:
        return None
    role = "define" if helper in DECORATORS else "fake" if helper in FAKES else "impl"
    implementation: Term = None if role == "fake" else node.name
    fake: Term = node.name if role == "fake" else None
    mutates = _mutated(decorator) if role == "define" else ()
    return Registration(role, library, op, None, implementation, fake, guard, node.lineno, mutates)


def _mutated(decorator: ast.Call) -> tuple[str, ...]:
    """What a decorator says that the op writes to, where no schema says it."""
    given = {k.arg: k.value for k in decorator.keywords}
    return () if "schema" in given else _texts(given.get("mutates_args"))


def _target(call: ast.Call, texts: list[str | None]) -> tuple[str | None, str]:
    """The library and the op that a call names: "library::op", or "op" of a library object,
    whose name is given with a `$` before it."""
    named = next(filter(None, texts), "")
    named = named or next((_text(k.value) or "" for k in call.keywords if k.arg == "name"), "")
    library, found, op = named.partition("::")
    if found:
        return library, op
    owner = dotted(value_term(call.func.value)) if isinstance(call.func, ast.Attribute) else ""
    return f"${owner}" if owner else None, named


def _schema(op: str, texts: list[str | None]) -> tuple[str, str | None]:
    name, found, _ = op.partition("(")
    if found:
        return name.strip(), op
    given = [text for text in texts if text and text.lstrip().startswith("(")]
    return op, f"{op}{given[0]}" if given else None


def _texts(node: ast.expr | None) -> tuple[str, ...]:
    """The texts in a literal list; one text alone, as in "unknown", is none."""
    return tuple(text for part in getattr(node, "elts", ()) if (text := _text(part)))


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
