"""Arguments that some override of a method does not take, where callers now pass them.

Only the back end that was in use when a change was made tends to be updated with
it. The receiver of such a call is rarely known, so the family of the method is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit.binding import arguments, fits, unbound
from backport.audit.impact import gained_parameters
from backport.audit.index import class_records
from backport.audit.paths import is_test
from backport.audit.records import EITHER, KEYWORD, KEYWORDS, Function
from backport.audit.scoping import Places
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Value
from backport.core.outcomes import Finding

LACKS = Rule(
    "override-lacks-parameter",
    "a call passes an argument that one override of the method does not take",
    "give that override the parameter too, or a `**kwargs` to swallow it",
)

_MOST = 12
"""So many files that mention method and argument are read to find a call."""


class Suspect(NamedTuple):
    """An override without a parameter that another version of the method has."""

    cls: Value
    method: Function
    full: Function
    parameter: str


def check(subject: Subject) -> Iterator[Finding]:
    """Overrides that lack what calls pass to their family."""
    suspects = {
        (s.cls, s.method.name, s.parameter): s
        for s in (*_left_behind(subject), *_too_narrow(subject))
    }
    for name, parameter in sorted({key[1:] for key in suspects}):
        asked = [s for key, s in suspects.items() if key[1:] == (name, parameter)]
        for suspect, caller in _called(subject, name, parameter, asked):
            cls = suspect.cls
            message = f"`{cls.name}.{name}` does not take `{parameter}`, which `{caller}` passes"
            symbol = f"{cls.name}.{name}({parameter})"
            yield finding_at(cls.path, suspect.method.line, LACKS, message, symbol)


def needs(subject: Subject) -> str:
    return "" if subject.before is not None else "nothing is changed"


CHECK = Check(check, (LACKS,), per_file=False, needs=needs)


def _left_behind(subject: Subject) -> Iterator[Suspect]:
    """The versions of a method that did not gain the parameter which one of them gained."""
    for path in sorted(subject.touched):
        before = subject.before.record(path) if subject.before is not None else None
        after = subject.table.record(path)
        for name, method, parameter in gained_parameters(before, after):
            cls = _class(subject, path, name)
            full = _own_method(cls, method) if cls is not None else None
            if cls is None or full is None or method.startswith("__"):
                continue
            for relative in _family(subject, cls, method):
                own = _own_method(relative, method)
                if own is not None and not _takes(own, parameter):
                    yield Suspect(relative, own, full, parameter)


def _too_narrow(subject: Subject) -> Iterator[Suspect]:
    """The methods of touched classes that lack a parameter of what they override."""
    for path in sorted(subject.touched):
        record = subject.table.record(path)
        for name, found in class_records(record.names) if record is not None else ():
            cls = Value(Sort.CLASS, path, name, found.line, cls=found)
            for method in found.members:
                own = _own_method(cls, method)
                if own is None or method.startswith("__"):
                    continue
                full = _overridden(subject, cls, method)
                for parameter in _named(full) if full is not None else ():
                    if not _takes(own, parameter) and not _lacked(subject, cls, method, parameter):
                        yield Suspect(cls, own, full or own, parameter)


def _lacked(subject: Subject, cls: Value, method: str, parameter: str) -> bool:
    """True where the pristine class had the method and lacked the parameter already."""
    record = subject.before.record(cls.path) if subject.before is not None else None
    for name, found in class_records(record.names) if record is not None else ():
        own = _own_method(Value(Sort.CLASS, cls.path, name, cls=found), method)
        if name == cls.name and own is not None:
            return not _takes(own, parameter)
    return False


def _called(
    subject: Subject, name: str, parameter: str, suspects: list[Suspect]
) -> Iterator[tuple[Suspect, str]]:
    """Each suspect that a call reaches which the full version fits, with the caller's path."""
    left = list(suspects)
    for path in _candidates(subject, name, parameter):
        places = subject.read(path) if left else None
        if places is None:
            continue
        calls = [site for site in places.source.calls if _is_call_of(site.node, name)]
        for suspect in list(left):
            if any(_reaches(places, site, suspect) for site in calls):
                left.remove(suspect)
                yield suspect, path


def _candidates(subject: Subject, name: str, parameter: str) -> list[str]:
    touched = sorted(path for path in subject.touched if path.endswith(".py"))
    both = set(subject.table.mentioning(name)) & set(subject.table.mentioning(parameter))
    others = sorted(both - subject.touched, key=lambda path: (is_test(path), path))
    return touched + others[:_MOST]


def _is_call_of(node: ast.Call, name: str) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == name


def _reaches(places: Places, site: Site[ast.Call], suspect: Suspect) -> bool:
    """True where the call may end in the suspect, does not fit it, and fits its relative."""
    given = arguments(site.node)
    bound = "staticmethod" not in suspect.method.decorators
    if fits(unbound(suspect.method.parameters, bound), given):
        return False
    if not fits(unbound(suspect.full.parameters, bound), given):
        return False
    if suspect.parameter not in given.keywords and not given.positional:
        return False
    func = site.node.func
    if not isinstance(func, ast.Attribute):
        return False
    receiver = places.type_of(func.value, site.scope)
    named = _is_named(func.value, site)
    return not receiver or any(_may_be(places, v, suspect.cls, named) for v in receiver)


def _is_named(node: ast.expr, site: Site[ast.Call]) -> bool:
    """True where the receiver is a class by its own name, which no descendant stands in for."""
    root = dotted(value_term(node)).partition(".")[0]
    holder = site.scope.holder(root)
    binds = holder.binds[root] if holder is not None else []
    return bool(binds) and all(bind.form in ("import", "class") for bind in binds)


def _may_be(places: Places, value: Value, cls: Value, named: bool) -> bool:
    if value.sort is Sort.CLASS and named:
        return value.as_class() == cls
    if value.sort not in (Sort.INSTANCE, Sort.CLASS):
        return False
    return value.as_class() in places.resolver.classes.chain(cls).classes


def _family(subject: Subject, cls: Value, method: str) -> Iterator[Value]:
    """The class's relatives with a version of a method: all below its topmost definition."""
    classes = subject.resolver.classes
    tops = [c for c in classes.chain(cls).classes if method in c.record.members]
    for top in tops[-1:]:
        yield top
        yield from classes.descendants(top)


def _overridden(subject: Subject, cls: Value, method: str) -> Function | None:
    for base in subject.resolver.classes.chain(cls).classes[1:]:
        if method in base.record.members:
            return _own_method(base, method)
    return None


def _own_method(cls: Value, method: str) -> Function | None:
    bindings = cls.record.members.get(method, ())
    return bindings[0].function if len(bindings) == 1 else None


def _class(subject: Subject, path: str, name: str) -> Value | None:
    record = subject.table.record(path)
    for qualified, cls in class_records(record.names) if record is not None else ():
        if qualified == name:
            return Value(Sort.CLASS, path, name, cls.line, cls=cls)
    return None


def _named(function: Function) -> list[str]:
    return [p.name for p in function.parameters[1:] if p.kind in (EITHER, KEYWORD)]


def _takes(function: Function, parameter: str) -> bool:
    return any(p.kind == KEYWORDS or p.name == parameter for p in function.parameters)
