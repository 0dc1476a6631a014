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
        return "left out with --no-parity"
    if any(result.outcome is StackOutcome.CONFLICT for result in evaluation.results):
        return "a stack does not apply"
    applied = [r.stack for r in evaluation.results if r.outcome is StackOutcome.APPLIED]
    if not any(library.stacks[name].parity for name in applied):
        return "no applied stack names a parity case"
    from importlib.util import find_spec

    if find_spec("torch") is None:
        return "torch is not installed; install `backport[parity]`, or the torch build you use"
    return ""


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
