"""What a run tells: per target what was applied, what the checks found, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from backport.core.outcomes import CheckResult, StackOutcome, StackResult, Status


class Verdict(StrEnum):
    """How a target came out, the worst thing first."""

    ERROR = "error"
    STALE = "stale"
    CONFLICT = "conflict"
    FAILED = "failed"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class StackReport:
    """A stack's result and the commit that holds it (None: none was made)."""

    result: StackResult
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class TargetReport:
    """One target: the base it was tried on, its stacks, its checks, and the resulting tree."""

    target: str
    branch: str
    base: str = ""
    tree: str | None = None
    stacks: tuple[StackReport, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    error: str = ""
    repository: str = ""
    did: str = ""  # what was done to the branch, in words

    @property
    def verdict(self) -> Verdict:
        if self.error:
            return Verdict.ERROR
        failed = {check.name for check in self.checks if check.status is Status.FAILED}
        if "evidence" in failed:
            return Verdict.STALE
        if any(stack.result.outcome is StackOutcome.CONFLICT for stack in self.stacks):
            return Verdict.CONFLICT
        return Verdict.FAILED if failed else Verdict.CLEAN


@dataclass(frozen=True, slots=True)
class Report:
    """Every target of one run."""

    targets: tuple[TargetReport, ...] = field(default_factory=tuple)

    @property
    def exit_code(self) -> int:
        """0 only where every target is clean; 3 where one could not be tried at all."""
        verdicts = {target.verdict for target in self.targets}
        if Verdict.ERROR in verdicts:
            return 3
        return 0 if verdicts <= {Verdict.CLEAN} else 1
