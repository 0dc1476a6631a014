"""Attributes that are read on an object or class which nothing ever gives them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from backport.audit import tolerance
from backport.audit.paths import is_test
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Type, Value, present
from backport.core.outcomes import Finding

UNKNOWN = Rule(
    "unknown-attribute",
    "an attribute is read that no class of the object's chain defines or assigns",
    "carry the hunk that assigns it, or drop the read: the target may lack the feature",
)

_OBJECTS = (Sort.INSTANCE, Sort.CLASS, Sort.SUPER)


def check(subject: Subject) -> Iterator[Finding]:
    """Reads of attributes in one file that cannot be there."""
    source = subject.file.source
    for site in source.attributes:
        node = site.node
        if site.guard & _QUIET or source.is_excused(node):
            continue
        owner = _owner(subject, node, site)
        if owner is not None:
            message = f"`{owner.name}` has no attribute `{node.attr}`"
            yield finding(source.path, node, UNKNOWN, message, f"{owner.name}.{node.attr}")


CHECK = Check(check, (UNKNOWN,))

_QUIET = tolerance.ATTRIBUTES | tolerance.VERSION | tolerance.TYPING


def _owner(subject: Subject, node: ast.Attribute, site: Site[Any]) -> Value | None:
    """The class that lacks the attribute; None where some alternative may have it."""
    found: Type = present(subject.file.type_of(node.value, site.scope))
    if not found or any(value.sort not in _OBJECTS for value in found):
        return None
    if any(subject.resolver.attribute(value, node.attr) is not None for value in found):
        return None
    if site.scope.is_narrowed(dotted(value_term(node.value))):
        return None
    in_tests = is_test(subject.file.source.path)
    return None if subject.table.is_loose(node.attr, in_tests=in_tests) else found[0]
