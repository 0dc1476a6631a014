"""What a person wants to import, from wherever it is: as patches that are not yet the library's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from email.utils import parseaddr
from functools import partial
from itertools import count
from pathlib import Path
from typing import NamedTuple

from backport.ancestry import fork_point
from backport.checkout import Checkout, Commit
from backport.core.canonical import patch_name, with_scopes
from backport.core.cursors import PatchError
from backport.core.dep3 import read_heading
from backport.core.exports import mail_date
from backport.core.listings import LISTS, ListingError, bare_name, numbered, read_listing
from backport.core.mailboxes import Letter, first_twice, read_mailbox
from backport.core.parsing import parse_diff
from backport.core.patches import Author, Patch
from backport.core.paths import decode
from backport.core.stack_format import NAME
from backport.core.trees import DIRECTORY, Tree
from backport.errors import BadInput
from backport.library import read_file

STANDARD_INPUT = "standard input"  # a source that nobody can read again
MAX_MAILBOX = 256 * 1024 * 1024
_READS_LIKE_A_PATCH = re.compile(r"---( |$)|diff --|diff -r [0-9a-f]{12} |Index: |@@ -|@@@ ")
_NAME_TRAILER = re.compile(r"^Patch-name: *(\S+)\s*$\n?", re.MULTILINE)


class Incoming(NamedTuple):
    """Patches with the commits they were (full ids, where known) and what is to be told of them.

    `start` is the commit that they are written on, where they come from a repository;
    `title` and `why` are a cover letter's.
    """

    patches: tuple[Patch, ...]
    source: str
    commits: tuple[str, ...] = ()
    start: str = ""
    notes: tuple[str, ...] = ()
    title: str = ""
    why: str = ""


class Wish(NamedTuple):
    """How to take what is no plain patch: merges by their first parent, nothing for nothing."""

    first_parent: bool = False
    skip_empty: bool = False


PLAIN = Wish()


# ---------------------------------------------------------------- commits


def of_commits(checkout: Checkout, start: str, end: str, wish: Wish = PLAIN) -> Incoming:
    """The commits after `start` up to `end`, oldest first.

    Raises BadInput for a merge (its own changes would be lost) and an empty commit,
    unless the wish says how to take them, and for a message that no patch file can hold.
    """
    commits = checkout.commits(start, end, wish.first_parent)
    if not commits:
        raise BadInput(f"there are no commits in {start}..{end}")
    merges = [commit.id for commit in commits if len(commit.parents) > 1]
    if merges and not wish.first_parent:
        raise BadInput(
            f"{start}..{end} holds the merge {merges[0][:12]}; a patch cannot hold what a merge "
            "changes by itself: rebase the range first, name the commits on one side, or give "
            "--first-parent to take each merge as what it brought"
        )
    kept = [commit for commit in commits if commit.diff or not wish.skip_empty]
    empty = [commit for commit in commits if commit not in kept]
    return Incoming(
        _unlike(_of_commit(checkout, commit) for commit in kept),
        f"{start}..{end}",
        tuple(commit.id for commit in kept),
        fork_point(checkout, start, end) or checkout.base(start),
        tuple(f"commit {commit.id[:12]} changes nothing and is left out" for commit in empty),
    )


def _of_commit(checkout: Checkout, commit: Commit) -> Patch:
    where = f"commit {commit.id[:12]}"
    _refuse_nul(commit, where)
    subject, _, body = commit.message.partition("\n")
    name, body = _named(subject, body, where)
    for line in body.split("\n"):
        if _READS_LIKE_A_PATCH.match(line):
            raise BadInput(
                f"{where}: the line {line!r} of its message would be read as "
                "part of the patch; reword it"
            )
    try:
        files = parse_diff(commit.diff)
    except PatchError as error:
        raise BadInput(f"{where}: {error.message}") from None
    if not files:
        raise BadInput(f"{where} ({subject}) changes nothing; leave it out, or give --skip-empty")
    tree = checkout.tree(commit.parents[0]) if commit.parents else None
    scoped = tuple(with_scopes(file, partial(text_at, tree)) for file in files)
    return Patch(name, subject, scoped, body, _mail_date(commit.author))


def _refuse_nul(commit: Commit, where: str) -> None:
    """Raise for bytes that no patch file can hold: it would be refused when it is read again."""
    if "\0" in commit.message or "\0" in commit.author.name + commit.author.email:
        raise BadInput(f"{where}: its message holds a NUL character; reword it")
    if b"\0" in commit.diff:
        raise BadInput(
            f"{where}: git takes a file with NUL bytes for text (by .git/info/attributes, or "
            "since they stand far down in it); leave the commit out"
        )


def text_at(tree: Tree | None, path: str) -> bytes | None:
    """The bytes of a file of the tree, or None where there is none."""
    entry = tree.entry(path) if tree else None
    return entry.data if entry and entry.mode != DIRECTORY else None


def _named(subject: str, body: str, where: str, fallback: str = "") -> tuple[str, str]:
    """The patch's name, from a trailer or the subject, and the body without the trailer."""
    named = _NAME_TRAILER.search(body)
    name = named.group(1) if named else fallback or patch_name(subject)
    if not NAME.fullmatch(name):
        raise BadInput(f"{where}: {name!r} is no patch name (lower-case-with-dashes)")
    return name, _NAME_TRAILER.sub("", body).strip("\n")


