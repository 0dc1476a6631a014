"""What a run tells: per target what was applied, what the checks found, and the verdict."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from backport.core.outcomes import CheckResult, StackOutcome, StackResult, Status


class Verdict(StrEnum):
    """How a target came out, the worst thing first."""

    ERROR = "error"
    STALE = "stale"
    CONFLICT = "conflict"
    FAILED = "failed"
    CLEAN = "clean"


class StackReport(NamedTuple):
    """A stack's result and the commit that holds it (None: none was made)."""

    result: StackResult
    commit: str | None = None


class HunkText(NamedTuple):
    """A hunk's own lines with their signs, and the target's lines where it should have gone.

    `start` is the hunk's first line in the file that its patch was made on, `found`
    the target's lines from `line` on, where the hunk has no place of its own there.
    """

    lines: tuple[str, ...] = ()
    start: int = 0
    line: int = 0
    found: tuple[str, ...] = ()


class Offer(NamedTuple):
    """What people decided about a hunk for another target, to be read and taken by hand.

    `match` says how much of this target's text is what it was decided about, `lines`
    are the manifest's entry and `diff` the text that a `replace` puts there.
    """

    made: str
    match: str
    lines: tuple[str, ...]
    diff: str = ""


class StackHead(NamedTuple):
    """What a stack is, for a reader of the report who has no library at hand."""

    name: str
    title: str = ""
    kind: str = ""
    home: str = ""
    digest: str = ""
    upstream: str = ""
    state: str = ""
    retire: str = ""
    why: str = ""


class TargetReport(NamedTuple):
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
    texts: Mapping[str, HunkText] = MappingProxyType({})  # by hunk id
    offers: Mapping[str, tuple[Offer, ...]] = MappingProxyType({})  # by hunk id
    bad_input: bool = False  # the error is in a file of the library

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


class Report(NamedTuple):
    """Every target of one run, and the stacks that it knows."""

    targets: tuple[TargetReport, ...] = ()
    stacks: tuple[StackHead, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 only where every target is clean; 2 where a file of the library cannot be used, 3 where
        a target could not be tried for another reason."""
        verdicts = {target.verdict for target in self.targets}
        if Verdict.ERROR in verdicts:
            return 2 if any(target.bad_input for target in self.targets) else 3
        return 0 if verdicts <= {Verdict.CLEAN} else 1
