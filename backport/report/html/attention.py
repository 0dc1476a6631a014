"""What needs a person: one card per patch and target, or per check, the worst first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backport.core.outcomes import Severity
from backport.core.reports import Report
from backport.report.html.words import Look, anchor, badge, text
from backport.report.problems import Problem, problems


def attention(report: Report, stacks: Sequence[str]) -> Iterator[str]:
    """The section with every error; nothing where there is none."""
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in problems(report):
        if problem.severity is Severity.ERROR:
            key = (problem.target, problem.stack, problem.patch or problem.code)
            groups.setdefault(key, []).append(problem)
    if not groups:
        return
    columns = {target.target: at for at, target in enumerate(report.targets)}
    rows = {name: row for row, name in enumerate(stacks)}
    yield '<section aria-labelledby="attention"><h2 id="attention">Needs a person</h2>'
    yield '<ol class="problems">'
    for group in groups.values():
        at = columns[group[0].target]
        row = rows.get(group[0].stack)
        yield _card(group, f"t{at}" if row is None else anchor(row, at))
    yield "</ol></section>"


def _card(group: list[Problem], at: str) -> str:
    first = group[0]
    what = f"{first.stack}/{first.patch}" if first.patch else first.target
    on = f'<span class="on">on {text(first.target)}</span>' if first.patch else ""
    look = Look(first.code, "✗", "conflict" if first.hunk else "error")
    told = " ".join(f"{problem.path} {problem.message}" for problem in group)
    words = f"{first.stack} {first.target} {told}".lower()
    marks = {"stack": first.stack, "target": first.target, "look": look.css, "words": words}
    data = " ".join(f'data-{key}="{text(value)}"' for key, value in marks.items())
    return (
        f"<li {data}><p>{badge(look)} <strong>{text(what)}</strong> {on}"
        f'<a class="go" href="#{at}">{_count(group)}</a></p>'
        f"<ul>{''.join(map(_line, group))}</ul>{_mend(first)}"
    )


def _count(group: list[Problem]) -> str:
    if not group[0].hunk:
        return "open"
    return "open the hunk" if len(group) == 1 else f"open the {len(group)} hunks"


def _line(problem: Problem) -> str:
    place = f"<code>{text(problem.place)}</code> " if problem.path else ""
    return f"<li>{place}{text(problem.message)}"


def _mend(problem: Problem) -> str:
    return f'<p class="mend">{text(problem.mend)}</p>' if problem.mend and not problem.paste else ""
