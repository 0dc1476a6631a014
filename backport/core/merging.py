"""Three-way merge of lines: what each side changed of the base, and where both touched the same.

Changes that touch, even without a shared line, are one region, as git sees it. A
region that both sides changed alike is no conflict.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from math import inf
from typing import Generic, NamedTuple, TypeVar

from backport.core.diffing import Change, changes

T = TypeVar("T", bound=Hashable)


class Region(NamedTuple, Generic[T]):
    """One stretch of a merge: where it stands on each side, and the merged items.

    `base`, `ours` and `theirs` are (first, end) counted from 0; `merged` is None
    where both sides changed the stretch, each in its own way.
    """

    base: tuple[int, int]
    ours: tuple[int, int]
    theirs: tuple[int, int]
    merged: tuple[T, ...] | None


def merge(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> list[Region[T]]:
    """The regions of the three-way merge in order, unchanged stretches included."""
    return merge_changes(base, ours, theirs, changes(base, ours), changes(base, theirs))


def merge_changes(
    base: Sequence[T],
    ours: Sequence[T],
    theirs: Sequence[T],
    left: list[Change],
    right: list[Change],
) -> list[Region[T]]:
    """The same, where what each side changed is known."""
    out: list[Region[T]] = []
    at = [0, 0, 0]
    for group in _grouped(left, right):
        start = min(change.a0 for side in group for change in side)
        end = max(change.a1 for side in group for change in side)
        gap = start - at[0]
        if gap:
            out.append(_kept(at, gap, base))
        mine = _span(group[0], start, end, at[1] + gap)
        other = _span(group[1], start, end, at[2] + gap)
        found = _decided(group, ours[slice(*mine)], theirs[slice(*other)])
        out.append(Region((start, end), mine, other, found))
        at = [end, mine[1], other[1]]
    if at[0] < len(base):
        out.append(_kept(at, len(base) - at[0], base))
    return out


def clean(regions: Sequence[Region[T]]) -> list[T] | None:
    """The merged items, or None where a region is in conflict."""
    out: list[T] = []
    for region in regions:
        if region.merged is None:
            return None
        out += region.merged
    return out


def interleaved(base: Sequence[T], ours: Sequence[T], theirs: Sequence[T]) -> list[T] | None:
    """Both sides' changes, where they touch but never overlap; None where they do.

    Two insertions at one point have no order, so they count as overlapping, and so do
    changes that touch and bring in the same item: it would be there twice.
    """
    mine, other = changes(base, ours), changes(base, theirs)
    if any(_bring_the_same(ours, theirs, *pair) for pair in product(mine, other)):
        return None
    tagged = [(change, ours) for change in mine] + [(change, theirs) for change in other]
    tagged.sort(key=lambda pair: pair[0])
    out: list[T] = []
    at = 0
    before: Change | None = None
    for change, side in tagged:
        if change.a0 < at or (before is not None and before[:2] == change[:2]):
            return None
        out += base[at : change.a0]
        out += side[change.b0 : change.b1]
        at, before = change.a1, change
    return [*out, *base[at:]]


def _bring_the_same(ours: Sequence[T], theirs: Sequence[T], mine: Change, other: Change) -> bool:
    if mine.a0 > other.a1 or other.a0 > mine.a1:
        return False
    both = {*ours[mine.b0 : mine.b1]} & {*theirs[other.b0 : other.b1]}
    return any(not isinstance(item, bytes) or item.strip() for item in both)


def _kept(at: list[int], gap: int, base: Sequence[T]) -> Region[T]:
    mine, other = (at[1], at[1] + gap), (at[2], at[2] + gap)
    return Region((at[0], at[0] + gap), mine, other, tuple(base[at[0] : at[0] + gap]))


def _grouped(mine: list[Change], other: list[Change]) -> list[tuple[list[Change], list[Change]]]:
    """Changes of both sides that touch each other, together."""
    out: list[tuple[list[Change], list[Change]]] = []
    end = -inf
    for change, side in sorted([(c, 0) for c in mine] + [(c, 1) for c in other]):
        if change.a0 > end:
            out.append(([], []))
        out[-1][side].append(change)
        end = max(end, change.a1)
    return out


def _span(side: list[Change], start: int, end: int, at: int) -> tuple[int, int]:
    """Where one side stands for base items `start`..`end`, beginning at `at`."""
    grown = sum((c.b1 - c.b0) - (c.a1 - c.a0) for c in side)
    return at, at + (end - start) + grown


def _decided(
    group: tuple[list[Change], list[Change]], ours: Sequence[T], theirs: Sequence[T]
) -> tuple[T, ...] | None:
    if not group[0]:
        return tuple(theirs)
    return tuple(ours) if not group[1] or list(ours) == list(theirs) else None
