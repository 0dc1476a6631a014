"""How often a merge of a kind was what a maintainer made of it, counted on real backports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backport.core.merging_steps import Rule, Step
from backport.core.vocabulary import Vocabulary


class Confidence(NamedTuple):
    """Of `cases` merges of this kind, `same` were the maintainer's code up to layout."""

    same: int
    cases: int

    @property
    def share(self) -> float:
        return self.same / self.cases if self.cases else 0.0

    def __str__(self) -> str:
        return f"{self.same} of {self.cases}" if self.cases else "never measured"


def confidence(steps: Sequence[Step], known: Vocabulary) -> Confidence:
    """The count for the weakest rule of a merge, among those with such words."""
    kinds = {step.rule for step in steps} or {Rule.SYMBOL}
    counts = [COUNTS.get((rule, wording(known)), Confidence(0, 0)) for rule in kinds]
    return min(counts, key=lambda count: (count.share, count.cases))


def wording(known: Vocabulary) -> str:
    """`lacking`, `fresh` or `known`: how the change's words stand to the target's file."""
    return "lacking" if not known.known else "fresh" if known.fresh else "known"


# files of 471 real conflicts; `python -m benchmarks.placement --counts` prints the table
COUNTS: dict[tuple[Rule, str], Confidence] = {
    (Rule.ABSENT, "fresh"): Confidence(9, 16),
    (Rule.ABSENT, "known"): Confidence(5, 14),
    (Rule.ABSENT, "lacking"): Confidence(11, 37),
    (Rule.ADJACENT, "fresh"): Confidence(62, 106),
    (Rule.ADJACENT, "known"): Confidence(45, 52),
    (Rule.ADJACENT, "lacking"): Confidence(12, 51),
    (Rule.BESIDE, "fresh"): Confidence(1, 6),
    (Rule.BESIDE, "known"): Confidence(1, 2),
    (Rule.BESIDE, "lacking"): Confidence(3, 7),
    (Rule.ELEMENTS, "fresh"): Confidence(2, 3),
    (Rule.IMPORTS, "fresh"): Confidence(47, 59),
    (Rule.IMPORTS, "known"): Confidence(6, 8),
    (Rule.IMPORTS, "lacking"): Confidence(20, 64),
    (Rule.LAYOUT, "fresh"): Confidence(4, 6),
    (Rule.LAYOUT, "known"): Confidence(2, 2),
    (Rule.LAYOUT, "lacking"): Confidence(1, 4),
    (Rule.NEIGHBOUR, "fresh"): Confidence(38, 48),
    (Rule.NEIGHBOUR, "known"): Confidence(1, 2),
    (Rule.NEIGHBOUR, "lacking"): Confidence(4, 42),
    (Rule.OPEN, "fresh"): Confidence(4, 44),
    (Rule.OPEN, "known"): Confidence(13, 29),
    (Rule.OPEN, "lacking"): Confidence(7, 74),
    (Rule.SYMBOL, "fresh"): Confidence(21, 34),
    (Rule.SYMBOL, "known"): Confidence(12, 13),
    (Rule.SYMBOL, "lacking"): Confidence(3, 37),
    (Rule.WORDS, "fresh"): Confidence(4, 23),
    (Rule.WORDS, "known"): Confidence(9, 13),
    (Rule.WORDS, "lacking"): Confidence(12, 42),
}
