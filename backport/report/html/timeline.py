"""A scan as a page: a strip of commits per hunk, and what each change was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backport.core.display import counted
from backport.core.scanning import Commit, History, HunkHistory, Sight
from backport.report.html.page import framed
from backport.report.html.words import Look, badge, text
from backport.report.timeline import day, strip

LOOKS = {
    Sight.CLEAN: Look("clean", "✓", "clean"),
    Sight.ALREADY: Look("already there", "≡", "contained"),
    Sight.CONFLICT: Look("conflict", "✗", "conflict"),
}


def as_html(start: str, end: str, histories: Sequence[History], note: str = "") -> str:
    """The whole scan as one page."""
    title = f"{start}..{end}"
    body = [f"<header><h1>{text(title)}</h1>"]
    if note:
        body.append(f'<p class="trouble">{text(note)}</p>')
    body.append('<p class="facts">One square for each commit that touches the stack\'s files.</p>')
    body.append(f'<p class="tally">{" ".join(map(badge, LOOKS.values()))}</p></header>\n<main>')
    for history in histories:
        body += _stack(history)
    return framed(f"backport scan {title}", "\n".join([*body, "</main>"]))


def _stack(history: History) -> Iterator[str]:
    commits = [commit for commit, _ in history.commits]
    changed = [hunk for hunk in history.hunks if len(hunk.spans) > 1]
    still = [hunk for hunk in history.hunks if len(hunk.spans) == 1]
    yield f"<section><h2>{text(history.stack)} {badge(LOOKS[history.end], 'at the end')}</h2>"
    yield '<div class="scroll"><table class="strips"><tbody>'
    overall = [history.start, *(sight for _, sight in history.commits)]
    yield _strip("the whole stack", overall, commits)
    for hunk in history.hunks:
        yield _strip(hunk.hunk.partition("/")[2], strip(hunk, commits), commits)
    yield "</tbody></table></div>"
    yield from (_hunk(hunk) for hunk in changed)
    if still:
        items = "".join(f"<li>{badge(LOOKS[h.end])} <code>{text(h.hunk)}</code>" for h in still)
        never = counted(len(still), "hunk never changes", "hunks never change")
        head = f"<summary>{never}</summary>"
        yield f"<details>{head}<ul>{items}</ul></details>"
    yield "</section>"


def _strip(name: str, sights: Sequence[Sight], commits: Sequence[Commit]) -> str:
    names = ["the start", *(f"{commit.id[:12]} {commit.subject}" for commit in commits)]
    squares = "".join(
        f'<i class="{LOOKS[sight].css}" title="{text(f"{LOOKS[sight].word}: {where}")}">'
        f"{LOOKS[sight].sign}</i>"
        for sight, where in zip(sights, names, strict=True)
    )
    return f'<tr><th scope="row">{text(name)}<td aria-hidden="true">{squares}'


def _hunk(hunk: HunkHistory) -> str:
    items = []
    for span in hunk.spans:
        since = "at the start"
        if span.commit:
            since = f"{day(span.commit)} <code>{text(span.commit.id[:12])}</code> "
            since += text(span.commit.subject)
        why = f'<br><span class="mend">{text(span.detail)}</span>' if span.detail else ""
        items.append(f"<li>{badge(LOOKS[span.sight])} {since}{why}")
    css = LOOKS[hunk.end].css
    return (
        f'<details class="entry {css}"><summary>{badge(LOOKS[hunk.end])}'
        f"<code>{text(hunk.hunk)}</code></summary>"
        f'<div class="inside"><ol class="spans">{"".join(items)}</ol></div></details>'
    )
