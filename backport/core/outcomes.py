"""What came of it, as values: a conflict is a result, not an exception."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from backport.core.patches import HunkId
from backport.core.trees import Entry


class Outcome(StrEnum):
    """What happened to one hunk, strictest first."""

    EXACT = "exact"
    MOVED = "moved"
    MERGED = "merged"
    ALREADY = "already"
    REANCHORED = "reanchored"
    REPLACED = "replaced"
    DROPPED = "dropped"
    AMBIGUOUS = "ambiguous"
    CONFLICT = "conflict"

    @property
    def failed(self) -> bool:
        """True where the hunk has no place."""
        return self in (Outcome.AMBIGUOUS, Outcome.CONFLICT)

    @property
    def placed(self) -> bool:
        """True where the hunk changes the target."""
        return self in _PLACED


_PLACED = (
    Outcome.EXACT,
    Outcome.MOVED,
    Outcome.MERGED,
    Outcome.REANCHORED,
    Outcome.REPLACED,
)


class Severity(StrEnum):
    """How much a finding weighs: only an error fails its check."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Status(StrEnum):
    """How a check ended; "not run" is never "passed"."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_RUN = "not_run"


class Finding(NamedTuple):
    """One thing that is wrong at one place.

    `line` and `column` count from 1; 0 means that the finding has no line.
    `symbol` is a stable name for what is wrong (no line numbers in it), so that
    the same finding can be recognised in two trees. `mend` says what to do.
    """

    path: str
    line: int
    column: int
    severity: Severity
    code: str
    message: str
    symbol: str = ""
    mend: str = ""


class CheckResult(NamedTuple):
    """The result of one check over one target's tree; `note` says why it was not run."""

    name: str
    status: Status
    findings: tuple[Finding, ...] = ()
    note: str = ""


class StackOutcome(StrEnum):
    """What became of a whole stack on one target."""

    APPLIED = "applied"
    ALREADY = "already"
    SKIPPED = "skipped"
    CONFLICT = "conflict"


class Proposal(NamedTuple):
    """What could stand for a hunk without a place: to be read by a person, never applied unasked.

    `same` of `cases` such merges were what a maintainer made of the change, up to
    layout; `why` says what keeps it from being applied, `patch` is the text for a
    `replace` entry.
    """

    rules: tuple[str, ...]
    same: int
    cases: int
    why: str
    patch: str

    @property
    def counted(self) -> str:
        """How often such merges were right, in words."""
        if not self.cases:
            return "unmeasured"
        return f"{self.same} of {self.cases} such merges were right"


class HunkResult(NamedTuple):
    """What happened to one hunk on one target.

    `line` counts from 1 in the target's file before the patch (0: no place),
    `offset` is how far that is from where the patch puts it, `reason` is the
    manifest's, `detail` the tool's own explanation, `source` the hunk's place in
    its patch file, `inserts` whether it only adds lines, `added`/`removed` count the
    lines that really changed, `origin` is the file that was renamed or copied, and
    `evidence` a statement that is true of the target and shows why a hunk is not placed.
    """

    id: HunkId
    path: str
    outcome: Outcome
    line: int = 0
    offset: int = 0
    reason: str = ""
    detail: str = ""
    source: str = ""
    candidates: tuple[int, ...] = ()
    inserts: bool = False
    added: int = 0
    removed: int = 0
    origin: str = ""
    proposal: Proposal | None = None
    evidence: str = ""


class StackResult(NamedTuple):
    """A stack on one target: the files it changes (None: deleted) and every hunk's outcome."""

    stack: str
    changes: Mapping[str, Entry | None]
    hunks: tuple[HunkResult, ...]
    outcome: StackOutcome
    reason: str = ""
