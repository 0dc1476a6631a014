"""Findings that a person has looked at and accepted, and acceptances that no longer match any."""

from __future__ import annotations

from collections.abc import Sequence

from backport.core.manifests import Accept
from backport.core.outcomes import CheckResult, Finding, Severity, Status

LEFT_OUT_TOGETHER = ("compile", "audit")  # with one of them others that could find it are
JUDGED_ELSEWHERE = ("evidence", "lock", "parity")  # their findings cannot be accepted


def accept(checks: Sequence[CheckResult], accepts: Sequence[Accept]) -> tuple[CheckResult, ...]:
    """The checks with accepted findings turned into notes.

    An acceptance that matches nothing is stale, which is an error, unless a check
    that might have found it was not run. With no acceptances nothing changes.
    """
    if not accepts:
        return tuple(checks)
    used: set[Accept] = set()
    out = [
        check if check.name in JUDGED_ELSEWHERE else _judge(check, accepts, used)
        for check in checks
    ]
    complete = all(
        check.status is not Status.NOT_RUN for check in checks if check.name in LEFT_OUT_TOGETHER
    )
    found = [finding for check in checks for finding in check.findings]
    return (*out, _stale([entry for entry in accepts if entry not in used], complete, found))


def _judge(check: CheckResult, accepts: Sequence[Accept], used: set[Accept]) -> CheckResult:
    findings = []
    for finding in check.findings:
        entry = next((entry for entry in accepts if _fits(entry, finding)), None)
        if entry:
            used.add(entry)
            message = f"{finding.message} (accepted: {entry.reason})"
            finding = finding._replace(severity=Severity.NOTE, message=message)  # noqa: PLW2901
        findings.append(finding)
    failed = any(finding.severity is Severity.ERROR for finding in findings)
    status = Status.FAILED if failed else Status.PASSED
    return check._replace(
        findings=tuple(findings),
        status=check.status if check.status is Status.NOT_RUN else status,
    )


def _fits(entry: Accept, finding: Finding) -> bool:
    return (entry.code, entry.path, entry.symbol) == (finding.code, finding.path, finding.symbol)


def _stale(unused: Sequence[Accept], complete: bool, found: Sequence[Finding]) -> CheckResult:
    if not complete:
        note = "a check was not run, so acceptances cannot be judged"
        return CheckResult("accepted", Status.NOT_RUN, note=note)
    findings = tuple(_stale_finding(entry, found) for entry in unused)
    return CheckResult("accepted", Status.FAILED if findings else Status.PASSED, findings)


def _stale_finding(entry: Accept, found: Sequence[Finding]) -> Finding:
    file, _, line = entry.source.rpartition(":")
    return Finding(
        file,
        int(line),
        1,
        Severity.ERROR,
        "stale-accept",
        f"accept {entry.code} {entry.path} {entry.symbol}: there is no such finding any more"
        + _meant(entry, found),
        f"{entry.code} {entry.path} {entry.symbol}",
        "delete the entry",
    )


def _meant(entry: Accept, found: Sequence[Finding]) -> str:
    """What the entry may mean instead: a finding of this run whose code is spelt much like it."""
    from difflib import get_close_matches

    codes = {finding.code: finding for finding in found}
    codes |= {each.code: each for each in found if each.path == entry.path}
    close = [code for code in get_close_matches(entry.code, codes, 1, 0.8) if code != entry.code]
    if not close:
        return ""
    near = codes[close[0]]
    return f"; did you mean {near.code} {near.path} {near.symbol}?"
