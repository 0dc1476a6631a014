"""Name the commit that a conflict is waiting for, where the source history is at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from backport import plumbing
from backport.checkout import Checkout
from backport.core.objects import blob_id
from backport.core.patches import FilePatch, Hunk
from backport.core.paths import decode
from backport.core.prerequisites import Version, lacking, owners, removers
from backport.core.texts import split_keeping_ends
from backport.errors import EnvironmentProblem
from backport.plumbing import ObjectReader

Behind = Callable[[FilePatch, Hunk], str]

_FORMAT = "--format=%x01%H%x09%s"
_QUICK = ("--first-parent", "-m", "--raw", "--no-abbrev", "--no-renames", _FORMAT)


def versions(
    git_dir: Path | str, reader: ObjectReader, start: str, end: str, path: str
) -> Iterator[Version]:
    """What each commit of `start..end` (first parents) did to a file, newest first."""
    out = plumbing.run(git_dir, "log", *_QUICK, f"{start}..{end}", "--", f":(literal){path}")
    for part in out.split(b"\x01")[1:]:
        head, *rows = part.split(b"\n")
        commit, _, subject = head.partition(b"\t")
        blobs = next((row.split()[2:4] for row in rows if row.startswith(b":")), None)
        if blobs:
            before, after = (_lines(reader, decode(blob)) for blob in blobs)
            yield Version(decode(commit), decode(subject), before, after)


def _lines(reader: ObjectReader, blob: str) -> list[bytes]:
    found = reader.read(blob) if blob.strip("0") else None
    return split_keeping_ends(found[2]) if found else []


class _Where(NamedTuple):
    """Where a stack's file versions are read: from the target's base to the stack's home."""

    checkout: Checkout
    reader: ObjectReader
    commit: str
    home: str

    def versions(self, start: str, end: str, path: str) -> Iterator[Version]:
        return versions(self.checkout.git_dir, self.reader, start, end, path)


@contextmanager
def history_behind(checkout: Checkout, commit: str, release: str) -> Iterator[Behind]:
    """What names the one commit behind a conflict, in words; "" where there is not exactly one.

    That is the commit of the source's history, between the target's base `commit` and the
    stack's home `release`, that wrote the lines that the target lacks, or, on a newer
    target, changed them since.
    """
    home = checkout.commit_id(release) if release else None
    if home is None or not _related(checkout, commit, home):
        yield lambda _file, _hunk: ""
        return
    reader = ObjectReader(checkout.git_dir)
    try:
        yield partial(_behind, _Where(checkout, reader, commit, home))
    finally:
        reader.close()


def _related(checkout: Checkout, one: str, other: str) -> bool:
    """True where the commits share history: two release archives do not."""
    try:
        return bool(plumbing.run(checkout.git_dir, "merge-base", one, other).strip())
    except EnvironmentProblem:
        return False


def _behind(where: _Where, file: FilePatch, hunk: Hunk) -> str:
    path = file.old_path or ""
    base = where.checkout.tree(where.home).entry(path)
    target = where.checkout.tree(where.commit).entry(path)
    if base is None or target is None or blob_id(base.data) != file.old_blob:
        return ""
    sides = split_keeping_ends(base.data), split_keeping_ends(target.data)
    first = max(0, hunk.old_start - 1)
    lines = lacking(*sides, first, first + hunk.old_count)
    made = owners(lines, where.versions(where.commit, where.home, path))
    since = [*where.versions(where.home, where.commit, path)][::-1] if lines and not made else []
    continues = bool(since) and since[0].before == sides[0]  # another line of history may not
    changed = removers(lines, since) if continues else {}
    if len(made) == 1:
        return f"the lines it needs were made by {_commit(made)}, which the target lacks"
    if len(changed) == 1:
        return f"the lines it needs were changed by {_commit(changed)}, which the target has"
    return ""


def _commit(named: Mapping[str, str]) -> str:
    (commit, subject), *_ = named.items()
    return f"{commit[:12]} ({subject})"
