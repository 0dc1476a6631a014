"""Everything of a report that a person has to look at, as one list that every format shows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from backport.core.outcomes import Finding, HunkResult, Outcome, Severity, StackOutcome, Status
from backport.core.reports import HunkText, Report, StackReport, TargetReport
from backport.report.plain import advice_lines, paste_block

_COMPLETE = "complete this entry in the target's manifest, or mend the patch"
PARTLY, TROUBLE = "partly-there", "target-error"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where (in the library and on the target), why, and the mend.

    `paste` is the entry to complete, `advice` what could stand there, to be read first.
    `source` and `source_line` are a file of the library, which is what CI has checked
    out; `path` and `line` are the target's. `symbol` names the thing without any line.
    """

    target: str
    severity: Severity
    code: str
    message: str
    stack: str = ""
    patch: str = ""
    hunk: str = ""
    path: str = ""
    line: int = 0
    source: str = ""
    source_line: int = 0
    column: int = 0
    symbol: str = ""
    mend: str = ""
    paste: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    text: HunkText | None = None

    @property
    def place(self) -> str:
        """`path:line` on the target."""
        return f"{self.path}:{self.line}" if self.line else self.path

    @property
    def fingerprint(self) -> str:
        """The same for the same problem in another run, whatever lines have moved."""
        parts = (self.code, self.target, self.hunk or self.path, self.symbol)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def problems(report: Report) -> list[Problem]:
    """Every problem of every target, in the report's order."""
    return [problem for target in report.targets for problem in target_problems(target)]


def target_problems(target: TargetReport) -> list[Problem]:
    """One target's problems: trouble around it, hunks without a place, what the checks found."""
    if target.error:
        return [Problem(target.target, Severity.ERROR, TROUBLE, target.error)]
    found = [problem for stack in target.stacks for problem in _stack(target, stack)]
    for check in target.checks:
        found += [_finding(target, finding) for finding in check.findings]
        if check.status is Status.FAILED and not check.findings:
            message = f"the check {check.name} failed: {check.note}"
            found.append(Problem(target.target, Severity.ERROR, check.name, message))
    return found


def _stack(target: TargetReport, entry: StackReport) -> Iterator[Problem]:
    if entry.result.outcome is not StackOutcome.CONFLICT:
        return
    alone = not any(hunk.outcome.failed for hunk in entry.result.hunks)
    for hunk in entry.result.hunks:
        if hunk.outcome.failed:
            yield _hunk(target, hunk, str(hunk.outcome), Severity.ERROR)
        elif hunk.outcome is Outcome.ALREADY:
            yield _hunk(target, hunk, PARTLY, Severity.ERROR if alone else Severity.NOTE)


def _hunk(target: TargetReport, hunk: HunkResult, code: str, severity: Severity) -> Problem:
    source, line = _split(hunk.source)
    return Problem(
        target.target,
        severity,
        code,
        hunk.detail or str(hunk.outcome),
        hunk.id.stack,
        hunk.id.patch,
        str(hunk.id),
        hunk.path,
        hunk.line or next(iter(hunk.candidates), 0),
        source,
        line,
        mend=_COMPLETE if paste_block(hunk) else "mend the entry, or the patch",
        paste=tuple(paste_block(hunk)),
        advice=tuple(advice_lines(target, hunk)) if hunk.outcome.failed else (),
        text=target.texts.get(str(hunk.id)),
    )


def _split(source: str) -> tuple[str, int]:
    file, _, line = source.rpartition(":")
    return (file, int(line)) if line.isdigit() else (source, 0)


def _finding(target: TargetReport, finding: Finding) -> Problem:
    mine = finding.path.startswith(("manifests/", "patches/"))
    return Problem(
        target.target,
        finding.severity,
        finding.code,
        finding.message,
        path=finding.path,
        line=finding.line,
        column=finding.column,
        source=finding.path if mine else "",
        source_line=finding.line if mine else 0,
        symbol=finding.symbol,
        mend=finding.mend,
    )


def manifest_of(target: str) -> str:
    """The file that a target is described in, for problems that have no other."""
    return f"manifests/{target}.toml"
