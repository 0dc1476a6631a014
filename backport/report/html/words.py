"""How outcomes are shown: a word, a sign and a class, so that colour is never alone."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from backport.core.display import visible
from backport.core.reports import TargetReport
from backport.report.matrix import NOT_LISTED, cells

TAB = 4


class Look(NamedTuple):
    """The word, sign and CSS class of an outcome."""

    word: str
    sign: str
    css: str


CELLS = {
    "exact": Look("clean", "✓", "clean"),
    "moved": Look("moved", "↕", "moved"),
    "merged": Look("merged", "⋈", "adapted"),
    "adapted": Look("adapted", "✎", "adapted"),
    "already": Look("contained", "≡", "contained"),
    "skipped": Look("not applicable", "○", "skipped"),
    "conflict": Look("conflict", "✗", "conflict"),
    "error": Look("error", "!", "error"),
    NOT_LISTED: Look("not listed", "·", "none"),
}
VERDICTS = {
    "clean": Look("clean", "✓", "clean"),
    "conflict": Look("conflict", "✗", "conflict"),
    "failed": Look("failed", "✗", "error"),
    "stale": Look("stale", "≠", "stale"),
    "error": Look("error", "!", "error"),
}
HUNKS = {
    "exact": Look("exact", "✓", "clean"),
    "moved": Look("moved", "↕", "moved"),
    "merged": Look("merged", "⋈", "adapted"),
    "already": Look("already there", "≡", "contained"),
    "reanchored": Look("reanchored", "✎", "adapted"),
    "replaced": Look("replaced", "✎", "adapted"),
    "dropped": Look("dropped", "✎", "adapted"),
    "ambiguous": Look("ambiguous", "?", "conflict"),
    "conflict": Look("conflict", "✗", "conflict"),
}


def column(stacks: list[str], target: TargetReport) -> list[Look]:
    """One target's looks, in the order of the stacks."""
    return [CELLS[word] for word in cells(stacks, target)]


def text(value: object) -> str:
    """Any text as HTML that shows it and does nothing else; also fit for an attribute."""
    return escape(visible(str(value)), quote=True)


def source(line: str) -> str:
    """A line of code as HTML; tabs are widened, other control characters spelt out."""
    return text(line.removesuffix("\r").expandtabs(TAB)) + ("␍" if line.endswith("\r") else "")


def badge(look: Look, more: str = "") -> str:
    """An outcome as sign and word."""
    tail = f" <small>{text(more)}</small>" if more else ""
    sign = f'<b aria-hidden="true">{look.sign}</b>'
    return f'<span class="badge {look.css}">{sign} {text(look.word)}{tail}</span>'


def anchor(row: int, at: int) -> str:
    """The id of the entry of one stack (by row) on one target (by column)."""
    return f"s{row}t{at}"
