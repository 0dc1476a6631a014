"""The JSON of `apply` and `check`: stable, more keys may follow."""

from __future__ import annotations

import json
from typing import Any

from backport.core.outcomes import CheckResult, Finding, HunkResult
from backport.core.reports import Report, StackReport, TargetReport


def as_json(report: Report) -> str:
    """The whole report as one JSON object."""
    content = {"schema": 1, "targets": [_target(target) for target in report.targets]}
    return json.dumps(content, indent=1) + "\n"


def _target(target: TargetReport) -> dict[str, Any]:
    return {
        "target": target.target,
        "base": target.base,
        "branch": target.branch,
        "verdict": str(target.verdict),
        "tree": target.tree,
        "stacks": [_stack(stack) for stack in target.stacks],
        "checks": [check_json(check) for check in target.checks],
        "repository": target.repository,
        "did": target.did or None,
        "error": target.error or None,
    }


def _stack(stack: StackReport) -> dict[str, Any]:
    return {
        "name": stack.result.stack,
        "outcome": str(stack.result.outcome),
        "commit": stack.commit,
        "reason": stack.result.reason or None,
        "hunks": [hunk_json(hunk) for hunk in stack.result.hunks],
    }


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
        "mend": finding.mend or None,
    }
