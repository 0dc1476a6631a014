"""The JSON of `apply` and `check`: stable, more keys may follow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from backport import __version__
from backport.core.outcomes import CheckResult, Finding, HunkResult
from backport.core.reports import HunkText, Offer, Report, StackReport, TargetReport


def as_json(report: Report) -> str:
    """The whole report as one JSON object."""
    return json.dumps(report_values(report), indent=1) + "\n"


def report_values(report: Report) -> dict[str, Any]:
    """The report as JSON values; `report.schema.json` beside this file describes them."""
    return {
        "schema": 1,
        "tool": {"name": "backport", "version": __version__},
        "exit_code": report.exit_code,
        "targets": [target_values(target) for target in report.targets],
        "stacks": [_filled(head._asdict()) for head in report.stacks],
    }


def problems_json(exit_code: int, problems: Sequence[str]) -> str:
    """What stands in a report's place where a run ended before there was one."""
    values = {**report_values(Report()), "exit_code": exit_code, "problems": list(problems)}
    return json.dumps(values, indent=1) + "\n"


def target_values(target: TargetReport) -> dict[str, Any]:
    """One target as JSON values."""
    return {
        "target": target.target,
        "base": target.base,
        "branch": target.branch,
        "verdict": str(target.verdict),
        "tree": target.tree,
        "stacks": [_stack(stack, target) for stack in target.stacks],
        "checks": [check_json(check) for check in target.checks],
        "repository": target.repository,
        "did": target.did or None,
        "error": target.error or None,
        "bad_input": target.bad_input,
    }


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value or None for key, value in values.items()}


def _stack(stack: StackReport, target: TargetReport) -> dict[str, Any]:
    return {
        "name": stack.result.stack,
        "outcome": str(stack.result.outcome),
        "commit": stack.commit,
        "reason": stack.result.reason or None,
        "hunks": [
            {
                **hunk_json(hunk),
                **_text(target.texts.get(str(hunk.id))),
                **_offers(target.offers.get(str(hunk.id), ())),
            }
            for hunk in stack.result.hunks
        ],
    }


def _offers(offers: Sequence[Offer]) -> dict[str, Any]:
    return {"offers": [offer_json(offer) for offer in offers]} if offers else {}


def offer_json(offer: Offer) -> dict[str, Any]:
    """What was decided about the same change on another target."""
    return {**offer._asdict(), "lines": list(offer.lines), "diff": offer.diff or None}


def _text(text: HunkText | None) -> dict[str, Any]:
    if text is None:
        return {}
    found = {"line": text.line, "lines": list(text.found)} if text.line else None
    return {"text": {"start": text.start, "lines": list(text.lines)}, "found": found}


def hunk_json(hunk: HunkResult) -> dict[str, Any]:
    """One hunk's outcome."""
    return {
        "id": str(hunk.id),
        "path": hunk.path,
        "outcome": str(hunk.outcome),
        "line": hunk.line,
        "offset": hunk.offset,
        "reason": hunk.reason or None,
        "detail": hunk.detail or None,
        "source": hunk.source or None,
        "candidates": list(hunk.candidates),
        "inserts": hunk.inserts,
        "added": hunk.added,
        "removed": hunk.removed,
        **({"proposal": hunk.proposal._asdict()} if hunk.proposal else {}),
        **({"evidence": hunk.evidence} if hunk.evidence else {}),
    }


def check_json(check: CheckResult) -> dict[str, Any]:
    """One check's result."""
    return {
        "name": check.name,
        "status": str(check.status),
        "note": check.note or None,
        "findings": [finding_json(finding) for finding in check.findings],
    }


def finding_json(finding: Finding) -> dict[str, Any]:
    """One finding."""
    return {
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "severity": str(finding.severity),
        "code": finding.code,
        "message": finding.message,
        "symbol": finding.symbol or None,
        "mend": finding.mend or None,
    }
