"""Markdown for a pull request's body or one comment that is kept up to date.

A comment holds 65,536 characters, a job summary a megabyte; what does not fit is
counted, never cut in the middle. Nothing that a patch says can open a link, call a
person or break out of its block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from backport.core.display import visible
from backport.core.outcomes import Severity, StackOutcome
from backport.core.reports import Report, TargetReport, Verdict
from backport.report.matrix import cells
from backport.report.plain import hunk_line
from backport.report.problems import Problem, problems

LIMIT = 65_536
MARKER = "<!-- backport-report -->"  # how a sticky comment finds itself again
_SIGNS = {
    "exact": "✅ clean",
    "moved": "✅ moved",
    "merged": "🔀 merged",
    "adapted": "🔧 adapted",
    "already": "☑️ contained",
    "skipped": "⏭️ skipped",
    "conflict": "❌ conflict",
    "error": "⚠️ error",
    "-": "·",
}
_VERDICTS = {
    Verdict.CLEAN: "✅ clean",
    Verdict.CONFLICT: "❌ conflict",
    Verdict.FAILED: "❌ failed",
    Verdict.STALE: "⏳ stale",
    Verdict.ERROR: "⚠️ error",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$])")
_OPENS_BLOCK = re.compile(r"\A(\s*)([-+=#]|\d+(?=[.)]))")
_CALLS = re.compile(r"[@#](?=\w)|(?<=[a-z]):(?=//)|\bwww(?=\.)", re.IGNORECASE)


def as_markdown(report: Report, limit: int = LIMIT) -> str:
    """The report in at most `limit` characters."""
    head = "\n".join([MARKER, f"### {headline(report)}", "", *_matrix(report), ""])
    if len(head) > limit // 2:
        head = "\n".join([MARKER, f"### {headline(report)}", ""])
    return _fill(head, list(_parts(report)), limit)


def headline(report: Report) -> str:
    """How many targets came out how, the worst first."""
    verdicts = [target.verdict for target in report.targets]
    counted = [f"{verdicts.count(v)} {v}" for v in Verdict if v in verdicts]
    return f"backport: {len(verdicts)} targets: {', '.join(counted)}" if counted else "backport"


def _fill(head: str, parts: list[str], limit: int) -> str:
    """The head and as many parts as fit, and how many do not."""
    out = [head]
    room = limit - len(head) - 100
    for index, part in enumerate(parts):
        if len(part) + 1 > room:
            out.append(f"\n… and {len(parts) - index} more; see the whole report.\n")
            break
        out.append(part)
        room -= len(part) + 1
    return "\n".join(out).rstrip("\n") + "\n"


def _matrix(report: Report) -> Iterator[str]:
    targets = report.targets
    names = [head.name for head in report.stacks] or _named(report)
    yield "| stack | " + " | ".join(code(target.target) for target in targets) + " |"
    yield "|---" * (len(targets) + 1) + "|"
    columns = [cells(names, target) for target in targets]
    for index, name in enumerate(names):
        row = [_SIGNS.get(column[index], column[index]) for column in columns]
        yield f"| {code(name)} | " + " | ".join(row) + " |"
    yield "| **verdict** | " + " | ".join(_VERDICTS[target.verdict] for target in targets) + " |"


def _named(report: Report) -> list[str]:
    found = (entry.result.stack for target in report.targets for entry in target.stacks)
    return list(dict.fromkeys(found))


def _parts(report: Report) -> Iterator[str]:
    found = problems(report)
    for problem in sorted(found, key=lambda problem: list(Severity).index(problem.severity)):
        yield _problem(problem)
    for target in report.targets:
        yield from _deviations(target)


def _problem(problem: Problem) -> str:
    place = f" at {code(problem.place)}" if problem.path else ""
    lines = [f"**{problem.severity}** on {code(problem.target)}{place}: {plain(problem.message)}"]
    if problem.hunk:
        lines.append(f"hunk {code(problem.hunk)} from {_source(problem)}")
    if problem.mend:
        lines.append(plain(problem.mend))
    return "\n".join(["  \n".join(lines), *_fenced(problem.paste, "toml"), *_advice(problem), ""])


def _advice(problem: Problem) -> list[str]:
    """What could stand there, folded away."""
    if not problem.advice:
        return []
    fenced = _fenced(problem.advice, "diff")
    return ["<details><summary>what could stand there</summary>", "", *fenced, "", "</details>"]


def _source(problem: Problem) -> str:
    line = f":{problem.source_line}" if problem.source_line else ""
    return code(f"{problem.source}{line}")


def _deviations(target: TargetReport) -> Iterator[str]:
    """What a target leaves out or does otherwise, folded away."""
    lines = [
        f"{entry.result.stack}: {entry.result.reason}"
        for entry in target.stacks
        if entry.result.outcome is StackOutcome.SKIPPED
    ]
    lines += [hunk_line(h) for entry in target.stacks for h in entry.result.hunks if h.reason]
    if lines:
        body = "\n".join(f"- {plain(line)}" for line in lines)
        title = f"{len(lines)} deviations on {plain(target.target)}"
        yield f"<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"


def _fenced(lines: Iterable[str], language: str) -> list[str]:
    text = [visible(line).replace("\n", " ") for line in lines]
    if not text:
        return []
    longest = max((len(run) for run in re.findall("`+", "\n".join(text))), default=0)
    fence = "`" * max(3, longest + 1)
    return ["", f"{fence}{language}", *text, fence]


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no link, nobody called."""
    shown = _SPECIAL.sub(r"\\\1", visible(text).replace("\n", " ").replace("&", "&amp;"))
    shown = shown.replace("\\<", "&lt;").replace("\\>", "&gt;")
    shown = _OPENS_BLOCK.sub(r"\1&#8203;\2", shown)
    return _CALLS.sub(lambda found: f"{found.group()}&#8203;", shown)


def code(text: str) -> str:
    """A code span that holds exactly this text, also inside a table."""
    shown = visible(text).replace("\n", " ").replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"
