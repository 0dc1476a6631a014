"""Members of an enum that stand twice: by one name, or by a value that means another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from backport.audit.extract import extract
from backport.audit.index import class_records
from backport.audit.records import Record
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.values import Value
from backport.core.outcomes import Finding

TWICE = Rule(
    "duplicate-member",
    "an enum has a member twice, by its name or by the value of one that only the target has",
    "keep one of them, or give the new member a value that the target leaves free",
)

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "ReprEnum"})


class Member(NamedTuple):
    """A member as its class lists it."""

    name: str
    node: ast.Assign

    @property
    def value(self) -> object:
        """What it is worth, where that is written out, else None."""
        return self.node.value.value if isinstance(self.node.value, ast.Constant) else None


def check(subject: Subject) -> Iterator[Finding]:
    """Members of the enums of one file that another one stands in the way of."""
    source = subject.file.source
    for node, scope in source.scopes.items():
        members = list(_members(node)) if isinstance(node, ast.ClassDef) else []
        cls = subject.file.class_of(scope) if len(members) > 1 else None
        if cls is None or not _is_enum(subject, cls):
            continue
        for first, second in combinations(members, 2):
            said = _said(subject, cls, first, second)
            if said:
                symbol = f"{cls.name}.{second.name}"
                yield finding(source.path, second.node, TWICE, f"`{symbol}` {said}", symbol)


CHECK = Check(check, (TWICE,))


def _members(node: ast.ClassDef) -> Iterator[Member]:
    for statement in node.body:
        name = getattr(statement.targets[0], "id", "") if isinstance(statement, ast.Assign) else ""
        if isinstance(statement, ast.Assign) and name and not name.startswith("_"):
            yield Member(name, statement)


def _is_enum(subject: Subject, cls: Value) -> bool:
    names = (name.rpartition(".") for name in subject.resolver.classes.chain(cls).externals)
    return any(module == "enum" and last in _ENUMS for module, _, last in names)


def _said(subject: Subject, cls: Value, first: Member, second: Member) -> str:
    """What is wrong with two members of one enum; empty where nothing is."""
    if first.name == second.name:
        return "is defined twice in one enum, which fails"
    if (
        first.value is not None
        and first.value == second.value
        and _is_by_chance(subject, cls, {first.name, second.name})
    ):
        return f"has the value of `{first.name}`, and means it"
    return ""


def _is_by_chance(subject: Subject, cls: Value, pair: set[str]) -> bool:
    """True where the stack brings one of two members to an enum which had the other one, that
    no home of the patch has: nobody has seen the two together."""
    if subject.before is None:
        return False
    known = pair & _known(subject.before.record(cls.path), cls.name)
    homes = [home.entry(cls.path) for home in subject.options.homes.get(cls.path, ())]
    records = [extract(entry.data) if entry is not None else None for entry in homes]
    met = (known & _known(record, cls.name) for record in records)
    return len(known) == 1 and bool(records) and not any(met)


def _known(record: Record | None, name: str) -> set[str]:
    """What the body of a class binds."""
    classes = dict(class_records(record.names)) if record is not None else {}
    return set(classes[name].members) if name in classes else set()
