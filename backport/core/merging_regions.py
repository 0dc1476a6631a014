"""A stretch of lines that both sides changed: the rules for it, the surest first.

Each rule takes the base's, the target's and the patch's lines and gives the merged
ones, or None where it does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from backport.core.diffing import changes
from backport.core.merging import clean, interleaved, merge
from backport.core.merging_steps import Rule
from backport.core.texts import split_keeping_ends

Lines = list[bytes]
T = TypeVar("T", bound=Hashable)
_WORDS = re.compile(rb"\w+|\n|[ \t]+|.", re.DOTALL)
_ELEMENT = re.compile(rb"[ \t]*[^\s#(\[{][^(\[{]*,[ \t]*(#.*)?\r?\n")


def resolve(base: Lines, ours: Lines, theirs: Lines) -> tuple[Rule, Lines] | None:
    """The first rule that fits, and the lines that it gives."""
    for rule, merged in _RULES:
        found = merged(base, ours, theirs)
        if found is not None:
            return rule, found
    return None


def _layout(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    """The other side's lines where one changed nothing but white space."""
    b, o, t = _visible(base), _visible(ours), _visible(theirs)
    if b == t or o == t:
        return ours
    return theirs if b == o else None


def _visible(lines: Lines) -> list[bytes]:
    return [word for word in _words(lines) if not word.isspace()]


def _words(lines: Sequence[bytes]) -> list[bytes]:
    return _WORDS.findall(b"".join(lines))


def _adjacent(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    return interleaved(base, ours, theirs)


def _elements(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    """One element a line: what the patch adds beside its neighbour, what it removes gone."""
    every = [*base, *ours, *theirs]
    if not all(map(_ELEMENT.fullmatch, every)):
        return None
    if any(len(set(side)) != len(side) for side in (base, ours, theirs)):
        return None
    return with_members(base, ours, theirs)


def with_members(base: Lines, ours: Lines, theirs: Lines) -> Lines:
    """The target's members without those that the patch removes, and with those it adds."""
    removed = set(base) - set(theirs)
    out = [line for line in ours if line not in removed]
    known = set(base) | set(out)
    for index, line in enumerate(theirs):
        if line not in known:
            out.insert(_beside(index, theirs, out), line)
    return out


def _beside(index: int, theirs: Lines, out: Lines) -> int:
    """Below the nearest line above that is there, else above the nearest one below."""
    for above in reversed(theirs[:index]):
        if above in out:
            return out.index(above) + 1
    below = next((line for line in theirs[index + 1 :] if line in out), None)
    if below is not None:
        return out.index(below)
    return next((i for i, line in enumerate(out) if line > theirs[index]), len(out))


def _by_words(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    words = _words(base), _words(ours), _words(theirs)
    found = clean(merge(*words))
    if found is None:
        found = interleaved(*words)
    return None if found is None else split_keeping_ends(b"".join(found))


def beside_survivor(base: list[T], ours: list[T], theirs: list[T]) -> list[T] | None:
    """Each of the patch's edits where the line above it, or below it, or its own lines stand."""
    there = _partners(base, ours)
    edits: list[tuple[int, int, list[T]]] = []
    for edit in changes(base, theirs):
        new = theirs[edit.b0 : edit.b1]
        spot = _spot(edit.a0, edit.a1, there, len(base), len(ours))
        if spot is None:
            return None
        edits.append((*spot, new))
    out: list[T] = []
    at = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        if start < at:
            return None
        out += [*ours[at:start], *new]
        at = end
    return out + ours[at:]


def _spot(
    start: int, end: int, there: dict[int, int], base: int, ours: int
) -> tuple[int, int] | None:
    if start < end:
        found = [there.get(line, -1) for line in range(start, end)]
        whole = -1 not in found and found[-1] - found[0] == len(found) - 1
        return (found[0], found[-1] + 1) if whole else None
    if start - 1 in there:
        return there[start - 1] + 1, there[start - 1] + 1
    if start in there:
        return there[start], there[start]
    if start == 0:
        return 0, 0
    return (ours, ours) if start == base else None


def _partners(base: list[T], ours: list[T]) -> dict[int, int]:
    """For each line of the base that the target still has, its line there."""
    out: dict[int, int] = {}
    i = j = 0
    for edit in changes(base, ours):
        out.update(zip(range(i, edit.a0), range(j, edit.b0), strict=True))
        i, j = edit.a1, edit.b1
    out.update(zip(range(i, len(base)), range(j, len(ours)), strict=True))
    return out


def reindented(base: Lines, theirs: Lines, merged: Lines) -> bool:
    """True where a line that the patch adds has come to stand below a line of another block."""
    for edit in changes(base, theirs):
        new = theirs[edit.b0 : edit.b1]
        if new and edit.b0 and new[0] in merged:
            mine, now = _above(theirs, edit.b0), _above(merged, merged.index(new[0]))
            if mine is not None and now is not None and mine != now:
                return True
    return False


def _above(lines: Lines, at: int) -> int | None:
    """How far the nearest line above that is not blank is indented."""
    for line in reversed(lines[:at]):
        if line.strip():
            return len(line) - len(line.lstrip())
    return None


_RULES: tuple[tuple[Rule, Callable[[Lines, Lines, Lines], Lines | None]], ...] = (
    (Rule.LAYOUT, _layout),
    (Rule.ADJACENT, _adjacent),
    (Rule.ELEMENTS, _elements),
    (Rule.WORDS, _by_words),
    (Rule.BESIDE, beside_survivor),
)
