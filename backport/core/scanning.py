"""How each hunk of a stack fares along a history, judged once per version of its file.

A commit matters only by the versions it gives to the stack's files, so a history of
any length costs one evaluation per version. Clean and conflict alternate freely along
a history, so the whole of it is walked; bisection would answer wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from backport.core.applying import apply_stack
from backport.core.outcomes import Outcome
from backport.core.patches import FilePatch
from backport.core.stacks import Stack
from backport.core.trees import Entry

Version = tuple[str, str]  # mode and blob id; ("", "") where the file is not there
ABSENT: Version = ("", "")


class Sight(StrEnum):
    """How one hunk stands at one commit."""

    CLEAN = "clean"
    ALREADY = "already"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Seen:
    """One hunk at one version of its file: how it stands, where, and why."""

    hunk: str
    path: str
    sight: Sight
    line: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Unit:
    """Files that must be judged together (a rename joins two), with the patches cut to them."""

    paths: tuple[str, ...]
    stack: Stack


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the history: what it is, and the versions it gives to files of ours."""

    id: str
    date: int
    subject: str
    versions: Mapping[str, Version]
    root: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A hunk stands so from this commit on (None: from the start of the range)."""

    commit: Commit | None
    sight: Sight
    line: int
    detail: str


@dataclass(frozen=True, slots=True)
class HunkHistory:
    """One hunk along the range; consecutive spans differ in how the hunk stands."""

    hunk: str
    path: str
    spans: tuple[Span, ...]

    @property
    def broke(self) -> Commit | None:
        """The first commit at which it came into conflict."""
        return next((s.commit for s in self.spans[1:] if s.sight is Sight.CONFLICT), None)

    @property
    def repaired(self) -> Commit | None:
        """The first commit at which it came out of a conflict."""
        pairs = zip(self.spans, self.spans[1:], strict=False)
        return next((now.commit for was, now in pairs if was.sight is Sight.CONFLICT), None)

    @property
    def end(self) -> Sight:
        return self.spans[-1].sight


@dataclass(frozen=True, slots=True)
class History:
    """A stack along a range: its hunks, and the commits that touch its files with their verdict."""

    stack: str
    digest: str
    hunks: tuple[HunkHistory, ...]
    commits: tuple[tuple[Commit, Sight], ...]
    start: Sight

    @property
    def end(self) -> Sight:
        return self.commits[-1][1] if self.commits else self.start


def units(stack: Stack) -> tuple[Unit, ...]:
    """The stack's files in groups that do not depend on each other."""
    groups: list[set[str]] = []
    for patch in stack.patches:
        for file in patch.files:
            paths = _paths(file)
            met = [group for group in groups if group & paths]
            groups = [group for group in groups if not group & paths]
            groups.append(paths.union(*met))
    order = {path: at for at, path in enumerate(stack.paths())}
    groups.sort(key=lambda group: min(order[path] for path in group))
    return tuple(
        Unit(tuple(sorted(group, key=order.__getitem__)), _cut(stack, group)) for group in groups
    )


def _paths(file: FilePatch) -> set[str]:
    return {path for path in (file.old_path, file.new_path) if path}


def _cut(stack: Stack, paths: set[str]) -> Stack:
    patches = (
        patch._replace(files=tuple(file for file in patch.files if _paths(file) & paths))
        for patch in stack.patches
    )
    return stack._replace(patches=tuple(patch for patch in patches if patch.files))


@dataclass(frozen=True, slots=True)
class _Files:
    """A tree of a few files."""

    entries: Mapping[str, Entry | None]

    def entry(self, path: str) -> Entry | None:
        return self.entries.get(path)

    def paths(self) -> Mapping[str, str]:
        return {path: "" for path, entry in self.entries.items() if entry}


def judge(unit: Unit, entries: Mapping[str, Entry | None]) -> tuple[Seen, ...]:
    """How the unit's hunks stand where its files have this content."""
    result = apply_stack(unit.stack, {}, _Files(entries))
    return tuple(
        Seen(str(hunk.id), hunk.path, _sight(hunk.outcome), hunk.line, hunk.detail)
        for hunk in result.hunks
    )


def _sight(outcome: Outcome) -> Sight:
    if outcome.failed:
        return Sight.CONFLICT
    return Sight.ALREADY if outcome is Outcome.ALREADY else Sight.CLEAN


def whole(sights: Sequence[Sight]) -> Sight:
    """How a stack stands whose hunks stand so: standing in part only is a conflict."""
    found = set(sights)
    if found == {Sight.ALREADY}:
        return Sight.ALREADY
    return Sight.CLEAN if found <= {Sight.CLEAN} else Sight.CONFLICT


Judged = Mapping[tuple[int, tuple[Version, ...]], tuple[Seen, ...]]  # by unit and versions


def trace(
    stack: Stack,
    parts: Sequence[Unit],
    start: Mapping[str, Version],
    commits: Sequence[Commit],
    judged: Judged,
) -> History:
    """The stack along the commits, oldest first, given every judgement that they need."""
    versions = dict(start)
    now = [judged[at, versions_of(unit, versions)] for at, unit in enumerate(parts)]
    spans = {
        seen.hunk: [Span(None, seen.sight, seen.line, seen.detail)] for part in now for seen in part
    }
    told: list[tuple[Commit, Sight]] = []
    first = _whole(now)
    for commit in commits:
        touched = [at for at, unit in enumerate(parts) if set(unit.paths) & set(commit.versions)]
        versions.update(commit.versions)
        for at in touched:
            now[at] = judged[at, versions_of(parts[at], versions)]
            for seen in now[at]:
                if seen.sight is not spans[seen.hunk][-1].sight:
                    spans[seen.hunk].append(Span(commit, seen.sight, seen.line, seen.detail))
        if touched:
            told.append((commit, _whole(now)))
    hunks = tuple(
        HunkHistory(str(hunk), hunk.path, tuple(spans[str(hunk)])) for hunk, *_ in stack.hunks()
    )
    return History(stack.name, stack.digest, hunks, tuple(told), first)


def _whole(now: Sequence[tuple[Seen, ...]]) -> Sight:
    return whole([seen.sight for part in now for seen in part])


def versions_of(unit: Unit, versions: Mapping[str, Version]) -> tuple[Version, ...]:
    """The versions that a judgement of the unit is known by."""
    return tuple(versions.get(path, ABSENT) for path in unit.paths)
