"""What is different between two results, one line a change, worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backport.core.outcomes import StackOutcome, Status
from backport.core.reports import Report, StackReport, TargetReport
from backport.report.matrix import cell

BROKEN, CONTAINED, REPAIRED, OTHER = "newly broken", "newly contained", "repaired", "changed"
ABSENT = "not there"
ORDER = (BROKEN, REPAIRED, CONTAINED, OTHER)
_BAD = frozenset({"conflict", "error", "failed", "stale"})


@dataclass(frozen=True, slots=True)
class Change:
    """One cell of the matrix (stack "": the target as a whole) that came out differently."""

    kind: str
    target: str
    stack: str
    was: str
    now: str
    why: str = ""

    def __str__(self) -> str:
        what = f"{self.target} {self.stack}".rstrip()
        why = f" ({self.why})" if self.why else ""
        return f"{self.kind}: {what}: {self.was} -> {self.now}{why}"


def changes(before: Report, now: Report) -> list[Change]:
    """Every cell and verdict that differs; a target that was not there before counts as one."""
    olds = {target.target: target for target in before.targets}
    found: list[Change] = []
    for target in now.targets:
        old = olds.get(target.target)
        found += _target(old, target) if old else [_new(target)]
    return sorted(found, key=lambda change: ORDER.index(change.kind))


def _new(target: TargetReport) -> Change:
    verdict = str(target.verdict)
    return Change(_kind(ABSENT, verdict), target.target, "", ABSENT, verdict, _whole(target))


def counted(found: Sequence[Change]) -> str:
    """How many changes there are of each kind, the worst first."""
    kinds = [change.kind for change in found]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in ORDER if kind in kinds)


def _target(before: TargetReport, now: TargetReport) -> list[Change]:
    olds = {entry.result.stack: entry for entry in before.stacks}
    found = [
        _change(now.target, entry, cell(olds[entry.result.stack].result), cell(entry.result))
        for entry in now.stacks
        if entry.result.stack in olds
        and cell(olds[entry.result.stack].result) != cell(entry.result)
    ]
    was, is_ = str(before.verdict), str(now.verdict)
    told = any((change.now in _BAD) == (is_ in _BAD) for change in found)
    if was != is_ and not told:
        found.append(Change(_kind(was, is_), now.target, "", was, is_, _whole(now)))
    return found


def _change(target: str, entry: StackReport, was: str, now: str) -> Change:
    return Change(_kind(was, now), target, entry.result.stack, was, now, _why(entry))


def _kind(was: str, now: str) -> str:
    if now in _BAD:
        return BROKEN if was not in _BAD else OTHER
    if now == StackOutcome.ALREADY:
        return CONTAINED
    return REPAIRED if was in _BAD else OTHER


def _why(entry: StackReport) -> str:
    """The first hunk that has no place, or the manifest's reason."""
    result = entry.result
    failed = [hunk for hunk in result.hunks if hunk.outcome.failed]
    if failed:
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        return f"{failed[0].path}: {failed[0].detail}{more}"
    return result.reason


def still_failing(report: Report, found: Sequence[Change]) -> list[str]:
    """A line for each target that is not clean and of which no change tells it."""
    told = {change.target for change in found if change.now in _BAD}
    return [
        f"still {target.verdict}: {target.target}{f' ({why})' if (why := _whole(target)) else ''}"
        for target in report.targets
        if str(target.verdict) in _BAD and target.target not in told
    ]


def _whole(target: TargetReport) -> str:
    """Why a target as a whole is not clean: the trouble around it, else the first thing found."""
    if target.error:
        return target.error
    found = [f for check in target.checks for f in check.findings if f.severity == "error"]
    if found:
        return f"{found[0].path}: {found[0].message}"
    conflicts = [s for s in target.stacks if s.result.outcome is StackOutcome.CONFLICT]
    failed = [check for check in target.checks if check.status is Status.FAILED]
    told = [f"{stack.result.stack}: {_why(stack)}" for stack in conflicts]
    told += [f"the check {check.name} failed: {check.note}" for check in failed]
    return told[0] if told else ""
