"""Side-by-side tables: a hunk's two sides, and what it expects against what the target has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from backport.core.outcomes import HunkResult
from backport.core.reports import HunkText
from backport.report.html.words import source, text

Side = tuple[int, str] | None  # line number and text; None: nothing stands here


class Row(NamedTuple):
    """One row of a side-by-side table."""

    left: Side
    right: Side
    kind: str = ""  # "same" on both sides, or "around" what is compared


def change(hunk: HunkResult, shown: HunkText) -> str:
    """The hunk's own two sides, numbered as on the target where it has a place there."""
    lead = next((i for i, line in enumerate(shown.lines) if line[:1] != " "), 0)
    start = hunk.line - lead if hunk.outcome.placed and hunk.line > lead else shown.start
    return _table("before", "after", _sides(shown.lines, start))


def against_target(shown: HunkText) -> str:
    """What the hunk expects to find, against the lines that the target has there."""
    if not shown.found:
        return ""
    expected = [line[1:] for line in shown.lines if line[:1] != "+"]
    rows = _aligned(expected, shown.start, list(shown.found), shown.line)
    return _table("the hunk expects", "the target has", rows)


def _sides(lines: Sequence[str], start: int) -> Iterator[Row]:
    old = new = start
    removed: list[tuple[int, str]] = []
    added: list[tuple[int, str]] = []
    for line in (*lines, " "):
        if line[:1] == "-":
            removed.append((old, line[1:]))
            old += 1
        elif line[:1] == "+":
            added.append((new, line[1:]))
            new += 1
        else:
            yield from (Row(left, right) for left, right in zip_longest(removed, added))
            removed, added = [], []
            yield Row((old, line[1:]), (new, line[1:]), "same")
            old, new = old + 1, new + 1


def _aligned(left: list[str], first: int, right: list[str], start: int) -> Iterator[Row]:
    """Both texts with equal lines beside each other."""
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        lefts = [(first + n, left[n]) for n in range(i, i_end)]
        rights = [(start + n, right[n]) for n in range(j, j_end)]
        for pair in zip_longest(lefts, rights):
            around = tag == "insert" and (i == 0 or i_end == len(left))
            yield Row(*pair, "same" if tag == "equal" else "around" if around else "")


def _table(left: str, right: str, rows: Iterable[Row]) -> str:
    body = list(rows)
    if body and body[-1].kind and not (body[-1].left or (0, ""))[1]:
        body.pop()  # the row that closed the last run
    columns = '<colgroup><col class="n"><col><col class="n"><col></colgroup>'
    head = f"{columns}<thead><tr><th colspan=2>{text(left)}<th colspan=2>{text(right)}</thead>"
    lines = "\n".join(_row(row) for row in body)
    return (
        f'<div class="scroll"><table class="sides">{head}<tbody>\n{lines}\n</tbody></table></div>'
    )


def _row(row: Row) -> str:
    css = f' class="{row.kind}"' if row.kind else ""
    return f"<tr{css}>{_cell(row.left, 'old')}{_cell(row.right, 'new')}"


def _cell(side: Side, css: str) -> str:
    if side is None:
        return '<td class="n"><td class="gap">'
    return f'<td class="n">{side[0]}<td class="{css}">{source(side[1])}'
