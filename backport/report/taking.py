"""What `import` and `refresh` took into the library, for a person and for a machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from backport.core.display import counted, visible
from backport.core.manifest_writing import entry_lines
from backport.core.manifests import Adaptation
from backport.core.revisions import Revision
from backport.core.stacks import Stack


class Kept(Protocol):
    """A manifest entry and whether its hunk is still the same change."""

    @property
    def entry(self) -> Adaptation: ...
    @property
    def holds(self) -> bool: ...
    @property
    def now(self) -> str: ...


class Imported(NamedTuple):
    """An import as it was written: `written` are paths below the library's root.

    `would_write` are those of a dry run.

    `revisions` and `entries` tell what moved since (None: the stack is new), `by_hand`
    what the tool would not change itself.
    """

    stack: Stack
    written: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    revisions: Sequence[Revision] | None = None
    entries: Sequence[Kept] = ()
    by_hand: str = ""
    would_write: tuple[str, ...] = ()


class Amended(NamedTuple):
    """A stack whose commit a person changed: its files, and commits without a `Stack:` line."""

    stack: str
    paths: tuple[str, ...]
    foreign: tuple[str, ...]


class Reworded(NamedTuple):
    """A commit whose message a person changed, and the first line that shows it."""

    stack: str
    commit: str
    line: str


class Refreshed(NamedTuple):
    """A refresh as it was written; `notes` are the other targets that it does not suit.

    `next` is the command that makes the branch of what was written.
    """

    target: str
    branch: str
    amended: tuple[Amended, ...] = ()
    into: str = ""
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    next: str = ""
    uncommitted: tuple[str, ...] = ()  # files with changes that are in no commit
    made: tuple[Adaptation, ...] = ()  # entries of the manifest, with evidence to be read
    reworded: tuple[Reworded, ...] = ()


# ---------------------------------------------------------------- import


def imported_text(told: Imported) -> str:
    """What moved, each patch with the lines that differ, and the manifests' entries; then the
    paths that are written."""
    moved = told.revisions
    lines = [line for revision in moved or () for line in _revision(revision)]
    if moved is not None and all(revision.mark == "=" for revision in moved):
        lines.append("nothing moved")
    lines += [line for entry in told.entries for line in _entry(entry)]
    lines += [*told.written, *(f"would write {path}" for path in told.would_write)]
    lines += [told.by_hand] * bool(told.by_hand)
    return visible("".join(f"{line}\n" for line in lines))


def imported_json(told: Imported) -> str:
    """The same for a machine."""
    stack = told.stack
    content: dict[str, Any] = {
        "schema": 1,
        "stack": stack.name,
        "home": stack.home or None,
        "source": stack.upstream.source or None,
        "commits": list(stack.upstream.commits),
        "patches": [patch.name for patch in stack.patches],
        "revisions": None,
        "entries": [_entry_json(entry) for entry in told.entries],
        "notes": list(told.notes),
        "written": list(told.written),
        "would_write": list(told.would_write),
        "by_hand": told.by_hand or None,
    }
    if told.revisions is not None:
        content["revisions"] = [_revision_json(revision) for revision in told.revisions]
    return json.dumps(content, indent=1) + "\n"


def _revision_json(revision: Revision) -> dict[str, Any]:
    kept, new, gone = revision.hunks
    return {
        "mark": revision.mark,
        "old": revision.old or None,
        "new": revision.new or None,
        "hunks": {"kept": kept, "new": new, "gone": gone},
        "lines": list(revision.lines),
    }


def _entry_json(kept: Kept) -> dict[str, Any]:
    return {
        "source": kept.entry.source,
        "verb": type(kept.entry).__name__.lower(),
        "hunk": str(kept.entry.hunk),
        "holds": kept.holds,
        "now": kept.now or None,
    }


def _revision(revision: Revision) -> Iterator[str]:
    name = revision.new or revision.old
    was = (
        f" (was {revision.old})" if revision.old and revision.new not in ("", revision.old) else ""
    )
    kept, new, gone = revision.hunks
    counts = (
        f": {counted(kept, 'hunk')} kept, {new} new, {gone} gone" if revision.mark == "!" else ""
    )
    yield f"{revision.mark} {name}{was}{counts}"
    yield from (f"    {line}" for line in revision.lines)


def _entry(kept: Kept) -> Iterator[str]:
    entry = kept.entry
    verb = type(entry).__name__.lower()
    if kept.holds:
        yield f"{entry.source}: note: {verb} {entry.hunk} still holds"
        return
    there = f"the hunk there now is {kept.now}" if kept.now else "nothing is there now"
    yield f"{entry.source}: error: {verb} {entry.hunk}: the hunk is gone; {there}"


# ---------------------------------------------------------------- refresh


def refreshed_text(told: Refreshed) -> str:
    """What was amended, the paths that are written, and what other targets lose by it."""
    if not told.amended:
        what = "has the files that" if told.reworded else "is what"
        lines = [f"{told.branch} {what} applying gives; there is nothing to take back"]
        lines += [*_reworded(told), *_uncommitted(told)]
        return visible("".join(f"{line}\n" for line in lines))
    lines = [
        *amended_lines(told.amended),
        *told.written,
        *(f"{path} (deleted)" for path in told.deleted),
    ]
    for entry in told.made:
        lines.append(f"made: {type(entry).__name__.lower()} {entry.hunk}, to be read:")
        lines += [f"  {line}" for line in entry_lines(entry)]
    lines += [f"note: {note}" for note in told.notes]
    lines += [*_reworded(told), *_uncommitted(told)]
    lines.append(f"applying gives every tree of {told.branch} again")
    lines += ["nothing is written (--dry-run)"] * told.dry_run
    lines += [f"next: {told.next}"] * bool(told.next)
    return visible("".join(f"{line}\n" for line in lines))


def _reworded(told: Refreshed) -> list[str]:
    return [
        f"note: the message of {commit[:12]} was changed ({line!r}), and only files are taken "
        f"back: it is made of `title` and `why` in patches/{stack}/stack.toml and of the reasons "
        f"in manifests/{told.target}.toml; write it there, and `backport apply --target "
        f"{told.target}` makes the commit anew"
        for stack, commit, line in told.reworded
    ]


def _uncommitted(told: Refreshed) -> list[str]:
    if not told.uncommitted:
        return []
    files = ", ".join(told.uncommitted)
    return [f"note: only commits are taken back, and there are uncommitted changes in {files}"]


def amended_lines(stacks: Sequence[Amended]) -> Iterator[str]:
    """A line for each stack that a person changed, and one for each commit counted to it."""
    for amended in stacks:
        yield f"{amended.stack}: amended in {', '.join(amended.paths)}"
        for commit in amended.foreign:
            yield f"  with {commit[:12]}, which has no Stack: line"


def refreshed_json(told: Refreshed) -> str:
    """The same for a machine."""
    content = {
        **told._asdict(),
        "into": told.into or None,
        "next": told.next or None,
        "amended": [amended._asdict() for amended in told.amended],
        "reworded": [reworded._asdict() for reworded in told.reworded],
        "made": [
            {
                "verb": type(entry).__name__.lower(),
                "hunk": str(entry.hunk),
                "lines": entry_lines(entry),
            }
            for entry in told.made
        ],
    }
    return json.dumps({"schema": 1, **content}, indent=1) + "\n"
