"""Verdicts: the worst thing decides, and only a clean run ends with 0."""

from __future__ import annotations

import pytest

from backport.core.outcomes import CheckResult, Outcome, StackOutcome, StackResult, Status
from backport.core.reports import Report, StackReport, TargetReport, Verdict


def target(
    *outcomes: StackOutcome,
    failed: tuple[str, ...] = (),
    not_run: tuple[str, ...] = (),
    error: str = "",
) -> TargetReport:
    stacks = tuple(StackReport(StackResult("s", {}, (), outcome)) for outcome in outcomes)
    checks = [CheckResult("content", Status.PASSED)]
    checks += [CheckResult(name, Status.FAILED) for name in failed]
    checks += [CheckResult(name, Status.NOT_RUN) for name in not_run]
    return TargetReport("o/v1", "o/v1", stacks=stacks, checks=tuple(checks), error=error)


CLEAN = target(StackOutcome.APPLIED, StackOutcome.ALREADY, StackOutcome.SKIPPED)
VERDICTS = {
    "nothing to do": (target(), Verdict.CLEAN, 0),
    "applied, already, skipped": (CLEAN, Verdict.CLEAN, 0),
    "a check that was not run": (target(not_run=("lock",)), Verdict.CLEAN, 0),
    "a failed check": (target(failed=("compile",)), Verdict.FAILED, 1),
    "a conflict": (target(StackOutcome.APPLIED, StackOutcome.CONFLICT), Verdict.CONFLICT, 1),
    "a conflict and a failed check": (
        target(StackOutcome.CONFLICT, failed=("compile",)),
        Verdict.CONFLICT,
        1,
    ),
    "stale evidence": (target(StackOutcome.APPLIED, failed=("evidence",)), Verdict.STALE, 1),
    "stale evidence and a conflict": (
        target(StackOutcome.CONFLICT, failed=("compile", "evidence")),
        Verdict.STALE,
        1,
    ),
    "an error": (target(error="no such commit"), Verdict.ERROR, 3),
    "an error and all the rest": (
        target(StackOutcome.CONFLICT, failed=("evidence",), error="x"),
        Verdict.ERROR,
        3,
    ),
}


@pytest.mark.parametrize(("found", "verdict", "code"), VERDICTS.values(), ids=VERDICTS.keys())
def test_the_worst_thing_decides(found: TargetReport, verdict: Verdict, code: int) -> None:
    assert found.verdict is verdict
    assert Report((found,)).exit_code == code
    assert Report((CLEAN, found, CLEAN)).exit_code == code


def test_an_error_on_one_target_outweighs_a_conflict_on_another() -> None:
    assert Report((target(StackOutcome.CONFLICT), target(error="x"))).exit_code == 3


def test_every_outcome_of_a_hunk_is_placed_or_failed_or_neither() -> None:
    assert [outcome.value for outcome in Outcome if outcome.placed] == [
        "exact",
        "moved",
        "merged",
        "reanchored",
        "replaced",
    ]
    assert [outcome.value for outcome in Outcome if outcome.failed] == ["ambiguous", "conflict"]
