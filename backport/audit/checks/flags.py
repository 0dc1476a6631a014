"""Flags read from a module that serves them by a table, which lacks them."""

from __future__ import annotations

from collections.abc import Iterator

from backport.audit import tolerance
from backport.audit.paths import is_test
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.values import Sort
from backport.core.outcomes import Finding

UNREGISTERED = Rule(
    "unregistered-flag",
    "a flag is read that the table behind its module's `__getattr__` does not register",
    "carry the entry of the table, not only the annotation beside it",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Flags that one file reads and no table registers."""
    path = subject.file.source.path
    for site in subject.file.source.attributes:
        node = site.node
        if site.guard & tolerance.ATTRIBUTES:
            continue
        for value in subject.file.type_of(node.value, site.scope):
            record = subject.table.record(value.path) if value.sort is Sort.MODULE else None
            if record is None or record.served is None:
                continue
            if subject.table.is_loose(node.attr, in_tests=is_test(path)):
                continue
            if subject.resolver.attribute(value, node.attr) is None:
                name = subject.table.modules.name_of(value.path)
                message = f"`{node.attr}` is not registered in `{name}`"
                yield finding(path, node, UNREGISTERED, message, f"{name}.{node.attr}")


CHECK = Check(check, (UNREGISTERED,))
