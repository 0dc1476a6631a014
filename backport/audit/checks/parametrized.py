"""Tests that are parametrised by what they do not take: pytest refuses them when it collects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.checks.fixtures import (
    KNOWN,
    asked_by_marks,
    is_plain,
    options,
    requesting,
    texts_of,
)
from backport.audit.conftests import bound_in, is_collected_file, visible
from backport.audit.functions import Definition, decorator_term, signature
from backport.audit.index import class_records
from backport.audit.paths import with_conftests
from backport.audit.records import EITHER, KEYWORD, Function, Record
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted
from backport.core.outcomes import Finding

RULE = Rule(
    "parametrize-mismatch",
    "a test is parametrised by a name that it does not take, or with another number of values",
    "compare the mark with the test on the target: pytest refuses it when it collects the file",
)

_MARK, _CASE, _PLUGINS = "pytest.mark.parametrize", "pytest.param", "pytest_plugins"


def check(subject: Subject) -> Iterator[Finding]:
    """Marks on the tests of one file that do not fit them."""
    source = subject.file.source
    if not is_collected_file(source.path):
        return
    marked = [
        (node, mark)
        for _, node in requesting(source.tree, conftest=False)
        if is_plain(node) and node.name.startswith("test")
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and dotted(decorator_term(mark)) == _MARK
    ]
    asked = _asked(subject, source.path) if marked else frozenset()
    for node, mark in marked:
        given = options(mark, ("argnames", "argvalues"))
        names = texts_of(given.get("argnames"))
        if names is not None:
            if asked is not None:
                yield from _names(source.path, node, mark, [n for n in names if n not in asked])
            yield from _values(source.path, node, names, given)


CHECK = Check(check, (RULE,))


def _names(path: str, node: Definition, mark: ast.expr, names: list[str]) -> Iterator[Finding]:
    """The names that are no parameter of the test, or one with a default."""
    taken = {p.name: p.default for p in signature(node) if p.kind in (EITHER, KEYWORD)}
    for name in names:
        if taken.get(name, "") is not None:
            lacks = f"gives `{name}` a default" if name in taken else f"does not take `{name}`"
            message = f"`{node.name}` {lacks}, by which it is parametrised"
            yield finding(path, mark, RULE, message, f"{node.name}({name})")


def _values(
    path: str, node: Definition, names: list[str], given: dict[str, ast.expr]
) -> Iterator[Finding]:
    """The first case of another length than the names."""
    alone = len(names) == 1 and isinstance(given["argnames"], ast.Constant)
    for case in getattr(given.get("argvalues"), "elts", ()):
        count = _length(case, alone)
        if count is not None and count != len(names):
            message = (
                f"`{node.name}` is parametrised by {len(names)} names and given {count} values"
            )
            symbol = f"{node.name}({','.join(names)})"
            yield finding(path, case, RULE, message, symbol)
            return


def _length(case: ast.expr, alone: bool) -> int | None:
    """How many values a case gives; None where that is open. `alone`: one name as a text takes
    a tuple for its value."""
    if isinstance(case, ast.Call) and dotted(decorator_term(case)) == _CASE:
        values = case.args
    elif isinstance(case, ast.Tuple | ast.List) and not alone:
        values = case.elts
    else:
        return None
    return None if any(isinstance(value, ast.Starred) for value in values) else len(values)


def _asked(subject: Subject, path: str) -> frozenset[str] | None:
    """The names that a test of a file may ask for without a parameter: fixtures, and what
    fixtures ask for. None where plug-ins may bring others."""
    names = {*KNOWN, *visible(subject, path), *asked_by_marks(subject.file.source.tree)}
    for place in with_conftests(path):
        record = subject.table.record(place)
        if record is None:
            continue
        if _PLUGINS in record.names:
            return None
        for function in _functions(subject, place, record):
            if any("fixture" in dotted(d).rpartition(".")[2] for d in function.decorators):
                names.update(parameter.name for parameter in function.parameters)
    return frozenset(names)


def _functions(subject: Subject, path: str, record: Record) -> Iterator[Function]:
    """The functions that a file defines or imports, and the methods of its classes."""
    for name in bound_in(subject, record, path):
        for value in subject.resolver.name(path, name):
            if value.function is not None:
                yield value.function
    for _, cls in class_records(record.names):
        bindings = (binding for found in cls.members.values() for binding in found)
        yield from (b.function for b in bindings if b.function is not None)
