"""Results that do not unpack: of functions, of overrides left behind, of named tuples."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit.functions import Definition
from backport.audit.index import class_records
from backport.audit.records import Function, Record
from backport.audit.resolve import ModuleEnv
from backport.audit.source import Site
from backport.audit.subject import Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import UNKNOWN, Sort, Type, Value, present
from backport.core.outcomes import Finding

UNPACKING = Rule(
    "unpack-mismatch",
    "a result is unpacked into more or fewer names than the function returns",
    "carry the change of what the function returns, or unpack what the target returns",
)

_RETURNING = frozenset(
    {"staticmethod", "classmethod", "override", "jit", "no_grad", "inference_mode"}
    | {"cache", "lru_cache"}
)
"""Decorators after which a function returns what it returned before."""


def check(subject: Subject) -> Iterator[Finding]:
    """Results in one file that cannot be unpacked as they are."""
    source = subject.file.source
    for site in source.unpackings:
        target, call = site.node.targets[0], site.node.value
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
            continue
        if source.is_excused(site.node) or any(isinstance(e, ast.Starred) for e in target.elts):
            continue
        for name, count in _misfits(subject, site, call, len(target.elts)):
            message = f"`{name}` returns {count} values, {len(target.elts)} are unpacked"
            yield finding(source.path, site.node, UNPACKING, message, name)


def _misfits(
    subject: Subject, site: Site[ast.Assign], call: ast.Call, wanted: int
) -> Iterator[tuple[str, int]]:
    """What the call may run that surely returns another number of values, and that number."""
    found = present(subject.file.type_of(call.func, site.scope))
    arities = {0 if overrides(subject, value) else _arity(value) for value in found}
    if found and not arities & {0, wanted}:
        yield found[0].name, arities.pop()
        return
    lengths = {
        _length(subject, value): value.name for value in _objects(subject, site, call, found)
    }
    if lengths and not lengths.keys() & {0, wanted}:
        length, name = lengths.popitem()
        yield name, length
    elif len(found) == 1 and subject.touched:
        yield from _left_behind(subject, site, call, found[0], wanted)


def _arity(value: Value) -> int:
    """How many values a function is sure to return, 0 where that is open."""
    function = value.function
    if function is None or function.asynchronous:
        return 0
    plain = all(dotted(d).rpartition(".")[2] in _RETURNING for d in function.decorators)
    return function.arity if plain else 0


def _objects(subject: Subject, site: Site[ast.Assign], call: ast.Call, callees: Type) -> Type:
    """What a call gives: as annotated, or else as the one function called makes it."""
    if any(overrides(subject, value) for value in callees):
        return UNKNOWN
    found = present(subject.file.type_of(call, site.scope))
    function = callees[0].function if len(callees) == 1 else None
    if found or function is None or function.returns or function.decorators:
        return found
    if function.asynchronous:
        return UNKNOWN
    made = subject.resolver.evaluate(function.made, ModuleEnv(subject.resolver, callees[0].path))
    classes = all(value.sort is Sort.CLASS for value in made)
    return tuple(value.as_instance() for value in made) if classes else UNKNOWN


def _length(subject: Subject, value: Value) -> int:
    """The number of fields of a named tuple, 0 for anything else."""
    if value.sort is not Sort.INSTANCE:
        return 0
    chain = subject.resolver.classes.chain(value)
    if chain.open or "typing.NamedTuple" not in chain.externals:
        return 0
    if any("__iter__" in cls.record.members for cls in chain.classes):
        return 0
    return len(chain.classes[-1].record.fields)


def overrides(subject: Subject, value: Value) -> list[Value | None]:
    """The versions of a method in the classes below its object's; None for one not known."""
    if value.owner is None or value.function is None:
        return []
    classes, name = subject.resolver.classes, value.function.name
    below = (child.as_instance() for child in classes.descendants(value.owner))
    return [classes.method(child, name) for child in below if name in child.record.members]


def _left_behind(
    subject: Subject, site: Site[ast.Assign], call: ast.Call, value: Value, wanted: int
) -> Iterator[tuple[str, int]]:
    """The overrides that return another number of values than the caller unpacks, where the
    stack changed what they return, or what another version does that fits the caller.

    In the pristine tree all of them are told: what did not fit there is no fault of the stack.
    """
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if receiver is None or value.owner is None or value.owner.sort is not Sort.INSTANCE:
        return
    if site.scope.is_narrowed(dotted(value_term(receiver))):
        return
    others = [other for other in overrides(subject, value) if other is not None]
    fitting = (other for other in (value, *others) if _arity(other) == wanted)
    moved = any(_is_changed(subject, other) for other in fitting)
    for other in others:
        if _arity(other) in (0, wanted) or not _may_run(subject, site, receiver, other):
            continue
        concerned = subject.before is None or moved or _is_changed(subject, other)
        if concerned and not _is_used_as_it_is(subject, other):
            yield other.name, _arity(other)


def _is_changed(subject: Subject, method: Value) -> bool:
    """True where a method of the pristine tree returned another number of values."""
    if subject.before is None or method.path not in subject.touched:
        return False
    was = _earlier(subject.before.record(method.path), method.name)
    return was is not None and was.arity != _arity(method)


def _may_run(subject: Subject, site: Site[ast.Assign], receiver: ast.expr, method: Value) -> bool:
    """False for a method called on `self` where its class has its own version of the caller."""
    scope, holder = site.scope.function, site.scope.cls
    while scope is not None and scope.parent is not holder:
        scope = scope.parent.function if scope.parent is not None else None
    node, owner = getattr(scope, "node", None), subject.file.instance(site.scope)
    if not isinstance(node, Definition) or owner is None or method.owner is None:
        return True
    if not isinstance(receiver, ast.Name) or receiver.id not in [a.arg for a in node.args.args[:1]]:
        return True
    classes = subject.resolver.classes
    ours, theirs = classes.method(owner, node.name), classes.method(method.owner, node.name)
    return ours is not None and ours == theirs


def _is_used_as_it_is(subject: Subject, method: Value) -> bool:
    """True where the file of an override unpacks what it returns: it may have callers of its
    own, and none of those above."""
    places, name = subject.read(method.path), method.name.rpartition(".")[2]
    return any(
        isinstance(site.node.value, ast.Call)
        and getattr(site.node.value.func, "attr", "") == name
        and len(getattr(site.node.targets[0], "elts", ())) == _arity(method)
        for site in (places.source.unpackings if places is not None else ())
    )


def _earlier(record: Record | None, qualified: str) -> Function | None:
    """The method of this name in a record."""
    cls, _, name = qualified.rpartition(".")
    for found, known in class_records(record.names) if record is not None else ():
        bindings = known.members.get(name, ()) if found == cls else ()
        if len(bindings) == 1:
            return bindings[0].function
    return None
