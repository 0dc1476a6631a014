"""Bring commits of a repository into the library as a stack's canonical patches."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from backport.checkout import Checkout, Commit
from backport.core.canonical import patch_name, with_scopes
from backport.core.cursors import PatchError
from backport.core.parsing import parse_diff
from backport.core.patches import Author, Patch
from backport.core.rendering import render_patch
from backport.core.stack_format import NAME
from backport.core.trees import DIRECTORY
from backport.errors import BadInput

_READS_LIKE_A_PATCH = re.compile(r"---( |$)|diff --|Index: |@@ -|@@@ ")
_NAME_TRAILER = re.compile(r"^Patch-name: *(\S+)\s*$\n?", re.MULTILINE)


def read_commits(checkout: Checkout, start: str, end: str) -> list[Patch]:
    """The commits after `start` up to `end` as canonical patches, oldest first.

    Raises BadInput for a merge (its own changes would be lost), an empty commit
    or two patches of one name.
    """
    commits = checkout.commits(start, end)
    if not commits:
        raise BadInput(f"there are no commits in {start}..{end}")
    merges = [commit.id for commit in commits if len(commit.parents) > 1]
    if merges:
        raise BadInput(
            f"{start}..{end} holds the merge {merges[0][:12]}; a patch cannot hold what a merge "
            "changes by itself: rebase the range first, or name the commits on one side"
        )
    patches = [_patch(checkout, commit) for commit in commits]
    names = [patch.name for patch in patches]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two commits give the patch name {name}; add a `Patch-name:` trailer")
    return patches


def _patch(checkout: Checkout, commit: Commit) -> Patch:
    subject, _, body = commit.message.partition("\n")
    named = _NAME_TRAILER.search(body)
    body = _NAME_TRAILER.sub("", body).strip("\n")
    name = named.group(1) if named else patch_name(subject)
    if not NAME.fullmatch(name):
        raise BadInput(
            f"commit {commit.id[:12]}: {name!r} is no patch name (lower-case-with-dashes)"
        )
    for line in body.split("\n"):
        if _READS_LIKE_A_PATCH.match(line):
            raise BadInput(
                f"commit {commit.id[:12]}: the line {line!r} of its message would be read as "
                "part of the patch; reword it"
            )
    try:
        files = parse_diff(commit.diff)
    except PatchError as error:
        raise BadInput(f"commit {commit.id[:12]}: {error.message}") from None
    if not files:
        raise BadInput(f"commit {commit.id[:12]} ({subject}) changes nothing; leave it out")
    read = _reader(checkout, commit.parents[0]) if commit.parents else lambda _: None
    scoped = tuple(with_scopes(file, read) for file in files)
    return Patch(name, subject, scoped, body, _mail_date(commit.author))


def _reader(checkout: Checkout, commit: str) -> Callable[[str], bytes | None]:
    tree = checkout.tree(commit)

    def read(path: str) -> bytes | None:
        entry = tree.entry(path)
        return entry.data if entry and entry.mode != DIRECTORY else None

    return read


def _mail_date(author: Author) -> Author:
    from datetime import datetime, timedelta, timezone
    from email.utils import format_datetime

    seconds, zone = author.date.split(" ")
    sign = -1 if zone.startswith("-") else 1
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5])) * sign
    when = datetime.fromtimestamp(int(seconds), timezone(offset))
    return Author(author.name, author.email, format_datetime(when))


def write_stack(root: Path, stack: str, patches: list[Patch], home: str, force: bool) -> list[Path]:
    """Write the patches and the series of a stack; a new one also gets a `stack.toml` to fill in.

    The folder is made whole beside its place and moved there: a run that is killed
    leaves the old stack or the new one, or, between the moves, the old one as
    `.<stack>.old`, which the next run brings back. Raises BadInput where the stack exists
    and `force` is off.
    """
    if not NAME.fullmatch(stack):
        raise BadInput(f"{stack!r} is no stack name (lower-case words joined by dashes)")
    folder = root / "patches" / stack
    old, new = (folder.with_name(f".{stack}.{word}") for word in ("old", "new"))
    if old.exists() and not folder.exists():
        old.rename(folder)  # a run was killed between the two moves below
    if (folder / "series").exists() and not force:
        raise BadInput(f"patches/{stack} exists; give --force to write its patches again")
    for left in (old, new):
        shutil.rmtree(left, ignore_errors=True)
    _fill(new, folder, patches)
    fresh = not (folder / "stack.toml").exists()
    if fresh:
        (new / "stack.toml").write_text(_template(patches, home), "utf-8")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    names = [f"{patch.name}.patch" for patch in patches]
    return [folder / name for name in (*names, *(["stack.toml"] if fresh else []), "series")]


def _fill(new: Path, folder: Path, patches: list[Patch]) -> None:
    """A copy of the stack's folder, if there is one, with these patches for its own."""
    if folder.exists():
        shutil.copytree(folder, new, ignore=shutil.ignore_patterns("*.patch", "series"))
    new.mkdir(parents=True, exist_ok=True)
    for patch in patches:
        (new / f"{patch.name}.patch").write_bytes(render_patch(patch))
    (new / "series").write_text("".join(f"{patch.name}\n" for patch in patches), "utf-8")


def _template(patches: list[Patch], home: str) -> str:
    title = patches[-1].subject.replace("\\", "\\\\").replace('"', '\\"')
    return (
        "schema = 1\n"
        f'title  = "{title}"\n'
        'kind   = "fork"\n'
        f'home   = "{home}"\n'
        f'why    = "{title}"  # say what it replaces, when it applies, what it falls back to\n'
    )
