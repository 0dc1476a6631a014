"""Is the place that a hunk was given its own? The text that it was made on tells.

On a target that changed the true place, the only fit left may be a look-alike: in the same
scope, in another one of the same name, in a copy that the target made, or in a language
without scopes here. The hunk alone, merged three-way, must give what placing it gave.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from backport.core.diffing import Change, changes, changes_between
from backport.core.display import counted
from backport.core.merging import clean, merge_changes
from backport.core.patches import Hunk
from backport.core.texts import Edit, splice, split_keeping_ends

_WORD = re.compile(rb"[\w\x80-\xff]")
_COPIED = (
    "its lines stand here, while most of them are still at line {} where others of them were "
    "changed; name the place in the manifest"
)


class Doubt(NamedTuple):
    """Why the place of a hunk is not its own; `merges` where the pre-image tells the true one."""

    why: str
    merges: bool


class Proof:
    """The text that a file's patch was made on, beside the target's: compared once."""

    def __init__(self, base: bytes, target: bytes) -> None:
        self.base = base
        self.target = target

    @cached_property
    def _lines(self) -> list[bytes]:
        return split_keeping_ends(self.base)

    @cached_property
    def _theirs(self) -> list[bytes]:
        return split_keeping_ends(self.target)

    @cached_property
    def _changes(self) -> list[Change]:
        return changes(self._lines, self._theirs)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(map(len, self._theirs))]

    def doubt(self, hunk: Hunk, edit: Edit | None) -> Doubt | None:
        """What speaks against the place that a hunk was given, if anything.

        `edit` is what placing the hunk does to the target (None: its result stands there).
        """
        if edit and edit.block and edit.block[0] == self.own_place(hunk):
            return None
        merged = self._merged(hunk)
        placed = splice(self.target, [edit]) if edit else self.target
        if merged == placed:
            return None
        stands = count(hunk.before if edit else hunk.after, self.base)
        if merged is None and stands < (2 if edit else 1):
            at = self._left_behind(hunk, edit) if edit else 0
            return Doubt(_COPIED.format(at), merges=False) if at else None
        return Doubt(_why(stands, edit, sure=merged is not None), merged is not None)

    def own_place(self, hunk: Hunk) -> int | None:
        """The offset to which the changes above have moved the hunk's lines; None where a change
        touches them: that is what every merge comes to."""
        start, size = hunk.old_start - 1, len(split_keeping_ends(hunk.before))
        if b"".join(self._lines[start : start + size]) != hunk.before:
            return None
        if any(c.a0 <= start + size and start <= c.a1 for c in self._changes):
            return None
        return self._starts[self._now(start)]

    def _now(self, at: int) -> int:
        """Where a line that no change touches is in the target, from 0."""
        return at + sum((c.b1 - c.b0) - (c.a1 - c.a0) for c in self._changes if c.a1 <= at)

    def _left_behind(self, hunk: Hunk, edit: Edit) -> int:
        """The target's line where most of the hunk's lines still are in their own place, or 0.

        What was moved leaves nothing behind: lines that stand elsewhere, while only some at
        their own place were changed, are a copy.
        """
        start, old = hunk.old_start - 1, split_keeping_ends(hunk.before)
        end = start + len(old)
        if self._lines[start:end] != old:
            return 0
        first, last = edit.block or (edit.start, edit.end)
        wanted = Counter(line for line in old if _WORD.search(line))
        here = [
            at
            for at in self._stand(start, end)
            if self._theirs[at] in wanted and not first <= self._starts[at] < last
        ]
        left = wanted & Counter(self._theirs[at] for at in here)
        return min(here) + 1 if 2 * left.total() > wanted.total() else 0

    def _stand(self, start: int, end: int) -> list[int]:
        """The target's lines, from 0, that stand where those of the pre-image stood: what is as
        it was, and what came for what is not."""
        touching = [c for c in self._changes if c.a0 <= end and start <= c.a1]
        gone = {at for c in touching for at in range(c.a0, c.a1)}
        kept = [self._now(at) for at in range(start, end) if at not in gone]
        return [*kept, *(at for c in touching for at in range(c.b0, c.b1))]

    def settles(self, hunk: Hunk) -> bool:
        """True where the target has no more and no fewer places than there were for the hunk's
        lines and for its result, so that each is one of those."""
        both = (hunk.before, hunk.after)
        return all(count(block, self.base) == count(block, self.target) for block in both)

    def _merged(self, hunk: Hunk) -> bytes | None:
        """The target with this hunk alone; None where that is in conflict."""
        old, new = split_keeping_ends(hunk.before), split_keeping_ends(hunk.after)
        start, lines = hunk.old_start - 1, self._lines
        end = start + len(old)
        if lines[start:end] != old:
            return None
        after = [*lines[:start], *new, *lines[end:]]
        own = changes_between(lines, after, start, len(lines) - end)
        found = clean(merge_changes(lines, self._theirs, after, self._changes, own))
        return None if found is None else b"".join(found)


def _why(stands: int, edit: Edit | None, *, sure: bool) -> str:
    what = "lines stand" if edit else "result stands"
    known = f"its {what} {counted(stands, 'time')} in the text that it was made on, and here only"
    if stands == 0:
        known = f"its {what} here"
    if sure:
        return f"{known} where another place of that text was"
    return f"{known} where its own may not have been; name the place in the manifest"


def count(block: bytes, text: bytes) -> int:
    """How often the lines stand in the text, overlapping ones included."""
    found, at = 0, text.find(block)
    while at != -1:
        found += at == 0 or text[at - 1 : at] == b"\n"
        at = text.find(block, at + 1)
    return found
