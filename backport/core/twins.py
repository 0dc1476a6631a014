"""Hunks whose text stood more than once where the patch was made: which of these is meant?

On a target that changed the true place, the only fit left may be a look-alike, in the same
scope, in another one of the same name, or in a language without scopes here. The pre-image
tells: the hunk alone, merged three-way from it, must give what placing it gave.
"""

from __future__ import annotations

from typing import NamedTuple

from backport.core.merging import clean, merge
from backport.core.patches import Hunk
from backport.core.texts import Edit, splice, split_keeping_ends


class Doubt(NamedTuple):
    """Why the place of a hunk is not its own; `merges` where the pre-image tells the true one."""

    why: str
    merges: bool


def doubt(hunk: Hunk, edit: Edit | None, base: bytes, target: bytes) -> Doubt | None:
    """What speaks against the place that a hunk was given, if anything.

    `base` is the pre-image; `edit` is what placing the hunk does to the target (None: its
    result stands there already).
    """
    twins = _count(hunk.before, base)
    if twins < 2:
        return None
    before, theirs = split_keeping_ends(base), _changed(hunk, base)
    merged = clean(merge(before, split_keeping_ends(target), theirs)) if theirs else None
    placed = splice(target, [edit]) if edit else target
    if merged is not None and b"".join(merged) == placed:
        return None
    why = f"its lines stand {twins} times in the text that it was made on, and here only where"
    if merged is not None:
        return Doubt(f"{why} another of these was", True)
    return Doubt(f"{why} its own may not have been; name the place in the manifest", False)


def _count(block: bytes, text: bytes) -> int:
    """How often the lines stand in the text, overlapping ones included."""
    found, at = 0, text.find(block)
    while at != -1:
        found += at == 0 or text[at - 1 : at] == b"\n"
        at = text.find(block, at + 1)
    return found


def _changed(hunk: Hunk, base: bytes) -> list[bytes] | None:
    """The pre-image with this hunk alone; None where it does not stand where it says."""
    lines, old = split_keeping_ends(base), split_keeping_ends(hunk.before)
    start = hunk.old_start - 1
    end = start + len(old)
    if lines[start:end] != old:
        return None
    return [*lines[:start], *split_keeping_ends(hunk.after), *lines[end:]]
