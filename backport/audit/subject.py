"""What a check is given, and what it says about itself."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from backport.audit.excerpts import function_at
from backport.audit.functions import Definition
from backport.audit.ignored import Ignored
from backport.audit.paths import is_test, with_conftests
from backport.audit.reader import parse
from backport.audit.resolve import Resolver
from backport.audit.scoping import Places
from backport.audit.table import Table
from backport.audit.values import Value
from backport.core.outcomes import Finding, Severity
from backport.core.trees import EXECUTABLE, REGULAR, Entry, Tree

Version = tuple[int, int]


class Rule(NamedTuple):
    """What a code means, in one line, and how the fault is mended."""

    code: str
    text: str
    mend: str


class Commit(NamedTuple):
    """A commit of the source's history, with its whole message."""

    commit: str
    subject: str
    body: str

    @classmethod
    def of(cls, commit: str, message: str) -> Commit:
        """The commit of that id with that message."""
        subject, _, body = message.partition("\n")
        return cls(commit, subject, body)


@dataclass(frozen=True, slots=True)
class Options:
    """How to audit, and what the caller knows that the tree does not say.

    `minimum` is the oldest Python to support (None: what the tree's own pyproject asks
    for). `dropped` names what dropped hunks would have defined. `carried` are the commits
    of the stack and `history` the source's later ones, None where it is not at hand.
    `checks` names the checks to run (None: all that need nothing extra). `homes` gives, by
    path, the releases that the patches to it were made on, where those are at hand.
    """

    cache: Path | None = None
    processes: int | None = None
    minimum: Version | None = None
    checks: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    carried: tuple[Commit, ...] = ()
    history: tuple[Commit, ...] | None = None
    homes: Mapping[str, tuple[Tree, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """A tree under audit, and one file of it read closely (None: the tree as a whole).

    `touched` are the paths that the stack changes; `before` is the table of the pristine
    tree, and `had` its files, where this is the patched one.
    """

    table: Table
    resolver: Resolver
    entry: Callable[[str], Entry | None]
    options: Options
    minimum: Version | None
    touched: frozenset[str]
    ignored: Ignored = field(default_factory=lambda: Ignored(()))
    before: Table | None = None
    had: Callable[[str], Entry | None] | None = None
    reading: Places | None = None

    @property
    def file(self) -> Places:
        """The file that a check of files reads."""
        if self.reading is None:
            raise TypeError("the tree as a whole is under audit, not one file")
        return self.reading

    def read(self, path: str) -> Places | None:
        """Another file of the tree, read closely; None where there is no such source."""
        entry = self.entry(path)
        if entry is None or entry.mode not in (REGULAR, EXECUTABLE):
            return None
        source = parse(path, entry.data)
        return Places(self.resolver, source) if source is not None else None

    def definition(self, value: Value | None) -> Definition | None:
        """The function that a value is, parsed alone; None for any other value."""
        entry = self.entry(value.path) if value is not None and value.function else None
        return function_at(entry.data, value.line) if entry is not None and value else None

    def surroundings(self) -> Iterator[Places]:
        """The file, and the conftests above it where it is one of tests."""
        own = self.file.source.path
        yield self.file
        for place in with_conftests(own)[1:] if is_test(own) else ():
            read = self.read(place)
            if read is not None:
                yield read


Run = Callable[[Subject], Iterator[Finding]]


class CouldNotRun(Exception):
    """A check that had begun and could not be brought to an end; says why."""


class Check(NamedTuple):
    """A check: what it runs, whether once per file or once per tree, and its rules.

    `needs` says why it cannot run on a subject, the empty string where it can. One that is
    not `compared` speaks of the stack, whatever the pristine tree is like.
    """

    run: Run
    rules: tuple[Rule, ...]
    per_file: bool = True
    needs: Callable[[Subject], str] = lambda _: ""
    optional: bool = False
    compared: bool = True


def finding(
    path: str, node: ast.AST | None, rule: Rule, message: str, symbol: str, *, warns: bool = False
) -> Finding:
    """A finding at a node of a file (None: in the file as a whole)."""
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1
    return finding_at(path, line, rule, message, symbol, column=column, warns=warns)


def finding_at(
    path: str,
    line: int,
    rule: Rule,
    message: str,
    symbol: str,
    *,
    column: int = 1,
    warns: bool = False,
) -> Finding:
    """A fault at a line of a file, both from 1 (0 and column 0: the file as a whole)."""
    severity = Severity.WARNING if warns else Severity.ERROR
    return Finding(path, line, column, severity, rule.code, message, symbol, rule.mend)
