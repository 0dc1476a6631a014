"""Which lines two texts share: a histogram diff, with groups placed as git places them.

Three-way merging stands on this: where git's merge is clean, ours must be, so both
must see the same changes. Rare lines anchor first (a histogram of how often each
stands in the old text), groups of changed lines slide as far down as they can unless
they meet a change of the other side higher up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

MOST = 64  # a line that stands more often than this anchors nothing
_DEEPEST = 2000  # edits that the fallback tries before it calls all lines changed


class Change(NamedTuple):
    """Lines `a0`..`a1` of the old text became lines `b0`..`b1` of the new one (from 0)."""

    a0: int
    a1: int
    b0: int
    b1: int


def changes(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Change]:
    """What turns `a` into `b`, in order."""
    return [] if a == b else changes_between(a, b, 0, 0)


def changes_between(
    a: Sequence[Hashable], b: Sequence[Hashable], lead: int, trail: int
) -> list[Change]:
    """The same, where so many first and last lines are known to be the same.

    Leaving out what only happens to be equal is another diff: how often a line stands in
    the whole text decides what anchors.
    """
    numbers: dict[Hashable, int] = {}
    x = [numbers.setdefault(line, len(numbers)) for line in a[lead : len(a) - trail]]
    y = [numbers.setdefault(line, len(numbers)) for line in b[lead : len(b) - trail]]
    flags = _changed(x, y)
    old = [False] * lead + flags[0] + [False] * trail
    new = [False] * lead + flags[1] + [False] * trail
    _settle(a, old, new)
    _settle(b, new, old)
    return _collected(old, new)


def _collected(old: list[bool], new: list[bool]) -> list[Change]:
    out: list[Change] = []
    i = j = 0
    while True:
        same = min(_next(True, old, i) - i, _next(True, new, j) - j)
        a0, b0 = i + same, j + same
        if a0 == len(old) and b0 == len(new):
            return out
        i, j = _next(False, old, a0), _next(False, new, b0)
        out.append(Change(a0, i, b0, j))


def _next(flag: bool, flags: list[bool], start: int) -> int:
    try:
        return flags.index(flag, start)
    except ValueError:
        return len(flags)


# ---------------------------------------------------------------- which lines changed


def _changed(a: list[int], b: list[int]) -> tuple[list[bool], list[bool]]:
    """For each line of both texts whether it has no partner in the other one."""
    old, new = [True] * len(a), [True] * len(b)
    places: list[list[int]] = [[] for _ in range(max(a, default=-1) + 1)]
    for i, line in enumerate(a):
        places[line].append(i)
    todo = [(0, len(a), 0, len(b))]
    while todo:
        a0, a1, b0, b1 = todo.pop()
        if a0 == a1 or b0 == b1:
            continue
        found = _anchor(a, b, (a0, a1, b0, b1), places)
        if found is None:
            for i, j in _shortest(a[a0:a1], b[b0:b1]):
                old[a0 + i] = new[b0 + j] = False
            continue
        i, j, size = found
        if size:
            old[i : i + size] = new[j : j + size] = [False] * size
            todo += [(a0, i, b0, j), (i + size, a1, j + size, b1)]
    return old, new


def _anchor(
    a: list[int], b: list[int], bounds: tuple[int, int, int, int], places: list[list[int]]
) -> tuple[int, int, int] | None:
    """The run of shared lines that holds the rarest one: its two starts and its size.

    Size 0 where nothing is shared; None where only frequent lines are.
    """
    a0, a1, b0, b1 = bounds
    often = Counter(a[a0:a1])
    best, rarest = (0, 0, 0), MOST + 1
    shared = False
    j = b0
    while j < b1:
        after = j + 1
        count = often.get(b[j], 0)
        shared = shared or count > 0
        reached = -1
        for spot in _between(places[b[j]], a0, count) if 0 < count <= rarest else ():
            if spot <= reached:
                continue
            i, start, size = _grown(a, b, spot, j, bounds)
            reached, after = i + size - 1, max(after, start + size)
            if size > best[2] or rarest > 1:
                least = min(map(often.__getitem__, a[i : i + size]))
                if size > best[2] or least < rarest:
                    best, rarest = (i, start, size), least
        j = after
    return None if shared and rarest > MOST else best


def _between(spots: list[int], start: int, count: int) -> list[int]:
    first = bisect_left(spots, start)
    return spots[first : first + count]


def _grown(
    a: list[int], b: list[int], i: int, j: int, bounds: tuple[int, int, int, int]
) -> tuple[int, int, int]:
    """The whole run of equal lines around a pair: its two starts and its size."""
    a0, a1, b0, b1 = bounds
    end_i, end_j = i + 1, j + 1
    while i > a0 and j > b0 and a[i - 1] == b[j - 1]:
        i, j = i - 1, j - 1
    while end_i < a1 and end_j < b1 and a[end_i] == b[end_j]:
        end_i, end_j = end_i + 1, end_j + 1
    return i, j, end_j - j


def _shortest(a: list[int], b: list[int]) -> list[tuple[int, int]]:
    """Pairs of equal lines that leave the fewest others (Myers 1986), for frequent lines only."""
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for depth in range(min(len(a) + len(b), _DEEPEST) + 1):
        trace.append(dict(furthest))
        for k in range(-depth, depth + 1, 2):
            down = k == -depth or (k != depth and furthest[k - 1] < furthest[k + 1])
            i = furthest[k + 1] if down else furthest[k - 1] + 1
            j = i - k
            while i < len(a) and j < len(b) and a[i] == b[j]:
                i, j = i + 1, j + 1
            furthest[k] = i
            if i >= len(a) and j >= len(b):
                return _walked(trace, len(a), len(b))
    return []


def _walked(trace: list[dict[int, int]], i: int, j: int) -> list[tuple[int, int]]:
    pairs = []
    for depth in range(len(trace) - 1, -1, -1):
        furthest = trace[depth]
        k = i - j
        down = k == -depth or (k != depth and furthest[k - 1] < furthest[k + 1])
        before = k + 1 if down else k - 1
        i0 = furthest[before]
        j0 = i0 - before
        while i > i0 and j > j0 and (i, j) != (0, 0):
            i, j = i - 1, j - 1
            pairs.append((i, j))
        i, j = (i0, j0) if depth else (0, 0)
    return pairs[::-1]


# ---------------------------------------------------------------- where groups stand


def _settle(lines: Sequence[Hashable], mine: list[bool], others: list[bool]) -> None:
    """Slide each group of changed lines down, or beside the last change of the other side."""
    gaps = _gaps(others)
    end = changed = 0
    while True:
        try:
            start = mine.index(True, end)
        except ValueError:
            return
        group = _Group(lines, mine, start, start - changed)
        group.settle(gaps)
        end, changed = group.end, group.end - group.gap


def _gaps(flags: list[bool]) -> set[int]:
    """The places of changed lines, each as the number of unchanged lines before it."""
    out: set[int] = set()
    at = changed = 0
    while True:
        try:
            at = flags.index(True, at)
        except ValueError:
            return out
        out.add(at - changed)
        at, changed = at + 1, changed + 1


class _Group:
    """A run of changed lines of one side; `gap` counts the unchanged lines above it."""

    def __init__(self, lines: Sequence[Hashable], flags: list[bool], start: int, gap: int) -> None:
        self.lines = lines
        self.flags = flags
        self.start = start
        self.end = self._run(start)
        self.gap = gap

    def settle(self, gaps: set[int]) -> None:
        """Move down as far as possible, then up to the lowest change of the other side met."""
        while True:
            size = self.end - self.start
            while self._up():
                pass
            highest = self.end
            beside = self.gap in gaps
            while self._down():
                beside = beside or self.gap in gaps
            if size == self.end - self.start:
                break
        if self.end != highest and beside:
            while self.gap not in gaps and self._up():
                pass

    def _run(self, at: int) -> int:
        while at < len(self.flags) and self.flags[at]:
            at += 1
        return at

    def _up(self) -> bool:
        if self.start == 0 or self.lines[self.start - 1] != self.lines[self.end - 1]:
            return False
        self.start, self.end, self.gap = self.start - 1, self.end - 1, self.gap - 1
        self.flags[self.start], self.flags[self.end] = True, False
        while self.start and self.flags[self.start - 1]:
            self.start -= 1
        return True

    def _down(self) -> bool:
        if self.end >= len(self.lines) or self.lines[self.start] != self.lines[self.end]:
            return False
        self.flags[self.start], self.flags[self.end] = False, True
        self.start, self.end, self.gap = self.start + 1, self._run(self.end + 1), self.gap + 1
        return True
