"""Import cycles that a new import at the top of a module closes.

Every module of a cycle compiles, and each name is defined somewhere: but while a module
is still being imported, it has only what stands above the import that it waits for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit.modules import Kind
from backport.audit.subject import Check, Rule, Subject, finding_at
from backport.audit.table import Table
from backport.core.outcomes import Finding

CYCLE = Rule(
    "import-cycle",
    "a new import closes a cycle in which modules ask each other for names not yet defined",
    "import inside the function that needs it, or carry the change that broke the cycle",
)


class _Edge(NamedTuple):
    """An import that runs when its module is imported, and the name it wants of the other."""

    path: str
    line: int
    name: str


_Cycle = list[tuple[str, list[_Edge]]]
"""Each module, with its imports of the next one; the last imports the first."""


def check(subject: Subject) -> Iterator[Finding]:
    """Imports that one file has now and had not before, where they lead back to it."""
    path, before = subject.file.source.path, subject.before
    if before is None:
        return
    known = {edge.path for edge in _edges(before, path)}
    for edge in _edges(subject.table, path):
        if edge.path in known:
            continue
        known.add(edge.path)
        cycle = _cycle(subject.table, path, edge.path)
        failing = _failing(subject.table, cycle)
        if failing is not None:
            names = [subject.table.modules.name_of(module) for module, _ in cycle]
            message = _message(names, *failing)
            yield finding_at(path, edge.line, CYCLE, message, names[1])


CHECK = Check(check, (CYCLE,))


def _edges(table: Table, path: str) -> Iterator[_Edge]:
    """The imports of a module that surely run with it, of modules of the tree."""
    record = table.record(path)
    for bindings in record.names.values() if record is not None else ():
        for binding in bindings:
            if binding.module is not None and not binding.guard:
                yield from _targets(table, path, binding.line, *binding.module)


def _targets(
    table: Table, path: str, line: int, level: int, module: str, symbol: str | None
) -> Iterator[_Edge]:
    """What one import runs: a module, and where the symbol is a module of a package, that."""
    found = table.modules.find(path, level, module)
    below = table.modules.submodule(found.path, symbol) if symbol else None
    if below is not None and below.kind is Kind.FILE and below.path != path:
        yield _Edge(below.path, line, "")
    if found.kind is Kind.FILE and found.path != path:
        yield _Edge(found.path, line, "" if below is not None else symbol or "")


def _cycle(table: Table, first: str, second: str) -> _Cycle:
    """The shortest way from a module by way of another one back to it; empty without one."""
    came: dict[str, str] = {second: first}
    queue = deque([second])
    while queue and first not in came:
        here = queue.popleft()
        for edge in _edges(table, here):
            if edge.path not in came:
                came[edge.path] = here
                queue.append(edge.path)
    if first not in came:
        return []
    back, place = [first], came[first]
    while place != first:
        back.append(place)
        place = came[place]
    way = [first, *reversed(back[1:])]
    return [
        (module, [edge for edge in _edges(table, module) if edge.path == after])
        for module, after in zip(way, [*way[1:], first], strict=True)
    ]


def _failing(table: Table, cycle: _Cycle) -> tuple[int, str] | None:
    """An import of the cycle that fails, by its place, and the name that it wants.

    None where the cycle can be entered by some module so that nothing fails: that other
    module may always be imported first.
    """
    modules = [module for module, _ in cycle]
    found = []
    for place in range(len(cycle)):
        entered = modules[(place + 1) % len(modules)]
        if not any(_holds(package, entered) for package in modules):
            found.append((place, _wanted_too_early(table, cycle, place)))
    return found[0] if found and all(name for _, name in found) else None


def _holds(package: str, module: str) -> bool:
    """True for the `__init__.py` of a package that a module is in: it is imported before it."""
    folder, _, file = package.rpartition("/")
    return file == "__init__.py" and package != module and module.startswith(f"{folder}/")


def _wanted_too_early(table: Table, cycle: _Cycle, place: int) -> str:
    """The name that the import at this place wants of the next module, which has it only below
    the import that it waits for itself; "" where there is none, and where nobody can tell."""
    after, leaving = cycle[(place + 1) % len(cycle)]
    record = table.record(after)
    waiting = min((edge.line for edge in leaving), default=0)
    for edge in cycle[place][1]:
        bindings = record.names.get(edge.name, ()) if record is not None else ()
        if bindings and all(binding.line > waiting for binding in bindings):
            return edge.name
    return ""


def _message(names: list[str], place: int, wanted: str) -> str:
    asks, asked = names[place], names[(place + 1) % len(names)]
    way = " -> ".join([*names, names[0]])
    return f"import cycle {way}: `{asks}` asks `{asked}` for `{wanted}` before that is defined"
