"""Attributes that are read on an object or class which nothing ever gives them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

from backport.audit import tolerance
from backport.audit.externals import is_inscrutable, provided
from backport.audit.index import class_records
from backport.audit.paths import is_test
from backport.audit.resolve import Resolver
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.table import Table
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Type, Value, present
from backport.core.outcomes import Finding

UNKNOWN = Rule(
    "unknown-attribute",
    "an attribute is read that no class of the object's chain defines or assigns",
    "carry the hunk that assigns it, or drop the read: the target may lack the feature",
)

_MIXIN = re.compile(r"Mix(?:[Ii]n)?$")
_EXTENDING = (
    rb"^[ \t]*class\s+(\w+)[^:(]*\([^:\[=]*?%b"
    rb"|(?:\btype|\bnew_class)\s*\([^()]*\([^()]*%b"
    rb"|\b(?:\w+_)?bases\s*(?::[^=\n]*)?\+?=[^\n]*%b"
)
"""A class statement, with its name, or another way to make a class, that names a class."""

_OBJECTS = (Sort.INSTANCE, Sort.CLASS, Sort.SUPER)


def check(subject: Subject) -> Iterator[Finding]:
    """Reads of attributes in one file that cannot be there."""
    source = subject.file.source
    is_mixed = cache(partial(_is_mixed, subject))
    for site in source.attributes:
        node = site.node
        if site.guard & _QUIET or source.is_excused(node):
            continue
        owner = _owner(subject, node, site)
        if owner is not None and not is_mixed(owner):
            message = f"`{owner.name}` has no attribute `{node.attr}`"
            yield finding(source.path, node, UNKNOWN, message, f"{owner.name}.{node.attr}")


CHECK = Check(check, (UNKNOWN,))

_QUIET = tolerance.ATTRIBUTES | tolerance.VERSION | tolerance.TYPING


def _owner(subject: Subject, node: ast.Attribute, site: Site[Any]) -> Value | None:
    """The class that lacks the attribute; None where some alternative may have it."""
    found: Type = present(subject.file.type_of(node.value, site.scope))
    if not found or any(value.sort not in _OBJECTS for value in found):
        return None
    if site.scope.is_narrowed(dotted(value_term(node.value))):
        return None
    given = [subject.resolver.attribute(value, node.attr) for value in found]
    if any(given):
        return None
    if any(values is not None for values in given):
        gone = all(_is_dropped(subject, value, node.attr) for value in found)
        return found[0] if gone or _is_unheard_of(subject, found, node.attr) else None
    in_tests = is_test(subject.file.source.path)
    return None if subject.table.is_loose(node.attr, in_tests=in_tests) else found[0]


def _is_mixed(subject: Subject, value: Value) -> bool:
    """True where a class that the table does not know may extend this one and give it more:
    one in a function, one with computed bases, one by `type(...)`; and for what calls itself
    a mixin, where the tree mixes it with nothing."""
    family = (value.as_class(), *subject.resolver.classes.descendants(value))
    names = {cls.name.rpartition(".")[2] for cls in family}
    if len(family) == 1 and _MIXIN.search(value.name):
        return True
    known = (place for name in names for place in subject.table.extending(name))
    every = rb"\b(?:%b)\b(?!\s*\.)" % b"|".join(re.escape(n.encode()) for n in sorted(names))
    extending = re.compile(_EXTENDING.replace(b"%b", every), re.MULTILINE)
    at_top = {(path, qualified.rpartition(".")[2]) for path, qualified in known}
    places = {cls.path for cls in family}.union(*map(subject.table.mentioning, names))
    return any(
        match[1] is None or (path, match[1].decode()) not in at_top
        for path in sorted(places)
        if is_test(value.path) or not is_test(path)
        for match in extending.finditer(getattr(subject.entry(path), "data", b""))
    )


def _is_unheard_of(subject: Subject, owners: Type, name: str) -> bool:
    """True for a private name that the pristine tree never says, in code or text, and that
    the stack reads and does not say otherwise: that a base of another project may have it
    is no excuse, unless that is one of Python's or nobody can tell what it is."""
    private = name.startswith("_") and not name.endswith("__")
    if subject.before is None or not private:
        return False
    if subject.table.index.defined.get(name) or subject.before.says(name):
        return False
    return not any(_may_have(subject, value, name) for value in owners) and _is_only_read(
        subject, name
    )


def _may_have(subject: Subject, value: Value, name: str) -> bool:
    classes = subject.resolver.classes
    chain = classes.chain(value)
    if chain.torn or classes.is_open(value) or any(map(subject.resolver.is_filled, chain.classes)):
        return True
    return any(is_inscrutable(e) or name in (provided(e) or ()) for e in chain.externals)


def _is_only_read(subject: Subject, name: str) -> bool:
    """True where every mention in the files of the stack is a read: no text, no keyword."""
    mention = re.compile(rb"(?<![.\w])" + name.encode() + rb"(?!\w)")
    entries = (subject.entry(path) for path in subject.touched)
    return not any(mention.search(entry.data) for entry in entries if entry is not None)


def _is_dropped(subject: Subject, value: Value, name: str) -> bool:
    """True where the class gave the attribute itself before, and gives it no more: that other
    code gives it to objects of any class is then no excuse, unless the stack makes it do so."""
    if subject.before is None or value.sort is not Sort.INSTANCE:
        return False
    if not any(
        cls.path in subject.touched for cls in subject.resolver.classes.chain(value).classes
    ):
        return False
    records = (subject.table.record(path) for path in subject.touched)
    if any(record is not None and name in record.loose for record in records):
        return False
    return subject.resolver.classes.lacks(value, name) and _had(subject.before, value, name)


def _had(before: Table, value: Value, name: str) -> bool:
    """True where the class of that name had the attribute in the pristine tree."""
    resolver = Resolver(before)
    record = before.record(value.path)
    for qualified, cls in class_records(record.names) if record is not None else ():
        if qualified == value.name:
            own = Value(Sort.INSTANCE, value.path, qualified, cls.line, cls=cls)
            return not resolver.classes.lacks(own, name)
    return False
