"""Whether a call fits a signature, as Python would bind it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit.records import EITHER, KEYWORD, KEYWORDS, POSITIONAL, VARIADIC, Parameter

MISSING, UNEXPECTED, TOO_MANY, REPEATED = "missing", "unexpected", "too many", "repeated"


class Misfit(NamedTuple):
    """What keeps a call from fitting; `name` is the parameter or keyword, if one is to blame."""

    kind: str
    name: str


class Arguments(NamedTuple):
    """What a call passes; `some` of `*` or `**` stands for any number of them."""

    positional: int
    keywords: tuple[str, ...]
    star: bool
    double_star: bool


def arguments(node: ast.Call) -> Arguments:
    """What a call passes."""
    plain = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
    keywords = tuple(k.arg for k in node.keywords if k.arg is not None)
    return Arguments(
        len(plain),
        keywords,
        len(plain) < len(node.args),
        any(k.arg is None for k in node.keywords),
    )


def misfits(parameters: tuple[Parameter, ...], given: Arguments) -> Iterator[Misfit]:
    """Everything that keeps the arguments from fitting the parameters."""
    places = [p for p in parameters if p.kind in (POSITIONAL, EITHER)]
    takes_any_keyword = any(p.kind == KEYWORDS for p in parameters)
    named = {p.name for p in parameters if p.kind in (EITHER, KEYWORD)}
    if given.positional > len(places) and not any(p.kind == VARIADIC for p in parameters):
        yield Misfit(TOO_MANY, "")
    if not takes_any_keyword:
        yield from (Misfit(UNEXPECTED, name) for name in given.keywords if name not in named)
    taken = {p.name for p in places[: given.positional] if p.kind == EITHER}
    if not given.star:
        yield from (Misfit(REPEATED, name) for name in given.keywords if name in taken)
    yield from _missing(parameters, places, given)


def fits(parameters: tuple[Parameter, ...], given: Arguments) -> bool:
    """True where nothing is known against the call."""
    return next(misfits(parameters, given), None) is None


def _missing(
    parameters: tuple[Parameter, ...], places: list[Parameter], given: Arguments
) -> Iterator[Misfit]:
    if given.double_star:
        return
    if not given.star:
        for parameter in places[given.positional :]:
            by_keyword = parameter.kind == EITHER and parameter.name in given.keywords
            if parameter.default is None and not by_keyword:
                yield Misfit(MISSING, parameter.name)
    for parameter in parameters:
        required = parameter.kind == KEYWORD and parameter.default is None
        if required and parameter.name not in given.keywords:
            yield Misfit(MISSING, parameter.name)


def unbound(parameters: tuple[Parameter, ...], bound: bool) -> tuple[Parameter, ...]:
    """The parameters left for the caller, once the object of a bound method is given."""
    if bound and parameters and parameters[0].kind in (POSITIONAL, EITHER):
        return parameters[1:]
    return parameters
