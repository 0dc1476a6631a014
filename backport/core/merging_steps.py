"""What a merge did beyond git's own three-way, step by step: a rule, and where it stood."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Rule(StrEnum):
    """How two changes of one place were brought together, each a rule of its own."""

    THREE_WAY = "three-way"  # no change touches one of the other side
    SYMBOL = "symbol"  # matched by qualified name, each symbol's own text merges
    LAYOUT = "layout"  # one side changed white space and line breaks only
    ADJACENT = "adjacent"  # the changes touch and do not overlap
    NEIGHBOUR = "neighbour"  # new symbols beside one that survives on the target
    IMPORTS = "imports"  # an ordered set: names added and removed, used ones only
    ELEMENTS = "elements"  # an ordered set of lines: `__all__`, registries, tables
    WORDS = "words"  # the changes are other words of the same lines
    BESIDE = "beside"  # inserted lines beside a line that survives on the target
    ABSENT = "absent"  # the change is to a symbol that the target does not have
    GONE = "gone"  # the change removes a symbol that the target has put somewhere else
    OPEN = "open"  # nothing fits; the target's text stands


class Step(NamedTuple):
    """One use of a rule.

    `base` and `ours` are the first line (from 1) that it was about in the patch's
    pre-image and in the target (0: none), `scope` the qualified name around it, and
    `note` says what was found there.
    """

    rule: Rule
    base: int = 0
    ours: int = 0
    scope: str = ""
    note: str = ""


class Later:
    """A stretch of import lines, decided once the rest of the merged text is known."""

    def __init__(self, base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> None:
        self.sides = base, ours, theirs
