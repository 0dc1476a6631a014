"""Dataclasses and named tuples whose fields stand in an order that Python refuses.

Two sides may each add a field at the end, one with a default and one without: the merge
compiles, and importing the module fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit.checks.abstract import family, needs, of_class
from backport.audit.records import EITHER
from backport.audit.signatures import Signatures
from backport.audit.subject import Check, Rule, Subject
from backport.audit.values import Value
from backport.core.outcomes import Finding

ORDER = Rule(
    "field-order",
    "a field without a default follows one with a default: the class cannot be made",
    "give the field a default, or put it before those that have one",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Classes that the stack touches or whose bases it touches, with a field out of order."""
    for cls in family(subject):
        found = out_of_order(Signatures(subject.resolver), cls)
        if found:
            field, before = found
            message = f"`{cls.name}.{field}` has no default and follows `{before}`, which has one"
            yield of_class(cls, ORDER, message, f"{cls.name}.{field}")


CHECK = Check(check, (ORDER,), per_file=False, needs=needs)


def out_of_order(signatures: Signatures, cls: Value) -> tuple[str, str] | None:
    """The first field without a default behind one that has it, and that one."""
    chain = signatures.resolver.classes.chain(cls)
    tuples = "typing.NamedTuple" in chain.externals
    if chain.open or not (tuples or signatures.is_dataclass(cls)):
        return None
    before = ""
    for parameter in signatures.fields(cls) or ():
        if parameter.kind == EITHER and parameter.default is not None:
            before = parameter.name
        elif parameter.kind == EITHER and before:
            return parameter.name, before
    return None
