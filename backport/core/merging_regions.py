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
            out.insert(beside(theirs, index, out, line), line)
    return out


def beside(theirs: Sequence[bytes], index: int, out: Lines, line: bytes) -> int:
    """Where `line`, from `theirs[index]`, goes in `out`, which lacks it: beside a neighbour.

    Below the nearest line above that is there, else above the nearest one below, else
    in the order of the alphabet.
    """
    for above in reversed(theirs[:index]):
        if above in out:
            return out.index(above) + 1
    for below in theirs[index:]:
        if below in out:
            return out.index(below)
    return next((at for at, there in enumerate(out) if there > line), len(out))


def _by_words(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    words = _words(base), _words(ours), _words(theirs)
    found = clean(merge(*words))
    if found is None:
        found = interleaved(*words)
    return None if found is None else split_keeping_ends(b"".join(found))


def beside_survivor(base: list[T], ours: list[T], theirs: list[T]) -> list[T] | None:
    """Each of the patch's edits where the line above it, or below it, or its own lines stand."""
    there = _partners(base, ours)
    out: list[T] = []
    at = 0
    for edit in changes(base, theirs):
        spot = _spot(edit.a0, edit.a1, there, len(base), len(ours))
        if spot is None:
            return None
        out += [*ours[at : spot[0]], *theirs[edit.b0 : edit.b1]]
        at = spot[1]
    return out + ours[at:]


def _spot(
    start: int, end: int, there: dict[int, int], base: int, ours: int
) -> tuple[int, int] | None:
    if start < end:
        found = [there.get(line) for line in range(start, end)]
        first = found[0]
        if first is None or found != list(range(first, first + end - start)):
            return None
        return first, first + end - start
    below = {base: ours, 0: 0} | there  # the ends are there as well
    at = there[start - 1] + 1 if start - 1 in there else below.get(start)
    return None if at is None else (at, at)


def _partners(base: list[T], ours: list[T]) -> dict[int, int]:
    """For each line of the base that the target still has, its line there."""
    out: dict[int, int] = {}
    i = j = 0
    for edit in changes(base, ours):
        out.update((line, line - i + j) for line in range(i, edit.a0))
        i, j = edit.a1, edit.b1
    out.update((line, line - i + j) for line in range(i, len(base)))
    return out


def reindented(base: Lines, theirs: Lines, merged: Lines) -> bool:
    """True where a line that the patch adds has come to stand below a line of another block."""
    for edit in changes(base, theirs):
        new = theirs[edit.b0 : edit.b1]
        if new and new[0] in merged:
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
