"""A scan as text and JSON: per hunk the commit that broke it and the one that repaired it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from backport import __version__
from backport.core.display import counted, visible
from backport.core.scanning import Commit, History, HunkHistory, Sight, Span

SIGNS = {Sight.CLEAN: ".", Sight.ALREADY: "=", Sight.CONFLICT: "x"}
LEGEND = ". clean  = already there  x conflict; one sign a commit that touches the stack's files"
WIDTH = 72


def strip(hunk: HunkHistory, commits: Sequence[Commit]) -> list[Sight]:
    """How the hunk stands at the start and after each commit."""
    changes = {span.commit.id: span.sight for span in hunk.spans if span.commit}
    out = [hunk.spans[0].sight]
    for commit in commits:
        out.append(changes.get(commit.id, out[-1]))
    return out


def as_text(
    start: str, end: str, histories: Sequence[History], verbose: bool = False, note: str = ""
) -> str:
    """Every stack's timeline; hunks that never change are counted unless `verbose`."""
    lines = [note, ""] if note else []
    for history in histories:
        lines += [*_stack(f"{start}..{end}", history, verbose), ""]
    return visible("\n".join([*lines, LEGEND])) + "\n"


def _stack(span: str, history: History, verbose: bool) -> Iterator[str]:
    commits = [commit for commit, _ in history.commits]
    yield f"{history.stack}: {history.start} at the start of {span}, {history.end} at its end"
    yield f"  {counted(len(commits), 'commit touches', 'commits touch')} its files"
    yield from _wrapped([history.start, *(sight for _, sight in history.commits)])
    still = 0
    for hunk in history.hunks:
        if len(hunk.spans) == 1 and hunk.end is not Sight.CONFLICT and not verbose:
            still += 1
            continue
        yield f"  {hunk.hunk}"
        yield from (f"    {_span(part)}" for part in hunk.spans)
    if still:
        yield f"  {counted(still, 'hunk stands', 'hunks stand')} as at the start after every commit"


def _wrapped(sights: Sequence[Sight]) -> Iterator[str]:
    signs = "".join(SIGNS[sight] for sight in sights)
    for at in range(0, len(signs), WIDTH):
        yield f"  {signs[at : at + WIDTH]}"


def _span(span: Span) -> str:
    where = f"line {span.line}" if span.line and span.sight is Sight.CLEAN else span.detail
    why = f" ({where})" if where else ""
    if span.commit is None:
        return f"{span.sight} at the start{why}"
    return f"{span.sight} since {short(span.commit)}{why}"


def short(commit: Commit) -> str:
    """A commit in one line: abbreviated id, day and subject."""
    return f"{commit.id[:12]} {day(commit)} {commit.subject}"


def day(commit: Commit) -> str:
    """The commit's day."""
    return time.strftime("%Y-%m-%d", time.gmtime(commit.date))


# ---------------------------------------------------------------- JSON


def as_json(
    start: str,
    end: str,
    histories: Sequence[History],
    judged: int = 0,
    known: int = 0,
    note: str = "",
) -> str:
    """The same for a machine: every span of every hunk."""
    content = {
        "schema": 1,
        "tool": {"name": "backport", "version": __version__},
        "range": {"start": start, "end": end, "note": note or None},
        "evaluations": {"made": judged, "known": known},
        "stacks": [_stack_values(history) for history in histories],
    }
    return json.dumps(content, indent=1) + "\n"


def _stack_values(history: History) -> dict[str, Any]:
    return {
        "name": history.stack,
        "digest": history.digest,
        "start": str(history.start),
        "end": str(history.end),
        "commits": [
            {**_commit(commit), "paths": sorted(commit.versions), "stands": str(sight)}
            for commit, sight in history.commits
        ],
        "hunks": [_hunk(hunk) for hunk in history.hunks],
    }


def _hunk(hunk: HunkHistory) -> dict[str, Any]:
    return {
        "id": hunk.hunk,
        "path": hunk.path,
        "broke": _commit(hunk.broke) if hunk.broke else None,
        "repaired": _commit(hunk.repaired) if hunk.repaired else None,
        "spans": [
            {
                "commit": span.commit.id if span.commit else None,
                "stands": str(span.sight),
                "line": span.line,
                "detail": span.detail or None,
            }
            for span in hunk.spans
        ],
    }


def _commit(commit: Commit) -> dict[str, Any]:
    return {"id": commit.id, "date": day(commit), "subject": commit.subject}
