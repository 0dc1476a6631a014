"""Classes that leave a method abstract which a base declares so: making an object fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from backport.audit.index import class_records
from backport.audit.paths import is_test
from backport.audit.records import Function
from backport.audit.resolve import Resolver
from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.audit.table import Table
from backport.audit.terms import dotted
from backport.audit.values import Sort, Value
from backport.core.outcomes import Finding

LEFT = Rule(
    "abstract-method",
    "a class leaves a method abstract that its base declares so: making an object of it fails",
    "carry the method, or give it the name that the base declares on the target",
)

_ENFORCING = "abc.ABC"


def check(subject: Subject) -> Iterator[Finding]:
    """Classes that the stack touches or whose bases it touches, and that cannot be made."""
    for cls in family(subject):
        for name, base in _left(subject.resolver, cls):
            message = f"`{cls.name}` leaves `{name}` abstract, as `{base.name}` declares it"
            yield of_class(cls, LEFT, message, f"{cls.name}.{name}")


def family(subject: Subject) -> Iterable[Value]:
    """The classes that the stack touches, and those below them."""
    return dict.fromkeys(
        each
        for path in sorted(subject.touched)
        for cls in classes_at(subject.table, path)
        for each in (cls, *subject.resolver.classes.descendants(cls))
    )


def of_class(cls: Value, rule: Rule, message: str, symbol: str) -> Finding:
    """A finding about a class as a whole, told at its line."""
    return finding_at(cls.path, cls.line, rule, message, symbol)


def needs(subject: Subject) -> str:
    return "" if subject.before is not None or subject.touched else "nothing is changed"


CHECK = Check(check, (LEFT,), per_file=False, needs=needs)


def classes_at(table: Table, path: str) -> Iterator[Value]:
    """The classes of a file, those of tests left out."""
    record = table.record(path) if not is_test(path) else None
    for name, cls in class_records(record.names) if record is not None else ():
        yield Value(Sort.CLASS, path, name, cls.line, cls=cls)


def _left(resolver: Resolver, cls: Value) -> Iterator[tuple[str, Value]]:
    """The methods that a class without descendants leaves abstract, with who declares them."""
    chain = resolver.classes.chain(cls)
    if chain.open or _ENFORCING not in chain.externals or resolver.classes.descendants(cls):
        return
    if any(_is_abstract(f) for f in _functions(cls)):
        return  # it is there to be extended
    for base in chain.classes[1:]:
        names = [function.name for function in _functions(base) if _is_abstract(function)]
        left = [name for name in names if _first(resolver, cls, name) == base]
        if len(left) == 1 or left != names:  # who gives none of several leaves that to others
            yield from ((name, base) for name in left)


def _first(resolver: Resolver, cls: Value, name: str) -> Value | None:
    """The class of the chain that defines a method."""
    return next((owner for owner, _ in resolver.classes.definitions(cls, name)), None)


def _functions(cls: Value) -> Iterator[Function]:
    for bindings in cls.record.members.values():
        if len(bindings) == 1 and bindings[0].function is not None:
            yield bindings[0].function


def _is_abstract(function: Function) -> bool:
    """True for an abstract method of objects: a class of static ones is never made."""
    last = {dotted(decorator).rpartition(".")[2] for decorator in function.decorators}
    on_class = last & {"staticmethod", "classmethod"}
    return bool(last & {"abstractmethod", "abstractproperty"}) and not on_class
