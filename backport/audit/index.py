"""What must be known of a whole tree at once: who extends, assigns, registers, mentions.

Everything else is looked up file by file, so a warm table reads little.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from backport.audit.paths import is_test
from backport.audit.records import NOTHING, Binding, Class, Record, Registration
from backport.audit.terms import Term, dotted

T = TypeVar("T")
Place = tuple[str, str]
"""A class by its file and its qualified name."""

Change = tuple[Record | None, Record | None]
"""A file's record before and after; None where there is no such file."""


@dataclass(frozen=True)
class Postings:
    """For each word, the files that hold it; kept as flat text and numbers."""

    words: str
    starts: bytes
    files: bytes

    @classmethod
    def of(cls, held: Iterable[Iterable[str]]) -> Postings:
        """The postings of files numbered in the order given."""
        lists: defaultdict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(held):
            for word in words:
                lists[word].append(number)
        starts, files = array("I", [0]), array("I")
        for word in lists:
            files.extend(lists[word])
            starts.append(len(files))
        return cls("\n".join(lists), starts.tobytes(), files.tobytes())

    def numbers(self, word: str) -> Iterator[int]:
        """The numbers of the files that hold the word."""
        place = self._places.get(word)
        if place is not None:
            begin, end = self._starts[place], self._starts[place + 1]
            yield from memoryview(self.files).cast("I")[begin:end]

    def per_file(self, count: int) -> list[list[str]]:
        """The words of each file: what `of` was given."""
        held: list[list[str]] = [[] for _ in range(count)]
        numbers = memoryview(self.files).cast("I")
        for word, place in self._places.items():
            for number in numbers[self._starts[place] : self._starts[place + 1]]:
                held[number].append(word)
        return held

    @cached_property
    def _places(self) -> dict[str, int]:
        words = self.words.split("\n") if self.words else []
        return {word: place for place, word in enumerate(words)}

    @cached_property
    def _starts(self) -> memoryview[int]:
        return memoryview(self.starts).cast("I")


@dataclass(frozen=True, slots=True)
class Index:
    """The sums over all records of a tree."""

    extends: dict[str, list[Place]]
    defined: dict[str, int]
    loose: dict[str, dict[str, tuple[Term, ...]]]
    test_loose: dict[str, int]
    registrations: dict[str, tuple[Registration, ...]]
    operators: dict[str, tuple[tuple[str, str], ...]]
    filled: dict[str, tuple[str, ...]]

    def replaced(self, changes: Mapping[str, Change]) -> Index:
        """The index after some files changed."""
        tests = {path: change for path, change in changes.items() if is_test(path)}
        others = {path: change for path, change in changes.items() if path not in tests}
        return Index(
            _extended(self.extends, changes),
            _exchanged(self.defined, changes, defined_names),
            _loosened(self.loose, others),
            _exchanged(self.test_loose, tests, _loose),
            _with(self.registrations, {p: new.registrations for p, new in _after(changes)}),
            _with(self.operators, {p: new.operators for p, new in _after(changes)}),
            _with(self.filled, {p: new.filled for p, new in _after(changes)}),
        )


def index_of(records: Mapping[str, Record]) -> Index:
    """The index of a tree's records."""
    extends: dict[str, list[Place]] = {}
    defined: Counter[str] = Counter()
    loose: dict[str, dict[str, tuple[Term, ...]]] = {}
    test_loose: Counter[str] = Counter()
    for path, record in records.items():
        for base, place in _extensions(record, path):
            extends.setdefault(base, []).append(place)
        defined.update(defined_names(record))
        if is_test(path):
            test_loose.update(_loose(record).keys())
        else:
            for name, terms in _loose(record).items():
                loose.setdefault(name, {})[path] = terms
    registrations = {p: r.registrations for p, r in records.items() if r.registrations}
    operators = {p: r.operators for p, r in records.items() if r.operators}
    filled = {p: r.filled for p, r in records.items() if r.filled}
    return Index(extends, dict(defined), loose, dict(test_loose), registrations, operators, filled)


def class_records(
    names: Mapping[str, tuple[Binding, ...]], prefix: str = ""
) -> Iterator[tuple[str, Class]]:
    """Every class among the bindings with its qualified name, nested ones included."""
    for name, bindings in names.items():
        for binding in bindings:
            if binding.cls is not None:
                yield prefix + name, binding.cls
                yield from class_records(binding.cls.members, f"{prefix}{name}.")


def _extensions(record: Record | None, path: str) -> Iterator[tuple[str, Place]]:
    """The last name of each base of each class, with the class."""
    for qualified, cls in class_records(record.names) if record else ():
        for base in cls.bases:
            name = dotted(base).rpartition(".")[2]
            if name:
                yield name, (path, qualified)


def _loose(record: Record | None) -> dict[str, tuple[Term, ...]]:
    """The attributes that objects of any class may have by this file: what it gives them,
    with nothing for those that it only asks for by name."""
    if record is None:
        return {}
    return dict.fromkeys(record.dynamic, ()) | record.loose


def defined_names(record: Record | None) -> set[str]:
    """Every name that the file makes readable as an attribute of something."""
    if record is None:
        return set()
    found = set(record.names) | set(record.served or ()) | _loose(record).keys()
    for _, cls in class_records(record.names):
        found.update(cls.members, cls.attributes)
    return found


def _after(changes: Mapping[str, Change]) -> Iterator[tuple[str, Record]]:
    """The records that come in the place of others: an empty one for a file that is gone."""
    for path, (_, new) in changes.items():
        yield path, new if new is not None else NOTHING


def _extended(
    extends: dict[str, list[Place]], changes: Mapping[str, Change]
) -> dict[str, list[Place]]:
    """Who extends what, after the changes."""
    touched = {
        base
        for path, change in changes.items()
        for record in change
        for base, _ in _extensions(record, path)
    }
    kept = {
        base: [place for place in extends.get(base, ()) if place[0] not in changes]
        for base in touched
    }
    for path, (_, new) in changes.items():
        for base, place in _extensions(new, path):
            kept[base].append(place)
    return extends | kept


def _loosened(
    loose: dict[str, dict[str, tuple[Term, ...]]], changes: Mapping[str, Change]
) -> dict[str, dict[str, tuple[Term, ...]]]:
    """What is given to objects of any class, by name and file, after the changes."""
    old = {name for record, _ in changes.values() for name in _loose(record)}
    kept = {
        name: {path: terms for path, terms in loose.get(name, {}).items() if path not in changes}
        for name in old
    }
    for path, (_, new) in changes.items():
        for name, terms in _loose(new).items():
            kept[name] = kept.get(name, loose.get(name, {})) | {path: terms}
    return loose | kept


def _with(parts: dict[str, tuple[T, ...]], own: dict[str, tuple[T, ...]]) -> dict[str, Any]:
    """The parts by file, with those of some files exchanged."""
    return {path: part for path, part in (parts | own).items() if part}


def _exchanged(
    counts: dict[str, int],
    changes: Mapping[str, Change],
    names: Callable[[Record | None], Iterable[str]],
) -> dict[str, int]:
    """In how many files each name stands, after the changes."""
    changed = Counter(counts)
    for old, new in changes.values():
        changed.subtract(list(names(old)))
        changed.update(list(names(new)))
    return {name: count for name, count in changed.items() if count > 0}
