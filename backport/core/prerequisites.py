"""Which commit made, or took away, the lines that a patch builds on and the target lacks.

Most conflicts of a backport are a missing prerequisite: the lines that the patch
changes were written after the target branched off. Walking the file's versions
back from the patch's parent tells who wrote each of them. On a target newer than the
patch's parent they were changed since: walking forth to the target tells by whom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from backport.core.diffing import Change, changes


class Version(NamedTuple):
    """What one commit did to a file: its text before (empty: there was none) and after."""

    commit: str
    subject: str
    before: Sequence[bytes]
    after: Sequence[bytes]


def lacking(base: Sequence[bytes], target: Sequence[bytes], first: int, end: int) -> list[int]:
    """The lines `first` up to `end` (from 0) of the pre-image that the target does not have."""
    return [
        line
        for edit in changes(base, target)
        for line in range(max(first, edit.a0), min(end, edit.a1))
        if base[line].strip()
    ]


def owners(lines: Iterable[int], versions: Iterable[Version]) -> dict[str, str]:
    """The subject of each commit that wrote one of the lines, newest first.

    `lines` count from 0 in the newest version; `versions` go back in time, and are
    read only as far as lines are left. A line that none of them wrote has no owner.
    """
    left = set(lines)
    found: dict[str, str] = {}
    walk = iter(versions)
    while left:
        version = next(walk, None)
        if version is None:
            break
        edits = changes(version.before, version.after)
        was = {_before(line, edits) for line in left}
        if None in was:
            found[version.commit] = version.subject
        left = {line for line in was if line is not None}
    return found


def removers(lines: Iterable[int], versions: Iterable[Version]) -> dict[str, str]:
    """The subject of each commit that changed or took away one of the lines, oldest first.

    `lines` count from 0 in the text before the first version; `versions` go forth in time.
    """
    back = (version._replace(before=version.after, after=version.before) for version in versions)
    return owners(lines, back)


def _before(line: int, edits: Sequence[Change]) -> int | None:
    """The line's number before the commit; None where the commit wrote it."""
    shift = 0
    for edit in edits:
        if edit.b0 <= line < edit.b1:
            return None
        if edit.b1 <= line:
            shift = edit.a1 - edit.b1
    return line + shift
