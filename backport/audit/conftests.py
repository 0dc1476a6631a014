"""Where fixtures come from: what a test sees of the conftests, and what lies out of its sight."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backport.audit.paths import is_test, with_conftests
from backport.audit.records import Record
from backport.audit.subject import Subject
from backport.audit.terms import dotted

_NAMED = re.compile(rb"fixture\([^)]*name\s*=\s*[\"'](\w+)[\"']")
_PLUGINS = "pytest_plugins"
_SETTINGS = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_LOADS = rb"(?s)(?:pytest_plugins|pytest11|addopts|[\"']-p)\b.{0,2000}?[\"'.\s=]%s\b"
"""A name behind what loads plug-ins, near enough to be one of them."""


def is_collected_file(path: str) -> bool:
    """True for a file that pytest takes tests from."""
    name = path.rpartition("/")[2]
    return name.startswith("test_") or name.endswith("_test.py")


def visible(subject: Subject, path: str) -> Iterator[str]:
    """The names that a test file and the conftests above it bind."""
    for place in with_conftests(path):
        record = subject.table.record(place)
        if record is not None:
            yield from bound_in(subject, record, place)
            entry = subject.entry(place)
            named = _NAMED.findall(entry.data) if entry is not None else []
            yield from (name.decode() for name in named)


def bound_in(subject: Subject, record: Record, path: str) -> Iterator[str]:
    """The names that a file binds, those of its star imports included."""
    yield from record.names
    for level, module in record.stars:
        target = subject.table.modules.find(path, level, module)
        other = subject.table.record(target.path)
        if other is not None and other is not record:
            yield from other.names


def others_saying(subject: Subject, name: str) -> Iterator[str]:
    """The other tests that hold a word, and that the stack leaves alone."""
    mine = {*subject.touched, subject.file.source.path}
    found = set(subject.table.mentioning(name)) - mine
    return (path for path in found if is_test(path))


def asks(record: Record | None, name: str) -> bool:
    """True where a function of a file has a parameter of this name."""
    bindings = (b for found in (record.names if record else {}).values() for b in found)
    functions = (b.function for b in bindings if b.function is not None)
    return any(p.name == name for function in functions for p in function.parameters)


def is_out_of_sight(subject: Subject, name: str) -> bool:
    """True where all that makes a fixture of this name are tests and conftests that are not
    above the file, that no plug-in loads, and that every untouched test asking for it sees."""
    path, makers = subject.file.source.path, makers_of(subject, name)
    above = [place for place in with_conftests(path) if subject.table.record(place) is not None]
    if not makers or any(subject.resolver.member(place, name) is not None for place in above):
        return False
    if not all(is_collected_file(m) or m.rpartition("/")[2] == "conftest.py" for m in makers):
        return False
    if any(_is_loaded(subject, maker) for maker in makers):
        return False
    others = (
        path for path in others_saying(subject, name) if asks(subject.table.record(path), name)
    )
    return all(name in visible(subject, path) for path in others)


def makers_of(subject: Subject, name: str) -> list[str]:
    """The files that seem to make a fixture of this name."""
    return sorted(p for p in subject.table.mentioning(name) if _makes(subject, p, name))


def _makes(subject: Subject, path: str, name: str) -> bool:
    record, entry = subject.table.record(path), subject.entry(path)
    if record is None or entry is None or b"fixture" not in entry.data:
        return False
    if name.encode() in _NAMED.findall(entry.data):
        return True
    bound = record.names.get(name, ())
    functions = (b.function for b in bound if b.function is not None)
    last = {dotted(d).rpartition(".")[2] for f in functions for d in f.decorators}
    return "fixture" in last or any(not (b.function or b.cls or b.module) for b in bound)


def _is_loaded(subject: Subject, path: str) -> bool:
    """True where a file that says `pytest_plugins`, or pytest's settings, may name a module."""
    stem = path.removesuffix(".py").rpartition("/")[2].encode()
    saying = [*subject.table.mentioning(_PLUGINS), *_SETTINGS]
    entries = (subject.entry(place) for place in saying)
    return any(re.search(_LOADS % stem, entry.data) for entry in entries if entry is not None)
