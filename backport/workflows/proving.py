"""Parity as the last check of a target, in a process of its own.

torch takes seconds and gigabytes, and a kernel that goes wrong may take its
process along; neither should happen to the process that moves branches.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from backport.checkout import Checkout
from backport.core.evaluating import Evaluation
from backport.core.manifests import Manifest
from backport.core.outcomes import CheckResult, Finding, Severity, StackOutcome, Status
from backport.library import Library
from backport.tools import has_torch

LEFT_OUT = "left out with --no-parity"
NO_PLACE = "a stack does not apply"
NO_CASE = "no applied stack names a parity case"
NO_TORCH = "torch is not installed; install `backport[parity]`, or the torch build you use"


def prove(
    library: Library, manifest: Manifest, checkout: Checkout, evaluation: Evaluation, wanted: bool
) -> CheckResult:
    """What the applied stacks' parity cases say; `not_run` always with the reason."""
    reason = _why_not(library, evaluation, wanted)
    if reason:
        return CheckResult("parity", Status.NOT_RUN, note=reason)
    import json

    words = ["parity", "--target", manifest.name, "--root", str(library.root)]
    child = subprocess.run(
        [sys.executable, "-m", "backport", *words, "--repo", checkout.shown, "--as-check"],
        capture_output=True,
        check=False,
    )
    try:
        return read_check(json.loads(child.stdout))
    except (ValueError, KeyError, TypeError):
        said = child.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        problem = f"the parity process ended with {child.returncode}: {said or 'without a word'}"
        return CheckResult("parity", Status.FAILED, (_crash(manifest, problem),))


def _why_not(library: Library, evaluation: Evaluation, wanted: bool) -> str:
    if not wanted:
        return LEFT_OUT
    if any(result.outcome is StackOutcome.CONFLICT for result in evaluation.results):
        return NO_PLACE
    applied = [r.stack for r in evaluation.results if r.outcome is StackOutcome.APPLIED]
    if not any(library.stacks[name].parity for name in applied):
        return NO_CASE
    return "" if has_torch() else NO_TORCH


def settled(check: CheckResult) -> bool:
    """True where parity was not run for a reason that holds until what is asked changes.

    A GPU that is not there now may be there in the next run.
    """
    reasons = (LEFT_OUT, NO_PLACE, NO_CASE, NO_TORCH)
    return check.status is Status.NOT_RUN and check.note in reasons


def _crash(manifest: Manifest, problem: str) -> Finding:
    return Finding(manifest.source, 0, 0, Severity.ERROR, "parity-crashed", problem)


def read_check(content: dict[str, Any]) -> CheckResult:
    """The check that `report.machine.check_json` wrote."""
    findings = tuple(
        Finding(
            item["path"],
            item["line"],
            item["column"],
            Severity(item["severity"]),
            item["code"],
            item["message"],
            mend=item["mend"] or "",
        )
        for item in content["findings"]
    )
    return CheckResult(content["name"], Status(content["status"]), findings, content["note"] or "")
