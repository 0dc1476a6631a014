"""Dataclasses and named tuples whose fields stand in an order that Python refuses.

Two sides may each add a field at the end, one with a default and one without: the merge
compiles, and importing the module fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit.checks.abstract import classes_at
from backport.audit.records import EITHER
from backport.audit.signatures import Signatures
from backport.audit.subject import Check, Rule, Subject
from backport.audit.values import Value
from backport.core.outcomes import Finding, Severity

ORDER = Rule(
    "field-order",
    "a field without a default follows one with a default: the class cannot be made",
    "give the field a default, or put it before those that have one",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Classes that the stack touches or whose bases it touches, with a field out of order."""
    classes = subject.resolver.classes
    family = dict.fromkeys(
        each
        for path in sorted(subject.touched)
        for cls in classes_at(subject.table, path)
        for each in (cls, *classes.descendants(cls))
    )
    for cls in family:
        found = out_of_order(Signatures(subject.resolver), cls)
        if found:
            field, before = found
            message = f"`{cls.name}.{field}` has no default and follows `{before}`, which has one"
            yield Finding(
                cls.path, cls.line, 1, Severity.ERROR,
                ORDER.code, message, f"{cls.name}.{field}", ORDER.mend,
            )  # fmt: skip


def needs(subject: Subject) -> str:
    return "" if subject.before is not None or subject.touched else "nothing is changed"


CHECK = Check(check, (ORDER,), per_file=False, needs=needs)


def out_of_order(signatures: Signatures, cls: Value) -> tuple[str, str] | None:
    """The first field without a default behind one that has it, and that one."""
    chain = signatures.resolver.classes.chain(cls)
    tuples = "typing.NamedTuple" in chain.externals
    if chain.open or not (tuples or signatures.is_dataclass(cls)):
        return None
    before = ""
    for parameter in signatures.fields(cls):
        if parameter.kind == EITHER and parameter.default is not None:
            before = parameter.name
        elif parameter.kind == EITHER and before:
            return parameter.name, before
    return None
