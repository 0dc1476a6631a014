"""The symbol table of one tree, pristine or patched: records by path, and the sums over them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from backport.audit.building import is_source
from backport.audit.compiles import blob_id
from backport.audit.extract import SHORTEST_WORD, extract, mentions
from backport.audit.index import Index, Place
from backport.audit.modules import Modules
from backport.audit.records import UNREADABLE, Record, Registration
from backport.audit.schemas import native_record
from backport.audit.store import Stored
from backport.audit.terms import Term
from backport.core.trees import EXECUTABLE, REGULAR, Entry


@dataclass(frozen=True)
class Table:
    """What is known of every file of a tree.

    `changed` holds the records of patched files (None: deleted), which go before
    those of the stored table; `_memo` are those of the latter that were read so far.
    """

    stored: Stored
    everything: Mapping[str, str]
    index: Index
    changed: Mapping[str, Record | None] = field(default_factory=dict)
    words: Mapping[str, frozenset[str]] = field(default_factory=dict)
    _memo: dict[str, Record | None] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Stored, everything: Mapping[str, str]) -> Table:
        return cls(stored, everything, stored.index)

    def patched(self, changes: Mapping[str, Entry | None]) -> Table:
        """The table of the tree with these changes; what is read of others is shared."""
        everything = dict(self.everything)
        for path, entry in changes.items():
            everything.pop(path, None)
            if entry is not None:
                everything[path] = blob_id(entry.data)
        sources = {path: entry for path, entry in changes.items() if is_source(path)}
        records = {path: _record_of(path, entry) for path, entry in sources.items()}
        return replace(
            self,
            everything=everything,
            index=self.index.replaced({p: (self.record(p), new) for p, new in records.items()}),
            changed={**self.changed, **records},
            words={**self.words, **{p: _words_of(p, entry) for p, entry in sources.items()}},
        )

    def record(self, path: str) -> Record | None:
        """The record of a file, None where the tree has no such source."""
        if path in self.changed:
            return self.changed[path]
        if path not in self._memo:
            number = self._numbers.get(path)
            self._memo[path] = None if number is None else self.stored.record(number)
        return self._memo[path]

    def mentioning(self, word: str) -> Iterator[str]:
        """The Python files that hold this word."""
        for number in self.stored.postings.numbers(word):
            path = self._paths[number]
            if path not in self.changed:
                yield path
        yield from (path for path, words in self.words.items() if word in words)

    def says(self, word: str) -> bool:
        """True where some Python file holds this word, and for words too short to be listed."""
        return len(word) < SHORTEST_WORD or any(True for _ in self.mentioning(word))

    def extending(self, name: str) -> list[Place]:
        """The classes with a base of this last name."""
        return self.index.extends.get(name, [])

    def is_loose(self, name: str, *, in_tests: bool = False) -> bool:
        """True where some code gives this attribute to objects that are not its own."""
        return bool(self.index.loose.get(name)) or (in_tests and name in self.index.test_loose)

    def given(self, name: str) -> Iterator[tuple[str, Term]]:
        """What code outside of tests assigns to this attribute of objects that are not its
        own, with the file."""
        for path, terms in self.index.loose.get(name, {}).items():
            yield from ((path, term) for term in terms)

    def registrations(self) -> Iterator[tuple[str, Registration]]:
        """Every custom-op registration with its file."""
        for path in sorted(self.index.registrations):
            for registration in self.index.registrations[path]:
                yield path, registration

    @cached_property
    def modules(self) -> Modules:
        return Modules.of(self.everything)

    @cached_property
    def _paths(self) -> list[str]:
        return list(self.stored.blobs)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {path: number for number, path in enumerate(self.stored.blobs)}


def _record_of(path: str, entry: Entry | None) -> Record | None:
    if entry is None:
        return None
    if entry.mode not in (REGULAR, EXECUTABLE):
        return UNREADABLE
    return extract(entry.data) if path.endswith(".py") else native_record(entry.data)


def _words_of(path: str, entry: Entry | None) -> frozenset[str]:
    readable = entry is not None and path.endswith(".py")
    return mentions(entry.data) if readable and entry else frozenset()
