"""How things stand and what changed, for a terminal, a chat message and a machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from backport.core.reports import Report
from backport.report.changes import Change, counted, still_failing
from backport.report.matrix import matrix_text, matrix_values


def status_text(
    stacks: Sequence[str], report: Report, found: Sequence[Change], since: str | None, first: bool
) -> str:
    """The matrix and what changed; with `since` the changes and what still fails, a line each.

    `first` says that there was no earlier result to compare with.
    """
    lines = [" ".join(str(change).split()) for change in found]
    if since:
        head = f"backport since {since}: {counted(found) or 'nothing changed'}"
        still = [" ".join(line.split()) for line in still_failing(report, found)]
        return "\n".join([head, *lines, *still]) + "\n"
    matrix = matrix_text(stacks, report.targets)
    if first:
        return matrix
    head = "changed since the last check:" if lines else "nothing changed since the last check"
    return "\n".join([matrix, head, *lines]) + "\n"


def status_json(
    stacks: Sequence[str], report: Report, found: Sequence[Change], since: str | None, first: bool
) -> str:
    """The same for a machine."""
    content = {
        **matrix_values(stacks, report.targets),
        "since": since or (None if first else "last"),
        "changes": [asdict(change) for change in found],
    }
    return json.dumps(content, indent=1) + "\n"
