"""What a cell of the matrix opens to: the stack's hunks on one target, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from backport.core.outcomes import CheckResult, HunkResult, Outcome, Severity, Status
from backport.core.reports import HunkText, StackReport, TargetReport
from backport.report.html.diffs import against_target, change
from backport.report.html.words import CELLS, HUNKS, Look, badge, text
from backport.report.matrix import cell
from backport.report.plain import advice_lines, paste_block

_STATUS = {
    Status.PASSED: Look("passed", "✓", "clean"),
    Status.FAILED: Look("failed", "✗", "error"),
    Status.NOT_RUN: Look("not run", "○", "skipped"),
}
_SEVERITY = {
    Severity.ERROR: Look("error", "✗", "error"),
    Severity.WARNING: Look("warning", "!", "stale"),
    Severity.NOTE: Look("note", "i", "skipped"),
}


def stack_entry(target: TargetReport, entry: StackReport, anchor: str) -> str:
    """The foldable entry of one stack on one target."""
    result = entry.result
    look = CELLS[cell(result)]
    files = " ".join(dict.fromkeys(hunk.path for hunk in result.hunks))
    words = f"{result.stack} {target.target} {files}".lower()
    return (
        f'<details class="entry {look.css}" id="{anchor}" data-stack="{text(result.stack)}" '
        f'data-target="{text(target.target)}" data-look="{look.css}" data-words="{text(words)}">'
        f"<summary>{badge(look)}<strong>{text(result.stack)}</strong> "
        f'<span class="on">on {text(target.target)}</span>{_counted(result.hunks)}</summary>'
        f'<div class="inside">{_body(target, entry)}</div></details>'
    )


def _counted(hunks: tuple[HunkResult, ...]) -> str:
    counts = Counter(hunk.outcome for hunk in hunks)
    parts = [f"{counts[outcome]} {HUNKS[outcome].word}" for outcome in Outcome if counts[outcome]]
    return f'<span class="counts">{text(", ".join(parts))}</span>' if parts else ""


def _body(target: TargetReport, entry: StackReport) -> str:
    result = entry.result
    parts = [f'<p class="reason">{text(result.reason)}</p>'] if result.reason else []
    patches: dict[str, list[HunkResult]] = {}
    for hunk in result.hunks:
        patches.setdefault(hunk.id.patch, []).append(hunk)
    for patch, hunks in patches.items():
        parts.append(f"<h4>{text(patch)}</h4>")
        parts += [_hunk(target, hunk) for hunk in hunks]
    if not result.hunks and not result.reason:
        parts.append("<p>The stack has no hunks here.</p>")
    return "\n".join(parts)


def _hunk(target: TargetReport, hunk: HunkResult) -> str:
    look = HUNKS[hunk.outcome]
    at = hunk.line or next(iter(hunk.candidates), 0)
    place = f"{hunk.path}:{at}" if at else hunk.path
    offset = f"{hunk.offset:+d} lines" if hunk.offset and hunk.outcome is Outcome.MOVED else ""
    unfold = " open" if hunk.outcome.failed else ""
    return (
        f'<details class="hunk {look.css}"{unfold}><summary>{badge(look, offset)}'
        f"<code>{text(place)}</code></summary>"
        f'<div class="inside">{"".join(_explained(target, hunk))}'
        f"{_shown(hunk, target.texts.get(str(hunk.id)))}</div></details>"
    )


def _explained(target: TargetReport, hunk: HunkResult) -> Iterator[str]:
    yield f'<p class="id">hunk {copyable(str(hunk.id))}</p>'
    if hunk.source:
        yield f'<p class="id">from <code>{text(hunk.source)}</code></p>'
    if hunk.reason:
        yield f'<p class="reason">{text(hunk.reason)}</p>'
    if hunk.detail:
        yield f"<p>{text(hunk.detail)}</p>"
    block = paste_block(hunk) if hunk.outcome.failed else []
    if block:
        yield paste(tuple(block))
    if hunk.outcome.failed:
        yield _advice(advice_lines(target, hunk))


def _advice(lines: list[str]) -> str:
    if not lines:
        return ""
    body = "\n".join(text(line) for line in lines)
    return f"<details><summary>What could stand there</summary><pre>{body}</pre></details>"


def _shown(hunk: HunkResult, shown: HunkText | None) -> str:
    if shown is None or not shown.lines:
        return ""
    return against_target(shown) + change(hunk, shown)


def copyable(value: str) -> str:
    """A code word with a button that copies it."""
    return f'<code>{text(value)}</code><button type="button" class="copy">copy</button>'


def paste(lines: tuple[str, ...]) -> str:
    """The block to paste into a manifest."""
    if not lines:
        return ""
    body = "\n".join(text(line) for line in lines)
    return (
        '<div class="paste"><p>To settle it, complete this entry and put it into the manifest:</p>'
        f'<pre>{body}</pre><button type="button" class="copy">copy</button></div>'
    )


def checks_table(checks: tuple[CheckResult, ...]) -> str:
    """Every check of a target with what it found."""
    rows = "\n".join(
        f"<tr><th scope=row>{text(check.name)}<td>{badge(_STATUS[check.status])}"
        f"<td>{text(check.note)}{_findings(check)}"
        for check in checks
    )
    return f'<table class="checks"><tbody>{rows}</tbody></table>' if rows else ""


def _findings(check: CheckResult) -> str:
    if not check.findings:
        return ""
    items = []
    for found in check.findings:
        place = f"{found.path}:{found.line}" if found.line else found.path
        mend = f'<br><span class="mend">{text(found.mend)}</span>' if found.mend else ""
        items.append(
            f"<li>{badge(_SEVERITY[found.severity], found.code)} <code>{text(place)}</code> "
            f"{text(found.message)}{mend}"
        )
    return f"<ul>{''.join(items)}</ul>"
