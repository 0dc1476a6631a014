"""What Buildkite reads: log groups, and the Markdown of one annotation with its style."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from backport.core.display import visible
from backport.core.reports import Report, Verdict
from backport.report.markdown import as_markdown
from backport.report.plain import target_lines

ANNOTATION_LIMIT = 1024 * 1024 // 4  # a mebibyte, of characters that may take four bytes
CONTEXT = "backport"


@dataclass(frozen=True, slots=True)
class Buildkite:
    """The log with its groups, and what `buildkite-agent annotate` is given."""

    log: str
    annotation: str
    style: str


def as_buildkite(report: Report) -> Buildkite:
    """The report as Buildkite takes it."""
    clean = all(target.verdict is Verdict.CLEAN for target in report.targets)
    log = "".join(f"{line}\n" for line in _log(report))
    return Buildkite(log, as_markdown(report, ANNOTATION_LIMIT), "success" if clean else "error")


def _log(report: Report) -> Iterator[str]:
    """A group per target: closed where it is clean, open where somebody has to look."""
    for target in report.targets:
        head, *rest = target_lines(target)
        fold = "---" if target.verdict is Verdict.CLEAN else "+++"
        yield f"{fold} {_line(head)}"
        yield from (f" {_line(line)}" for line in rest)  # no line of ours can open a group


def _line(text: str) -> str:
    return visible(text).replace("\n", " ")
