"""What a stack's changes may hurt elsewhere: names taken away, signatures made narrower.

What only adds is harmless to files that are not touched, so most stacks have few
neighbours to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from backport.audit.index import class_records
from backport.audit.paths import is_test
from backport.audit.records import (
    EITHER,
    KEYWORD,
    KEYWORDS,
    POSITIONAL,
    VARIADIC,
    Binding,
    Class,
    Function,
    Record,
)
from backport.audit.table import Table
from backport.audit.terms import dotted

_FAMILIAR = 40
"""A word that more files mention is a word of the language: only importers are looked at."""

_MOST = 60
"""So many neighbours are looked at, those that import what changed first."""


def neighbours(before: Table, after: Table, touched: Iterable[str]) -> list[str]:
    """The untouched files that the changes may have broken."""
    touched = set(touched)
    changed = {path for path in touched if path.endswith(".py")}
    scores = _users_of_bindings(before, after, touched)
    for path, name in _harms(before, after, changed):
        found = [other for other in after.mentioning(name) if other not in changed]
        passed_on = _is_passed_on(before.record(path), name)
        for other in found:
            near = imports(after, other, path, name)
            if passed_on and not (near and _imports_file(after, other, path)):
                continue
            if near or len(found) <= _FAMILIAR:
                score = 2 * near + (not is_test(other))
                scores[other] = max(score, scores.get(other, 0))
    return sorted(scores, key=lambda other: (-scores[other], other))[:_MOST]


def _harms(before: Table, after: Table, changed: set[str]) -> Iterator[tuple[str, str]]:
    """Each file with a name by which others may notice that something changed."""
    for path in changed:
        old, new = before.record(path), after.record(path)
        names = set(_harmed(old, new))
        if new is None:
            names.add(_stem(path))
        yield from ((path, name) for name in names)
        for cls in _resized(old, new):
            yield from _makers(after, cls)


def _resized(old: Record | None, new: Record | None) -> Iterator[str]:
    """The named tuples that have another number of fields than before."""
    theirs = _classes(new)
    for qualified, cls in _classes(old).items():
        named = any(dotted(base).rpartition(".")[2] == "NamedTuple" for base in cls.bases)
        if named and qualified in theirs and len(cls.fields) != len(theirs[qualified].fields):
            yield cls.name


def _makers(table: Table, cls: str) -> Iterator[tuple[str, str]]:
    """The functions and methods that return objects of a class, with their files."""
    files = list(table.mentioning(cls))
    for path in files if len(files) <= _FAMILIAR else ():
        record = table.record(path)
        bodies = [record.names] if record is not None else []
        bodies += [found.members for found in _classes(record).values()]
        bindings = (b for body in bodies for bound in body.values() for b in bound)
        for function in (b.function for b in bindings if b.function is not None):
            if repr(cls) in repr((function.returns, function.made)):
                yield path, function.name


def _users_of_bindings(before: Table, after: Table, touched: set[str]) -> dict[str, int]:
    """The untouched Python files that use, or may pass on, an op whose C++ binding changed or
    went, with how near they are to it."""
    scores: dict[str, int] = {}
    for op, _ in _bound(before, touched) - _bound(after, touched):
        name = op.partition(".")[0]
        using = {path for path, ops in after.index.operators.items() if name in {o for _, o in ops}}
        found = {*using, *after.mentioning(name)} - touched
        for other in found if len(found) <= _FAMILIAR else found & using:
            score = 2 * (other in using) + (not is_test(other))
            scores[other] = max(score, scores.get(other, 0))
    return scores


def _bound(table: Table, touched: set[str]) -> set[tuple[str, str | None]]:
    """Every op with its schema that the C++ files among those touched bind."""
    records = (table.record(path) for path in touched if not path.endswith(".py"))
    return {(r.op, r.schema) for record in records if record for r in record.registrations}


def _is_passed_on(record: Record | None, name: str) -> bool:
    """True for a name that the file itself only imports: who has it from there alone is hurt."""
    bindings = record.names.get(name, ()) if record is not None else ()
    return bool(bindings) and all(binding.module is not None for binding in bindings)


def _imports_file(table: Table, importer: str, path: str) -> bool:
    record = table.record(importer)
    package = path.removesuffix("/__init__.py").rpartition("/")[0]
    for level, module, symbols in record.imports if record is not None else ():
        found = table.modules.find(importer, level, module).path
        if found == path or (_stem(path) in symbols and found.startswith(package)):
            return True
    return False


Gain = tuple[str, str, str]
"""A class, a method of it, and a parameter that the method gained."""


def gained_parameters(before: Record | None, after: Record | None) -> Iterator[Gain]:
    """Every parameter that a method of both records gained."""
    old = _classes(before)
    for name, cls in _classes(after).items():
        if name not in old:
            continue
        for method, function in _functions(cls):
            earlier = dict(_functions(old[name])).get(method)
            known = {p.name for p in earlier.parameters} if earlier is not None else None
            if known is not None:
                yield from ((name, method, p) for p in _named(function) if p not in known)


def narrowed(old: Function, new: Function) -> bool:
    """True where some call that fitted the old signature may not fit the new one."""
    if any(a != b for a, b in zip(old[4:7], new[4:7], strict=True)):
        return True  # the decorators, `async`, or the number of returned values
    kinds = {p.kind for p in new.parameters}
    lost = {p.kind for p in old.parameters} & {VARIADIC, KEYWORDS} - kinds
    required = {p.name for p in new.parameters if _is_required(p.kind, p.default)}
    were_required = {p.name for p in old.parameters if _is_required(p.kind, p.default)}
    gone = set(_named(old)) - set(_named(new)) if KEYWORDS not in kinds else set()
    return bool(lost or gone or required - were_required) or _reordered(old, new)


def _reordered(old: Function, new: Function) -> bool:
    places = [[p.name for p in f.parameters if p.kind in (POSITIONAL, EITHER)] for f in (old, new)]
    return any(was is not None and was != now for was, now in zip_longest(*places))


def _is_required(kind: int, default: str | None) -> bool:
    return kind in (POSITIONAL, EITHER, KEYWORD) and default is None


def _named(function: Function) -> list[str]:
    return [p.name for p in function.parameters if p.kind in (EITHER, KEYWORD)]


def _harmed(old: Record | None, new: Record | None) -> Iterator[str]:
    """The names by which other files may notice what a file no longer offers."""
    if old is None:
        return
    names = new.names if new is not None else {}
    served = set(new.served or ()) if new is not None else set[str]()
    yield from (name for name in old.served or () if name not in served)
    for name, bindings in old.names.items():
        gone = name not in names and name not in served
        if gone or (name in names and _is_narrower(bindings, names[name])):
            yield name
    ours, theirs = _classes(old), _classes(new)
    for qualified, cls in ours.items():
        yield from _harmed_class(qualified, cls, theirs.get(qualified))
    kept = {(r.role, r.op, r.schema) for r in new.registrations} if new is not None else set()
    yield from (r.op for r in old.registrations if (r.role, r.op, r.schema) not in kept)


def _harmed_class(qualified: str, old: Class, new: Class | None) -> Iterator[str]:
    name = qualified.rpartition(".")[2]
    if new is None:
        yield name
        return
    made = (old.bases, old.decorators, [f[:3] for f in old.fields])
    if made != (new.bases, new.decorators, [f[:3] for f in new.fields]):
        yield name
    have = {*new.members, *new.attributes}
    yield from (attribute for attribute in (*old.members, *old.attributes) if attribute not in have)
    yield from (attribute for attribute in have if _is_bound_now(attribute, old, new))
    for member, bindings in old.members.items():
        if member in new.members and _is_narrower(bindings, new.members[member]):
            yield name if member in ("__init__", "__new__", "__call__", "forward") else member
            yield member


def _is_bound_now(attribute: str, old: Class, new: Class) -> bool:
    """True for data of the class or its objects that a function has the name of now: where that
    is a property, it may refuse to be assigned."""
    had, has = (any(b.function for b in c.members.get(attribute, ())) for c in (old, new))
    return has and not had and (attribute in old.members or attribute in old.attributes)


def _is_narrower(old: tuple[Binding, ...], new: tuple[Binding, ...]) -> bool:
    before = [b.function for b in old if b.function is not None]
    after = [b.function for b in new if b.function is not None]
    if not before:
        return False
    return not after or narrowed(before[-1], after[-1])


def _classes(record: Record | None) -> dict[str, Class]:
    return dict(class_records(record.names)) if record is not None else {}


def _functions(cls: Class) -> Iterator[tuple[str, Function]]:
    for name, bindings in cls.members.items():
        yield from ((name, b.function) for b in bindings if b.function is not None)


def _stem(path: str) -> str:
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return parts[-1]


def imports(table: Table, importer: str, path: str, name: str) -> bool:
    """True where a file imports the changed one, or the name from wherever it is re-exported."""
    record = table.record(importer)
    for level, module, symbols in record.imports if record is not None else ():
        if name in symbols or module.endswith(f".{name}"):
            return True
        if module.rpartition(".")[2] == _stem(path) or _stem(path) in symbols:
            return True
        if level and table.modules.find(importer, level, module).path == path:
            return True
    return False
