"""Arguments by place that have come to mean another parameter: a signature with its parameters
in another order accepts the same calls, and nothing fails.

What proves it is the call itself: an argument named as the parameter that stood at its place
in the signature which the caller was written for, and that stands elsewhere now.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from backport.audit.index import class_records
from backport.audit.records import EITHER, KEYWORD, POSITIONAL, Record
from backport.audit.resolve import Resolver
from backport.audit.signatures import Parameters, Signatures
from backport.audit.subject import Rule, Subject, finding
from backport.audit.table import Table
from backport.audit.values import Sort, Value
from backport.core.outcomes import Finding

SHIFTED = Rule(
    "shifted-argument",
    "a call passes an argument by place, where the parameter of its name stood and another one "
    "stands now",
    "pass it by keyword, or in the order that the target has",
)

Callee = tuple[Value, Parameters | None]


def check(subject: Subject, node: ast.Call, chosen: list[Callee]) -> Iterator[Finding]:
    """The first argument of a call that all it may call take as another parameter."""
    value = chosen[0][0]
    callee = f"{value.name}.super().__init__" if value.sort is Sort.SUPER else value.name
    signatures = [taken for _, taken in chosen]
    yield from told(subject, node, callee, signatures, _expected(subject, value))


def told(
    subject: Subject,
    node: ast.Call,
    callee: str,
    signatures: list[Parameters | None],
    expected: Iterable[Parameters | None],
) -> Iterator[Finding]:
    """The first argument of a call that has the place of another parameter in each signature,
    and its own place in one that the caller may have been written for."""
    wrong = [
        (place, name)
        for place, name in _named(node)
        if all(_is_misplaced(place, name, parameters) for parameters in signatures)
    ]
    known = list(expected) if wrong else []
    for place, name in wrong:
        if any(_names_at(was, place) == name for was in known):
            taking = _names_at(signatures[0], place)
            message = f"`{callee}` takes `{taking}` where `{name}` is passed by place"
            yield finding(subject.file.source.path, node, SHIFTED, message, f"{callee}({name})")
            return


def is_in_order(node: ast.Call, parameters: Parameters | None) -> bool:
    """True where nobody can tell, or each named argument has the place of its parameter."""
    return parameters is None or not any(
        _is_misplaced(place, name, parameters) for place, name in _named(node)
    )


def _named(node: ast.Call) -> Iterator[tuple[int, str]]:
    """The arguments of a call that are names or end in one, up to the first star, by place."""
    for place, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred):
            return
        name = getattr(argument, "id", None) or getattr(argument, "attr", "")
        if name:
            yield place, name


def _is_misplaced(place: int, name: str, parameters: Parameters | None) -> bool:
    """True for the name of one parameter at the place of another."""
    named = (p.name for p in parameters or () if p.kind in (POSITIONAL, EITHER, KEYWORD))
    return _names_at(parameters, place) not in ("", name) and name in named


def _names_at(parameters: Parameters | None, place: int) -> str:
    """The parameter that takes the argument at a place; the empty string where none does."""
    places = [p.name for p in parameters or () if p.kind in (POSITIONAL, EITHER)]
    return places[place] if place < len(places) else ""


def _expected(subject: Subject, value: Value) -> Iterator[Parameters | None]:
    """The signatures that the caller may have been written for: the pristine tree's, and for
    what a patch brings, that of its home."""
    for table in _tables(subject, value):
        resolver = Resolver(table)
        earlier = _counterpart(table.record(value.path), value)
        if earlier is not None:
            yield _parameters(Signatures(resolver), earlier)


def _parameters(signatures: Signatures, value: Value) -> Parameters | None:
    if value.sort is Sort.SUPER:
        return signatures.initializer(value)
    return signatures.kernel(value) or signatures.of(value)


def _tables(subject: Subject, value: Value) -> Iterator[Table]:
    """The pristine table, and the one at hand with a home's files in the place of its own."""
    if subject.before is not None:
        yield subject.before
    has_class = value.cls is not None
    chain = subject.resolver.classes.chain(value).classes if has_class else ()
    paths = {value.path, *(cls.path for cls in chain)}
    for home in subject.options.homes.get(subject.file.source.path, ()):
        theirs = {path: home.entry(path) for path in paths}
        other = {p: e for p, e in theirs.items() if e is not None and e != subject.entry(p)}
        if other:
            yield subject.table.patched(other)


def _counterpart(record: Record | None, value: Value) -> Value | None:
    """What has the same name in another version of the file."""
    names = record.names if record is not None else {}
    if value.sort is not Sort.FUNCTION:
        cls = dict(class_records(names)).get(value.name)
        return None if cls is None else Value(value.sort, value.path, value.name, cls=cls)
    owner, _, name = value.name.rpartition(".")
    if owner:
        cls = dict(class_records(names)).get(owner)
        names = cls.members if cls is not None else {}
    functions = [b.function for b in names.get(name, ()) if b.function is not None]
    if len(functions) != 1:
        return None
    return Value(Sort.FUNCTION, value.path, value.name, 0, value.bound, function=functions[0])
