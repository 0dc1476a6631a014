"""Expressions cut down to what can be looked up later: names, attributes, calls.

A term is plain data (strings and tuples), so that it can be stored in a record
and evaluated long after its syntax tree is gone. What a term cannot say is
`None`: unknown, about which no check says anything.

    "name"                  a name, looked up where the term was written
    (".", term, name)       an attribute
    ("()", term)            the result of a call
    ("@", term)             an instance of what the annotation `term` names
    ("[]", term, *terms)    a generic alias in an annotation
    ("item", term)          one element of a container
    ("|", *terms)           one of these
    ("await", term)         the awaited result
    ("self",)  ("super",)   the instance a method works on, and its bases' view of it
    ("none",)               the constant None
    ("import", level, module, symbol)   what an import inside a function binds
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Term: TypeAlias = "str | tuple[object, ...] | None"

SELF: Term = ("self",)
SUPER: Term = ("super",)
NONE: Term = ("none",)

_OPAQUE_GENERICS = frozenset({"Literal"})
_FIRST_ARGUMENT = frozenset({"Annotated", "ClassVar", "Final", "InitVar", "Required"})


def value_term(node: ast.expr | None, local: Mapping[str, Term] | None = None) -> Term:
    """The term of an expression; `local` says what the names of a function stand for."""
    convert = _VALUE_FORMS.get(type(node))
    return convert(node, local or {}) if convert else None


def annotation_term(node: ast.expr | None) -> Term:
    """The term of an annotation, quoted or not: what it names, not an instance of it."""
    convert = _ANNOTATION_FORMS.get(type(node))
    return convert(node) if convert else None


def unquoted(node: ast.expr) -> ast.expr:
    """An annotation without the quotes around it; as it is where it has none, or is no code."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return node
    try:
        return ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return node


def instance(annotation: Term) -> Term:
    """The term of a value so annotated."""
    return None if annotation is None else ("@", annotation)


def union(terms: Sequence[Term]) -> Term:
    """One of these; unknown as soon as one of them is."""
    distinct = tuple(dict.fromkeys(terms))
    if not distinct or None in distinct:
        return None
    return distinct[0] if len(distinct) == 1 else ("|", *distinct)


def dotted(term: Term) -> str:
    """`a.b.c` for a term of names and attributes, else the empty string."""
    if isinstance(term, str):
        return term
    if term is not None and term[0] == ".":
        base = dotted(term[1])  # type: ignore[arg-type]
        return f"{base}.{term[2]}" if base else ""
    return ""


def base_term(node: ast.expr) -> Term:
    """The term of a base class, without the arguments of a generic."""
    return value_term(node.value if isinstance(node, ast.Subscript) else node)


def _name(node: ast.Name, local: Mapping[str, Term]) -> Term:
    return local.get(node.id, node.id)


def _attribute(node: ast.Attribute, local: Mapping[str, Term]) -> Term:
    base = value_term(node.value, local)
    return None if base is None else (".", base, node.attr)


def _call(node: ast.Call, local: Mapping[str, Term]) -> Term:
    callee = value_term(node.func, local)
    if callee == "super" and not node.args:
        return SUPER
    if dotted(callee).rpartition(".")[2] == "cast" and node.args:
        return instance(annotation_term(node.args[0]))
    return None if callee is None else ("()", callee)


def _item(node: ast.Subscript, local: Mapping[str, Term]) -> Term:
    base = value_term(node.value, local)
    if base is None or isinstance(node.slice, ast.Slice):
        return base
    return ("item", base)


def _either(node: ast.IfExp, local: Mapping[str, Term]) -> Term:
    return union([value_term(node.body, local), value_term(node.orelse, local)])


def _boolean(node: ast.BoolOp, local: Mapping[str, Term]) -> Term:
    return union([value_term(value, local) for value in node.values])


def _await(node: ast.Await, local: Mapping[str, Term]) -> Term:
    inner = value_term(node.value, local)
    return None if inner is None else ("await", inner)


def _named(node: ast.NamedExpr, local: Mapping[str, Term]) -> Term:
    return value_term(node.value, local)


def _constant(node: ast.Constant, _: Mapping[str, Term]) -> Term:
    return NONE if node.value is None else None


_VALUE_FORMS: dict[type, Callable[..., Term]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _item,
    ast.IfExp: _either,
    ast.BoolOp: _boolean,
    ast.Await: _await,
    ast.NamedExpr: _named,
    ast.Constant: _constant,
}


def _quoted(node: ast.Constant) -> Term:
    if node.value is None:
        return NONE
    if not isinstance(node.value, str):
        return None
    if node.value.isidentifier():
        return node.value
    inner = unquoted(node)
    return None if inner is node else annotation_term(inner)


def _generic(node: ast.Subscript) -> Term:
    base = value_term(node.value)
    last = dotted(base).rpartition(".")[2]
    if base is None or last in _OPAQUE_GENERICS:
        return None
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if last in _FIRST_ARGUMENT:
        return annotation_term(slices[0])
    arguments = [annotation_term(part) for part in slices]
    if last == "Optional":
        return union([*arguments, NONE])
    return union(arguments) if last == "Union" else ("[]", base, *arguments)


def _alternative(node: ast.BinOp) -> Term:
    if not isinstance(node.op, ast.BitOr):
        return None
    return union([annotation_term(node.left), annotation_term(node.right)])


_ANNOTATION_FORMS: dict[type, Callable[..., Term]] = {
    ast.Name: lambda node: node.id,
    ast.Attribute: lambda node: _attribute(node, {}),
    ast.Constant: _quoted,
    ast.Subscript: _generic,
    ast.BinOp: _alternative,
}
