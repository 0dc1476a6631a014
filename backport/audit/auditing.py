"""The audit itself: run the checks on the patched tree, keep what the pristine one lacks.

A finding is known by path, code, symbol and message, never by its line, so that
code which only moved is not new. What the pristine tree has, it may keep.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from backport.audit.building import table_of
from backport.audit.catalogue import CHECKS
from backport.audit.ignored import Ignored
from backport.audit.impact import neighbours
from backport.audit.resolve import Resolver
from backport.audit.subject import Check, CouldNotRun, Options, Subject
from backport.audit.table import Table
from backport.audit.versions import oldest_python
from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.trees import Entry, Overlay, Tree

Key = tuple[str, str, str, str]

_OPINIONS = frozenset({"ruff", "ty", "removed"})
"""Checks that only add to what the others find at the same place."""


@dataclass(slots=True)
class Findings:
    """What each check found, by its name, and why one could not be brought to an end."""

    by_check: dict[str, list[Finding]] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, found: Iterable[Finding]) -> None:
        self.by_check.setdefault(name, []).extend(found)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the collector: records are many, live to the end, and hold no cycles."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Auditor:
    """Audits changes to one tree, of which the table is read once.

    `table` is that of the tree, where it is at hand.
    """

    @_uncollected()
    def __init__(self, base: Tree, options: Options, table: Table | None = None) -> None:
        self.base = base
        self.options = options
        self._pristine = _subject(base, base.entry, table or _table(base, options), options)

    @_uncollected()
    def audit(self, changes: Mapping[str, Entry | None]) -> tuple[CheckResult, ...]:
        """One result per check, with only what the changes made worse."""
        after = Overlay(self.base, dict(changes))
        before = self._pristine.table
        patched = _subject(after, after.entry, before.patched(changes), self.options)
        patched = replace(patched, before=before, had=self.base.entry, touched=frozenset(changes))
        pristine = replace(self._pristine, touched=frozenset(changes), minimum=patched.minimum)
        chosen = _chosen(patched)
        files = [path for path in changes if path.endswith(".py")]
        files += neighbours(before, patched.table, changes) if _reads_files(chosen) else []
        found = _findings(patched, chosen, files)
        suspicious = [name for name in chosen if found.by_check.get(name)]
        compared = [name for name in suspicious if CHECKS[name].compared]
        known = _findings(pristine, compared, sorted({*files, *changes}))
        fresh = {
            name: _fresh(found.by_check[name], known.by_check.get(name, []), changes)
            for name in suspicious
        }
        not_run = {**found.not_run, **known.not_run}
        return _results(_mended(_alone(fresh), self.options), patched, not_run)

    def standing(self, paths: Iterable[str] | None = None) -> tuple[Finding, ...]:
        """Every finding of the tree itself, or of some files: nothing is known to be well."""
        subject = self._pristine
        chosen = _chosen(subject)
        wanted = set(subject.table.everything if paths is None else paths)
        found = _findings(subject, chosen, sorted(p for p in wanted if p.endswith(".py")))
        every = (finding for name in chosen for finding in found.by_check.get(name, ()))
        return tuple(finding for finding in every if finding.path in wanted or not finding.path)

    def onto(self, tree: Tree) -> Auditor:
        """An auditor of another tree; only the files that differ are read."""
        had, has = self.base.paths(), tree.paths()
        differing = {path for path in had.keys() | has.keys() if had.get(path) != has.get(path)}
        table = self._pristine.table.patched({path: tree.entry(path) for path in differing})
        return Auditor(tree, self.options, table)


def _chosen(subject: Subject) -> list[str]:
    return [name for name, check in CHECKS.items() if _skipped(name, check, subject) is None]


def _table(tree: Tree, options: Options) -> Table:
    """The table of a tree; of one with changes on top, the table of what lies below, patched."""
    if isinstance(tree, Overlay):
        return _table(tree.base, options).patched(tree.changes)
    return Table.of(table_of(tree, options.cache, options.processes), tree.paths())


def _subject(
    tree: Tree, entry: Callable[[str], Entry | None], table: Table, options: Options
) -> Subject:
    ignored = entry(".gitignore")
    return Subject(
        table,
        Resolver(table),
        entry,
        options,
        options.minimum or oldest_python(tree),
        frozenset(),
        Ignored.read(ignored.data if ignored is not None else None),
    )


def _skipped(name: str, check: Check, subject: Subject) -> str | None:
    """Why a check is not run; None where it is."""
    wanted = subject.options.checks
    if wanted is not None and name not in wanted:
        return "not asked for"
    if wanted is None and check.optional:
        return "runs only when it is asked for"
    return check.needs(subject) or None


def _reads_files(names: Iterable[str]) -> bool:
    return any(CHECKS[name].per_file for name in names)


def _findings(subject: Subject, names: Iterable[str], files: Iterable[str]) -> Findings:
    """What the checks say about a tree and some of its files, each file read once."""
    found = Findings()
    per_file = [name for name in names if CHECKS[name].per_file]
    for path in files if per_file else ():
        places = subject.read(path)
        if places is not None:
            one = replace(subject, reading=places)
            for name in per_file:
                found.add(name, CHECKS[name].run(one))
    for name in names:
        if not CHECKS[name].per_file:
            try:
                found.add(name, CHECKS[name].run(subject))
            except CouldNotRun as error:
                found.not_run[name] = str(error)
    return found


def _key(finding: Finding) -> Key:
    return finding.path, finding.code, finding.symbol, finding.message


def _fresh(
    found: list[Finding], known: list[Finding], changes: Mapping[str, Entry | None]
) -> list[Finding]:
    """The findings beyond those known: as a multiset, and wherever a file was moved from."""
    allowed = Counter(map(_key, known))
    moved = Counter(_key(f)[1:] for f in known if changes.get(f.path, f) is None)
    fresh = []
    for finding in found:
        key = _key(finding)
        if allowed[key]:
            allowed[key] -= 1
        elif moved[key[1:]] and finding.path in changes:
            moved[key[1:]] -= 1
        else:
            fresh.append(finding)
    return fresh


def _alone(fresh: dict[str, list[Finding]]) -> dict[str, list[Finding]]:
    """Second opinions only where nothing else speaks of the same line."""
    said = {(f.path, f.line) for name, found in fresh.items() for f in found
            if name not in _OPINIONS}  # fmt: skip
    return {
        name: [f for f in found if name not in _OPINIONS or (f.path, f.line) not in said]
        for name, found in fresh.items()
    }


def _mended(fresh: dict[str, list[Finding]], options: Options) -> dict[str, list[Finding]]:
    """Name the hunk that was dropped where its definition is what is missing."""
    return {name: [_with_hint(f, options) for f in found] for name, found in fresh.items()}


def _with_hint(finding: Finding, options: Options) -> Finding:
    words = set(re.findall(r"\w+", finding.symbol)) & options.dropped
    if not words:
        return finding
    hint = f"a dropped hunk defines `{min(words)}`: carry the definition, or drop the use too"
    return finding._replace(mend=hint)


def _results(
    fresh: dict[str, list[Finding]], subject: Subject, not_run: Mapping[str, str]
) -> tuple[CheckResult, ...]:
    """A result for every check."""
    results = []
    for name, check in CHECKS.items():
        skipped = _skipped(name, check, subject) or not_run.get(name)
        if skipped is not None:
            results.append(CheckResult(name, Status.NOT_RUN, note=skipped))
        else:
            results.append(_result(name, fresh.get(name, [])))
    return tuple(results)


def _result(name: str, found: list[Finding]) -> CheckResult:
    failed = any(finding.severity is Severity.ERROR for finding in found)
    status = Status.FAILED if failed else Status.PASSED
    ordered = sorted(found, key=lambda f: (f.path, f.line, f.column, f.message))
    return CheckResult(name, status, tuple(ordered))
