"""The page around the details: summary, filters, the matrix, and what needs a person."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from backport import __version__
from backport.core.display import counted
from backport.core.reports import Report, StackHead, TargetReport, Verdict
from backport.report.html.attention import attention
from backport.report.html.details import checks_table, stack_entry
from backport.report.html.words import CELLS, VERDICTS, Look, anchor, badge, column, text

_HERE = Path(__file__).parent


def as_html(report: Report) -> str:
    """The whole report as one page."""
    stacks = _heads(report)
    body = [_header(report), _filters(report, stacks), _matrix(report, stacks)]
    body += [*attention(report, [head.name for head in stacks]), *_targets(report, stacks)]
    body += [*_about(stacks), _footer()]
    return framed(_title(report), "\n".join(body))


def framed(title: str, body: str) -> str:
    """A page with our style and script, which may load nothing from anywhere."""
    style = (_HERE / "style.css").read_text("utf-8")
    script = (_HERE / "script.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{text(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _heads(report: Report) -> list[StackHead]:
    """The library's stacks, or in a report without them those that the targets name."""
    known = {head.name: head for head in report.stacks}
    for target in report.targets:
        for entry in target.stacks:
            known.setdefault(entry.result.stack, StackHead(entry.result.stack))
    return list(known.values())


def _title(report: Report) -> str:
    bad = sum(target.verdict is not Verdict.CLEAN for target in report.targets)
    return (
        f"backport: {bad} of {len(report.targets)} targets need attention"
        if bad
        else (f"backport: all {len(report.targets)} targets are clean")
    )


def _header(report: Report) -> str:
    counts = [
        badge(VERDICTS[verdict], str(count))
        for verdict in Verdict
        if (count := sum(target.verdict is verdict for target in report.targets))
    ]
    return (
        '<a class="skip" href="#matrix">To the matrix</a>\n'
        f"<header><h1>{text(_title(report).partition(': ')[2])}</h1>"
        f'<p class="tally">{" ".join(counts)}</p></header>\n<main>'
    )


def _filters(report: Report, stacks: list[StackHead]) -> str:
    looks = dict.fromkeys(CELLS.values())
    boxes = "".join(
        f'<label class="chip {look.css}"><input type="checkbox" name="look" value="{look.css}" '
        f'checked> <b aria-hidden="true">{look.sign}</b> {look.word}</label>'
        for look in looks
        if look.css != "none"
    )
    return (
        '<form class="filters" role="search" aria-label="Filter the report">'
        '<label class="find">Search <input type="search" id="search" autocomplete="off" '
        'placeholder="stack, file, target  ( / )"></label>'
        f"{_choice('stack', [head.name for head in stacks])}"
        f"{_choice('target', [target.target for target in report.targets])}"
        f"<fieldset><legend>Outcome</legend>{boxes}</fieldset>"
        '<output id="shown" aria-live="polite"></output></form>'
    )


def _choice(name: str, values: list[str]) -> str:
    options = "".join(f'<option value="{text(value)}">{text(value)}' for value in values)
    return (
        f'<label>{name.capitalize()} <select id="{name}"><option value="">all{options}'
        "</select></label>"
    )


def _matrix(report: Report, stacks: list[StackHead]) -> str:
    names = [head.name for head in stacks]
    columns = [column(names, target) for target in report.targets]
    heads = "".join(
        f'<th scope="col"><a href="#t{index}">{text(target.target)}</a>'
        f"{badge(VERDICTS[target.verdict])}"
        for index, target in enumerate(report.targets)
    )
    rows = "\n".join(
        f'<tr><th scope="row">{text(name)}'
        + "".join(_cell(report, name, r, c, looks[r]) for c, looks in enumerate(columns))
        for r, name in enumerate(names)
    )
    return (
        '<section aria-labelledby="matrix"><h2 id="matrix" tabindex="-1">Stacks and targets</h2>'
        '<div class="scroll"><table class="matrix"><thead><tr><td>'
        f"{heads}</thead><tbody>\n{rows}\n</tbody></table></div></section>"
    )


def _cell(report: Report, name: str, row: int, at: int, look: Look) -> str:
    target = report.targets[at]
    entry = next((entry for entry in target.stacks if entry.result.stack == name), None)
    sign = f'<b aria-hidden="true">{look.sign}</b><span>{look.word}</span>'
    if entry is None:
        return f'<td><span class="cell {look.css}">{sign}</span>'
    failed = sum(hunk.outcome.failed for hunk in entry.result.hunks)
    more = f"{failed}/{len(entry.result.hunks)}" if failed else ""
    tip = text(entry.result.reason or counted(len(entry.result.hunks), "hunk"))
    return (
        f'<td><a class="cell {look.css}" href="#{anchor(row, at)}" title="{tip}" '
        f'data-stack="{text(name)}" data-target="{text(target.target)}" '
        f'data-look="{look.css}">{sign}<small>{more}</small></a>'
    )


def _targets(report: Report, stacks: list[StackHead]) -> Iterator[str]:
    rows = {head.name: row for row, head in enumerate(stacks)}
    for at, target in enumerate(report.targets):
        yield f'<section class="target"><h2 id="t{at}">{text(target.target)} '
        yield f"{badge(VERDICTS[target.verdict])}</h2>{_facts(target)}"
        for entry in target.stacks:
            yield stack_entry(target, entry, anchor(rows[entry.result.stack], at))
        yield f"{checks_table(target.checks)}</section>"


def _facts(target: TargetReport) -> str:
    if target.error:
        return f'<p class="trouble">{text(target.error)}</p>'
    tree = f", tree <code>{text(target.tree[:12])}</code>" if target.tree else ""
    return (
        f'<p class="facts">base <code>{text(target.base[:12])}</code>{tree}, '
        f"branch <code>{text(target.branch)}</code></p>"
    )


def _about(stacks: list[StackHead]) -> Iterator[str]:
    told = [head for head in stacks if head.title]
    if not told:
        return
    yield '<section aria-labelledby="about"><h2 id="about">The stacks</h2><dl class="about">'
    for head in told:
        facts = [head.kind, f"home {head.home}", f"digest {head.digest}"]
        facts += [f"{head.upstream} ({head.state})"] if head.upstream else []
        facts += [f"retire {head.retire}"] if head.retire else []
        yield f"<dt>{text(head.name)}<dd><p>{text(head.title)}</p>"
        yield f'<p class="facts">{text(" · ".join(facts))}</p><p>{text(head.why)}</p>'
    yield "</dl></section>"


def _footer() -> str:
    return (
        f"</main><footer>backport {text(__version__)} · keys: <kbd>/</kbd> search, "
        "arrows move in the matrix, <kbd>Enter</kbd> opens, <kbd>Esc</kbd> goes back</footer>"
    )
