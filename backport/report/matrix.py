"""Stacks against targets: one word a cell, and the reason of every skip below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backport.core.outcomes import Outcome, StackOutcome, StackResult
from backport.core.reports import TargetReport

NOT_LISTED = "-"
_ADAPTED = {Outcome.DROPPED, Outcome.REANCHORED, Outcome.REPLACED}


def cell(result: StackResult) -> str:
    """How a stack came out on one target, in one word."""
    if result.outcome is not StackOutcome.APPLIED:
        return str(result.outcome)
    outcomes = {hunk.outcome for hunk in result.hunks}
    if outcomes & _ADAPTED:
        return "adapted"
    if Outcome.MERGED in outcomes:
        return "merged"
    return "moved" if Outcome.MOVED in outcomes else "exact"


def cells(stacks: Sequence[str], report: TargetReport) -> list[str]:
    """One target's column, in the order of the stacks."""
    if report.error:
        return ["error"] * len(stacks)
    found = {entry.result.stack: cell(entry.result) for entry in report.stacks}
    return [found.get(stack, NOT_LISTED) for stack in stacks]


def matrix_text(stacks: Sequence[str], reports: Sequence[TargetReport]) -> str:
    """The matrix and the reasons, aligned for a fixed-width screen."""
    columns = [["", *stacks], *([report.target, *cells(stacks, report)] for report in reports)]
    widths = [max(map(len, column)) for column in columns]
    rows = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
    verdicts = [f"{report.target}: {_verdict(report)}" for report in reports]
    return "\n".join([*rows, "", *verdicts, *_reasons(reports)]) + "\n"


def _verdict(report: TargetReport) -> str:
    return report.error or f"{report.verdict}, branch {report.branch}"


def _reasons(reports: Sequence[TargetReport]) -> list[str]:
    """Why stacks are skipped, each reason once with all the targets that give it."""
    where: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        for entry in report.stacks:
            if entry.result.outcome is StackOutcome.SKIPPED:
                reason = (entry.result.stack, entry.result.reason)
                where.setdefault(reason, []).append(report.target)
    lines = [
        f"{stack} skipped on {', '.join(targets)}: {reason}"
        for (stack, reason), targets in where.items()
    ]
    return ["", *lines] if lines else []


def matrix_values(stacks: Sequence[str], reports: Sequence[TargetReport]) -> dict[str, Any]:
    """The matrix as JSON values: stack -> target -> word."""
    columns = {report.target: cells(stacks, report) for report in reports}
    return {
        "schema": 1,
        "targets": {report.target: str(report.verdict) for report in reports},
        "stacks": {
            stack: {target: column[index] for target, column in columns.items()}
            for index, stack in enumerate(stacks)
        },
    }