def _unlike(patches: Iterable[Patch]) -> tuple[Patch, ...]:
    """The patches, where each has a name of its own."""
    found = tuple(patches)
    names = [patch.name for patch in found]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"two commits give the patch name {name}; add a `Patch-name:` trailer")
    return found


def _numbered(patches: Sequence[Patch]) -> tuple[Patch, ...]:
    """The patches, those of one name numbered: who sent the mails cannot name them anew."""
    found: list[Patch] = []
    for patch in patches:
        used = {other.name for other in found}
        names = (f"{patch.name}-{number}" for number in count(2))
        free = patch.name if patch.name not in used else next(n for n in names if n not in used)
        found.append(patch._replace(name=free))
    return tuple(found)


def _mail_date(author: Author) -> Author:
    seconds, zone = author.date.split(" ")
    east = (int(zone[1:3]) * 60 + int(zone[3:5])) * (-60 if zone.startswith("-") else 60)
    return Author(author.name, author.email, mail_date(int(seconds), east))


# ---------------------------------------------------------------- mails


def of_mailbox(data: bytes, source: str, wish: Wish = PLAIN) -> Incoming:
    """The patches of a mailbox; a cover letter gives title and reason.

    Raises BadInput for what cannot be read, and for a mail without changes unless the
    wish says to leave those out.
    """
    letters = _letters(data, source)
    return _of_letters([(letter, "") for letter in letters], source, wish)


def _letters(data: bytes, source: str) -> list[Letter]:
    try:
        return read_mailbox(data, source)
    except PatchError as error:
        raise BadInput(f"{source}:{error.line}: {error.message}") from None


def _of_letters(letters: Sequence[tuple[Letter, str]], source: str, wish: Wish) -> Incoming:
    patches, commits, notes = [], [], []
    title = why = ""
    if twice := first_twice([letter for letter, _ in letters]):
        first, again = twice
        raise BadInput(f"{again.where}: holds the same patch as {first.where}; leave one out")
    for letter, fallback in letters:
        where = letter.where
        if letter.kind == "cover":
            title, why = letter.subject, letter.body
            notes.append(f"{where}: the cover letter is kept as the stack's title and reason")
        elif letter.patch is None and wish.skip_empty:
            notes.append(f"{where}: {letter.subject!r} changes nothing and is left out")
        elif letter.patch is None:
            raise BadInput(
                f"{where}: the mail {letter.subject!r} holds no diff; "
                "leave it out, or give --skip-empty"
            )
        else:
            name, body = _named(letter.subject, letter.body, where, fallback)
            subject = letter.subject or name
            patches.append(letter.patch._replace(name=name, body=body, subject=subject))
            commits += [letter.commit] if letter.commit else []
    if not patches:
        raise BadInput(f"{source}: holds no patch")
    whole = tuple(commits) if len(commits) == len(patches) else ()
    return Incoming(_numbered(patches), source, whole, notes=tuple(notes), title=title, why=why)


# ---------------------------------------------------------------- folders and files


def of_folder(folder: Path, wish: Wish = PLAIN) -> Incoming:
    """The patches of a series folder, in the order of its `series`, its `.patches` or its numbers.

    Of several versions of a series the last is taken, and told. Raises BadInput where the
    folder has no order, or names a file that is not there.
    """
    found: list[tuple[Letter, str]] = []
    names, notes = _order(folder)
    for name in names:
        path = folder / name
        data = read_file(path, MAX_MAILBOX)
        letters = _letters(data, str(path))
        alone = len(letters) == 1
        letters = [_headed(letters[0], data)] if alone else letters
        fallback = patch_name(bare_name(path.stem)) if alone else ""
        found += [(letter, fallback) for letter in letters]
    made = _of_letters(found, str(folder), wish)
    if len(made.patches) == 1 and not made.why:
        made = made._replace(why=made.patches[0].body)
    return made._replace(notes=(*notes, *made.notes))


def _headed(letter: Letter, data: bytes) -> Letter:
    """The patch of a series file with what quilt's header says of it."""
    heading = read_heading(data) if letter.patch else None
    if letter.patch is None or heading is None:
        return letter
    patch = letter.patch._replace(subject=heading.subject, body=heading.body)
    name, address = parseaddr(heading.author)
    if "@" in address:
        patch = patch._replace(author=Author(name or address, address, patch.author.date))
    return letter._replace(patch=patch, subject=heading.subject, body=heading.body)


def _order(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the patch files in their order, and what is to be told of it."""
    for name in LISTS:
        path = folder / name
        if not path.exists():
            continue
        try:
            names = read_listing(decode(read_file(path, MAX_MAILBOX)))
        except ListingError as error:
            raise BadInput(f"{path}:{error.line}: {error.message}") from None
        missing = [entry for entry in names if not (folder / entry).exists()]
        if missing:
            raise BadInput(f"{path}: names {missing[0]}, which is not there")
        if names:
            return names, []
        raise BadInput(f"{path}: names no patch")
    names, older = numbered([path.name for path in folder.iterdir()])
    if not names:
        raise BadInput(f"{folder}: has neither a series nor a .patches file, nor numbered patches")
    told = f"{folder}: holds {' and '.join(older)} too; {names[0]} and its like are taken"
    return names, [told] * bool(older)
