"""Merge what a patch does to a file into another text of it, with the true pre-image at hand.

Two tiers. What is `applied` stands on its rules alone; the rest is a proposal, which
a person reads: its confidence is how often such a merge was, up to layout, what a
maintainer made of the same change (docs/placement.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backport.core.display import counted
from backport.core.merging import clean, merge
from backport.core.merging_confidence import Confidence, confidence
from backport.core.merging_imports import merge_imports
from backport.core.merging_steps import Later, Rule, Step
from backport.core.merging_symbols import Piece, SymbolMerge
from backport.core.outlines import definitions
from backport.core.texts import split_keeping_ends
from backport.core.units import units
from backport.core.vocabulary import Vocabulary, vocabulary, words

PYTHON = (".py", ".pyi")
NOT_PYTHON = "it is no Python, whose words alone can be compared"


class Merged(NamedTuple):
    """The merged text, and how far it can be trusted.

    `steps` are what it took beyond git's three-way, `applied` says that the rules
    alone stand for it, `why` what keeps it from that, and `text` is None where the
    result would not even parse.
    """

    text: bytes | None
    steps: tuple[Step, ...]
    words: Vocabulary
    applied: bool
    confidence: Confidence
    why: str = ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Each rule once, in the order of its first use."""
        return tuple(dict.fromkeys(step.rule for step in self.steps)) or (Rule.SYMBOL,)


def merge_file(path: str, base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """The change from `base` to `theirs` made to `ours`.

    Where git's own three-way merge is clean, that is the result.
    """
    sides = [split_keeping_ends(text) for text in (base, ours, theirs)]
    found = clean(merge(*sides))
    if found is not None:
        plain = (Step(Rule.THREE_WAY),)
        known = Vocabulary()
        return Merged(b"".join(found), plain, known, True, confidence(plain, known))
    lines, steps = _merged(path, *sides)
    unpaired = _unpaired(base, ours) if path.endswith(PYTHON) else ""
    return _judged(path, b"".join(lines), ours, steps, vocabulary(*sides), unpaired)


def _merged(
    path: str, base: list[bytes], ours: list[bytes], theirs: list[bytes]
) -> tuple[list[bytes], tuple[Step, ...]]:
    work = SymbolMerge()
    if path.endswith(PYTHON):
        pieces = work.merge(units(base), units(ours), units(theirs))
    else:
        pieces = list[Piece](work.lines(base, ours, theirs))
    return _decided(pieces), tuple(work.steps)


def _decided(pieces: Sequence[Piece]) -> list[bytes]:
    """The lines, with regions of imports decided by what the rest of the text uses."""
    rest = [piece for piece in pieces if isinstance(piece, bytes)]
    if len(rest) == len(pieces):
        return rest
    used = words(b"".join(rest))
    out: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, Later):
            out += merge_imports(*piece.sides, used)
        else:
            out.append(piece)
    return out


# ---------------------------------------------------------------- the two tiers

_STANDS = frozenset({Rule.SYMBOL, Rule.ADJACENT, Rule.NEIGHBOUR})


def _judged(
    path: str,
    text: bytes,
    ours: bytes,
    steps: tuple[Step, ...],
    known: Vocabulary,
    unpaired: str,
) -> Merged:
    if path.endswith(PYTHON) and not _parses(text):
        if _parses(ours):
            why = "the result is not Python that parses"
            return Merged(None, steps, known, False, Confidence(0, 0), why)
        unpaired = "the target is not Python that parses"
    why = (unpaired or _doubt(steps, known)) if path.endswith(PYTHON) else NOT_PYTHON
    return Merged(text, steps, known, not why, confidence(steps, known), why)


def _unpaired(base: bytes, ours: bytes) -> str:
    """A name that both sides define, one of them more often: which is which cannot be told."""
    counts = definitions(base), definitions(ours)
    for name in sorted(counts[0].keys() & counts[1].keys()):
        old, new = (count[name] for count in counts)
        if old != new:
            shown = b".".join(name).decode("utf-8", "replace")
            here, there = counted(new, "time"), counted(old, "time")
            return f"{shown} is defined {here} here, and {there} where the patch was made"
    return ""


def _doubt(steps: tuple[Step, ...], known: Vocabulary) -> str:
    """Why a merge is a proposal only, or nothing where it stands on its own."""
    if any(step.rule is Rule.OPEN for step in steps):
        return "a part of the change has no place; the target's text stands there"
    if known.lacking:
        return f"the target does not know {_listed(known.lacking)}"
    if known.drifted:
        return f"the target defines {_listed(known.drifted)} in another way"
    unsure = {step.rule for step in steps} - _STANDS
    if unsure:
        return f"the rule {', '.join(sorted(unsure))} is not sure enough to stand alone"
    noted = next((step.note for step in steps if step.note), "")
    if known.fresh:
        return f"{_listed(known.fresh)} is new to the file"
    return noted


def together(
    merged: Sequence[Merged], created: Sequence[str], others: Sequence[Vocabulary] = ()
) -> str:
    """Why the merges of one patch's files do not stand, though each may alone; "" where they do.

    A file that the patch creates speaks of names that nothing here was compared with.
    `others` are the words of what it changes elsewhere.
    """
    if merged and all(one.rules == (Rule.THREE_WAY,) for one in merged):
        return ""
    python = [path for path in created if path.endswith(PYTHON)]
    if python:
        return f"the patch also creates {python[0]}, whose words were not compared with the target"
    lacking = next((said.lacking | said.drifted for said in others if not said.known), None)
    if lacking:
        return f"another file of the patch speaks of {_listed(lacking)}, which the target lacks"
    return next((one.why for one in merged if not one.applied), "")


def _listed(names: frozenset[bytes]) -> str:
    shown = sorted(name.decode("utf-8", "replace") for name in names)
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    return ", ".join(shown[:4]) + more


def _parses(text: bytes) -> bool:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<merged>", "exec", 0x400)  # to the tree only
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
