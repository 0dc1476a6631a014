"""How one stack comes out on two targets: hunk by hunk, and in the lines that it changes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backport.core.outcomes import HunkResult, Outcome, StackResult
from backport.core.patches import CONTEXT, FilePatch
from backport.core.paths import decode

_BY_ITSELF = (Outcome.EXACT, Outcome.MOVED)


class Sides(NamedTuple):
    """One hunk on the two targets; None where the stack was not tried there."""

    hunk: str
    one: HunkResult | None
    other: HunkResult | None


class Contrast(NamedTuple):
    """One stack on two targets: what it came to, the hunks that differ, and the lines that do.

    A result of None says that the target does not list the stack. `lines` is the
    difference between its changed lines on the one and on the other, context left out.
    """

    stack: str
    one: StackResult | None
    other: StackResult | None
    hunks: tuple[Sides, ...]
    lines: tuple[str, ...]

    @property
    def same(self) -> bool:
        """True where the stack changes the same lines on both, in whatever place."""
        outcomes = {side.outcome if side else None for side in (self.one, self.other)}
        return len(outcomes) == 1 and not self.hunks and not self.lines


def contrast(
    stack: str,
    results: tuple[StackResult | None, StackResult | None],
    files: tuple[Sequence[FilePatch], Sequence[FilePatch]],
) -> Contrast:
    """The stack's results on two targets and its squashed changes there, side by side."""
    one, other = results
    hunks = tuple(sides for sides in _sides(one, other) if _differ(sides))
    before, after = (list(_changed(side)) for side in files)
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
    shown = tuple("@@" if line.startswith("@@") else line for line in lines)
    return Contrast(stack, one, other, hunks, shown)


def _sides(one: StackResult | None, other: StackResult | None) -> Iterator[Sides]:
    found = [{str(h.id): h for h in side.hunks} if side else {} for side in (one, other)]
    for key in dict.fromkeys([*found[0], *found[1]]):
        yield Sides(key, found[0].get(key), found[1].get(key))


def _differ(sides: Sides) -> bool:
    """True where a hunk is not placed by itself, or not in the same way, on both."""
    one, other = sides.one, sides.other
    if one is None or other is None:
        return False  # the whole stack's outcome says so
    by_itself = one.outcome in _BY_ITSELF and other.outcome in _BY_ITSELF
    return not by_itself and (one.outcome, one.reason) != (other.outcome, other.reason)


def _changed(files: Sequence[FilePatch]) -> Iterator[str]:
    for file in sorted(files, key=lambda file: file.path):
        kind = " (new)" if file.creates else " (deleted)" if file.deletes else ""
        yield f"## {file.path}{kind}"
        if file.binary:
            yield f"binary {file.header_digest}"
        for hunk in file.hunks:
            for line in hunk.lines:
                if line[:1] != CONTEXT:
                    yield decode(line).rstrip("\n")
