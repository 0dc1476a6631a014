"""Judge a result by its content: what changed must be what the patches say, no more, no less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

from backport.core.hazards import hazard
from backport.core.outcomes import (
    CheckResult,
    Finding,
    HunkResult,
    Severity,
    StackResult,
    Status,
)
from backport.core.outlines import definitions, same_definitions
from backport.core.scopes import Scope, defined_twice, scopes
from backport.core.trees import DIRECTORY, Entry, Tree


def check_content(
    base: Tree, changes: Mapping[str, Entry | None], results: tuple[StackResult, ...]
) -> CheckResult:
    """Compare the final changes with the hunks that were placed.

    Only paths that a placed hunk names may differ, the lines of each file grow
    by what its hunks add and remove, and no definition stands twice that did not
    before. Every one of these has failed silently in tools that trust an exit status.
    Files that change what git or a CI does by being there are pointed out too.
    """
    applied = [result for result in results if result.changes]
    placed = [hunk for result in applied for hunk in result.hunks if hunk.outcome.placed]
    named = {path for result in applied for path in result.changes}
    findings = [
        _finding(path, "touched-path", "changed, though no applied stack changes it")
        for path in sorted(set(changes) - named)
    ]
    by_path: dict[str, list[HunkResult]] = {}
    for hunk in placed:
        by_path.setdefault(hunk.path, []).append(hunk)
    for path, entry in sorted(changes.items()):
        before = base.entry(path)
        danger = hazard(path, before, entry)
        findings += [_finding(path, *danger)] if danger else []
        if entry is not None and before is not None:
            findings += _line_count(path, before, entry, by_path.get(path, []))
        if entry is not None:
            findings += _defined_twice(path, before, entry)
    status = Status.FAILED if findings else Status.PASSED
    return CheckResult("content", status, tuple(findings))


def _finding(path: str, code: str, message: str, line: int = 0, symbol: str = "") -> Finding:
    return Finding(path, line, 1 if line else 0, Severity.ERROR, code, message, symbol)


def _line_count(path: str, before: Entry, after: Entry, mine: list[HunkResult]) -> list[Finding]:
    if not any(hunk.added or hunk.removed for hunk in mine) or _came_from_elsewhere(before, mine):
        return []
    expected = sum(hunk.added - hunk.removed for hunk in mine)
    found = _lines(after.data) - _lines(before.data)
    if found == expected:
        return []
    return [_finding(path, "line-count", f"grew by {found} lines, its hunks by {expected}")]


def _came_from_elsewhere(before: Entry, mine: list[HunkResult]) -> bool:
    """True where the file's lines are not those that stood at its path."""
    return before.mode == DIRECTORY or any(hunk.origin for hunk in mine)


def _lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _defined_twice(path: str, before: Entry | None, after: Entry) -> list[Finding]:
    if not path.endswith((".py", ".pyi")) or not _more_alike(before, after):
        return []
    now = scopes(after.data) or ()
    twice = defined_twice(now)
    if not twice:
        return []
    was = defined_twice(scopes(before.data) or ()) if before else {}
    return [
        _finding(
            path,
            "defined-twice",
            f"{name} is defined {count} times now",
            _last_line(now, name),
            name,
        )
        for name, count in sorted(twice.items())
        if count > was.get(name, 1) and not _legitimate(after.data, now, name)
    ]


def _more_alike(before: Entry | None, after: Entry) -> bool:
    """True where some name is defined more often than before, as far as lines alone can tell.

    Parsing every changed file would cost more than all the rest of a run.
    """
    if before and same_definitions(before.data, after.data):
        return False
    twice = {name: count for name, count in definitions(after.data).items() if count > 1}
    was = definitions(before.data) if twice and before else Counter()
    return any(count > was[name] for name, count in twice.items())


def _last_line(found: tuple[Scope, ...], name: str) -> int:
    return max(scope.line for scope in found if scope.name == name)


def _legitimate(text: bytes, found: tuple[Scope, ...], name: str) -> bool:
    """True where the definitions do not replace each other unseen.

    A decorated one (overload, setter) is handed to somebody, one that is indented
    otherwise is a fallback, and of two in the arms of one `if`, `try` or `match`
    only one runs.
    """
    lines = text.split(b"\n")
    plain: dict[int, list[Scope]] = {}
    for scope in found:
        if scope.name == name and scope.start == scope.line:
            line = lines[scope.line - 1]
            plain.setdefault(len(line) - len(line.lstrip()), []).append(scope)
    return all(
        one.excludes(other) for alike in plain.values() for one, other in combinations(alike, 2)
    )
