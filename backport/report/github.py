"""What GitHub Actions reads: annotations, a job summary, and a step's outputs.

A step shows ten errors, ten warnings and ten notices, so there is one annotation for
each patch and target, and the summary holds the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from backport.core.display import visible
from backport.core.outcomes import Severity
from backport.core.reports import Report, Verdict
from backport.report.markdown import as_markdown
from backport.report.problems import Problem, manifest_of, problems

PER_LEVEL = 10
SUMMARY_LIMIT = 1024 * 1024
MESSAGE_LIMIT = 4096
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


@dataclass(frozen=True, slots=True)
class GitHub:
    """The three texts: workflow commands to print, the summary, and `key=value` outputs."""

    commands: str
    summary: str
    outputs: str


def as_github(report: Report) -> GitHub:
    """The report as GitHub Actions takes it."""
    commands = "".join(f"{line}\n" for line in _commands(report))
    return GitHub(commands, _summary(report), _outputs(report))


def _summary(report: Report) -> str:
    """The limit is in bytes, and a character of ours takes at most four."""
    text = as_markdown(report, SUMMARY_LIMIT - 1024)
    return text if len(text.encode()) < SUMMARY_LIMIT else as_markdown(report, SUMMARY_LIMIT // 4)


def _commands(report: Report) -> Iterator[str]:
    groups: dict[tuple[str, ...], list[Problem]] = {}
    for problem in problems(report):
        key = (problem.severity, problem.target, problem.stack, problem.patch or problem.source)
        groups.setdefault(key, []).append(problem)
    for severity, level in _LEVELS.items():
        mine = [group for key, group in groups.items() if key[0] == severity]
        shown = mine if len(mine) <= PER_LEVEL else mine[: PER_LEVEL - 1]
        for group in shown:
            yield _annotation(level, group)
        if len(mine) > len(shown):
            more = len(mine) - len(shown)
            yield f"::{level} title=backport::{more} more of this kind; see the job summary"


def _annotation(level: str, group: list[Problem]) -> str:
    first = group[0]
    file = first.source or manifest_of(first.target)
    what = f"{first.stack}/{first.patch}" if first.patch else first.code
    title = f"{what} on {first.target}"
    place = f"file={_property(file)},line={first.source_line or 1},title={_property(title)}"
    blocks = ["\n".join(_told(problem)) for problem in group]
    text = "\n\n".join(blocks)
    if len(text) > MESSAGE_LIMIT:
        text = text[:MESSAGE_LIMIT].rpartition("\n")[0] + "\n… see the job summary"
    return f"::{level} {place}::{_data(text)}"


def _told(problem: Problem) -> Iterator[str]:
    yield f"{problem.place}: {problem.message}" if problem.path else problem.message
    if problem.hunk:
        yield f"hunk {problem.hunk}"
    if problem.mend:
        yield problem.mend
    yield from problem.paste


def _data(text: str) -> str:
    shown = visible(text)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _outputs(report: Report) -> str:
    """One line each; JSON keeps every value on its line."""
    bad = [target.target for target in report.targets if target.verdict is not Verdict.CLEAN]
    worst = next((v for v in Verdict if any(t.verdict is v for t in report.targets)), Verdict.CLEAN)
    values = {
        "verdict": str(worst),
        "exit-code": str(report.exit_code),
        "clean": "false" if bad else "true",
        "problems": str(sum(p.severity is Severity.ERROR for p in problems(report))),
        "failed": json.dumps(bad),
        "targets": json.dumps({target.target: str(target.verdict) for target in report.targets}),
    }
    return "".join(f"{key}={value}\n" for key, value in values.items())
