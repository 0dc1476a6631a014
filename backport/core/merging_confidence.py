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


COUNTS: dict[tuple[Rule, str], Confidence] = {}
