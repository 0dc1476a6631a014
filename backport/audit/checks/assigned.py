"""Attributes that are assigned where the class of the object refuses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit import tolerance
from backport.audit.externals import MODULES
from backport.audit.paths import is_test
from backport.audit.resolve import ModuleEnv
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Value, present
from backport.core.outcomes import Finding

REFUSED = Rule(
    "refused-assignment",
    "an attribute is assigned that the class refuses: of a frozen dataclass, by a property "
    "without a setter, or not among its `__slots__`",
    "carry the change of the class (the slot, the setter), or make a new object with the value",
)

_QUIET = tolerance.ATTRIBUTES | tolerance.VERSION | tolerance.TYPING
_SLOTTED = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
"""Bases of other projects whose objects have no `__dict__`."""


def check(subject: Subject) -> Iterator[Finding]:
    """Assignments in one file that fail for every class that the object may have; not in tests,
    where it may be a mock."""
    source = subject.file.source
    for site in () if is_test(source.path) else source.stores:
        node = site.node
        if site.guard & _QUIET or source.is_excused(node):
            continue
        found = present(subject.file.type_of(node.value, site.scope))
        if site.scope.is_narrowed(dotted(value_term(node.value))):
            continue
        reasons = [_refusal(subject, value, node.attr) for value in found]
        if reasons and all(reasons):
            name = found[0].name
            message = f"`{name}` refuses `{node.attr}`: {reasons[0]}"
            yield finding(source.path, node, REFUSED, message, f"{name}.{node.attr}")


CHECK = Check(check, (REFUSED,))


def _refusal(subject: Subject, value: Value, name: str) -> str:
    """Why objects of a class, and of those below it, refuse an attribute; empty where some may
    take it."""
    if value.sort is not Sort.INSTANCE or (name.startswith("__") and name.endswith("__")):
        return ""
    classes = subject.resolver.classes
    chain, below = classes.chain(value), classes.descendants(value)
    family = (*chain.classes, *(cls for child in below for cls in classes.chain(child).classes))
    hooked = any("__setattr__" in cls.record.members for cls in family)
    if chain.torn or hooked or any(classes.chain(child).torn for child in below):
        return ""
    if _is_frozen(subject, chain.classes, name, alone=not below):
        return "it is a frozen dataclass"
    if _is_read_only(subject, value, name) and not any(
        name in child.record.members or name in child.record.attributes for child in below
    ):
        return "its property has no setter"
    if all(_has_no_room(subject, cls, name) for cls in (value.as_class(), *below)):
        return "it is not in `__slots__`"
    return ""


def _is_frozen(subject: Subject, chain: tuple[Value, ...], name: str, *, alone: bool) -> bool:
    """True for a field of a frozen dataclass, and for any name of one that no class extends:
    in a plain class below, what is no field is free."""
    frozen = [_has_option(subject, cls, "frozen=True") for cls in chain]
    is_field = any(field.name == name for cls in chain for field in cls.record.fields)
    return any(frozen) and (is_field or (alone and frozen[0]))


def _has_option(subject: Subject, cls: Value, option: str) -> bool:
    """True where a class is made a dataclass with an option."""
    env = ModuleEnv(subject.resolver, cls.path)
    return any(
        found.name == "dataclasses.dataclass"
        for term, options in cls.record.decorators
        if option in options
        for found in subject.resolver.evaluate(term, env)
    )


def _is_read_only(subject: Subject, value: Value, name: str) -> bool:
    """True for a property that has a getter alone, on objects that keep to it."""
    chain = subject.resolver.classes.chain(value)
    if chain.open or MODULES & set(chain.externals):
        return False
    for _, bindings in subject.resolver.classes.definitions(value, name):
        functions = [b.function for b in bindings if b.function is not None]
        decorators = [dotted(d) for f in functions for d in f.decorators]
        return len(functions) == len(bindings) == 1 and "property" in decorators
    return False


def _has_no_room(subject: Subject, cls: Value, name: str) -> bool:
    """True where every class of a chain lists its slots, none has the name, and none binds it."""
    chain = subject.resolver.classes.chain(cls)
    if chain.open or not _SLOTTED.issuperset(chain.externals):
        return False
    if any(name in each.record.members for each in chain.classes):
        return False
    slots = [_slots(subject, each) for each in chain.classes]
    return all(each is not None and not {name, "__dict__"} & each for each in slots)


def _slots(subject: Subject, cls: Value) -> set[str] | None:
    """The slots of a class; None where it has none, or they are computed."""
    if _has_option(subject, cls, "slots=True"):
        return {field.name for field in cls.record.fields}
    if "__slots__" not in cls.record.members:
        return None
    read = subject.file if cls.path == subject.file.source.path else subject.read(cls.path)
    for node in read.source.nodes if read is not None else ():
        if isinstance(node, ast.ClassDef) and node.lineno == cls.line:
            listed = [_listed(statement) for statement in node.body]
            return next((names for names in listed if names is not None), None)
    return None


def _listed(node: ast.stmt) -> set[str] | None:
    """The names that a statement lists as slots."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    if "__slots__" not in [getattr(target, "id", "") for target in targets]:
        return None
    value = getattr(node, "value", None)
    texts = [getattr(part, "value", None) for part in getattr(value, "elts", [value])]
    return {str(text) for text in texts} if all(isinstance(t, str) for t in texts) else None
