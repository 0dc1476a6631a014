"""Where the change to import is, from the one word that a person gives for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from backport.ancestry import fork_point, nearest_tag, tags_between
from backport.checkout import Checkout
from backport.core.stacks import Stack
from backport.core.tables import is_ref_name
from backport.errors import BadInput, EnvironmentProblem
from backport.library import read_file
from backport.sources import Progress, plain_version
from backport.workflows.importing import home_of
from backport.workflows.incoming import (
    MAX_MAILBOX,
    STANDARD_INPUT,
    Incoming,
    Wish,
    of_commits,
    of_folder,
    of_mailbox,
)
from backport.workflows.repositories import cached

_PATHS = ("/", "./", "../")
_PATCH_FILES = (".patch", ".mbox", ".diff", ".eml")


class Source(NamedTuple):
    """What to import: the words for it, and the file or folder that they name, if they do."""

    words: str
    path: Path | None = None


def given(words: str) -> Source:
    """The source that a person named."""
    path = Path(words)
    return Source(words, path if words != "-" and path.exists() else None)


def recorded(root: Path, stack: Stack) -> Source:
    """Where the stack says that it came from: a path beside its library, else commits.

    A range from the home on is its branch, which must still start there. Raises BadInput
    where the stack does not say, or where what it names is not there.
    """
    words = stack.upstream.source
    if not words:
        raise BadInput("say what to import: START..END, a branch, a file, a folder, or -")
    if words.startswith(_PATHS) or words.endswith(_PATCH_FILES):
        path = root / words
        if not path.exists():
            raise BadInput(
                f"patches/{stack.name}/stack.toml: its source {words} is not there (it would be "
                f"{os.path.normpath(path)}); give the SOURCE"
            )
        return Source(os.path.normpath(path), path)
    start, dots, end = words.partition("..")
    return Source(end if dots and start == stack.home else words)


def to_record(root: Path, source: Source) -> str:
    """How `stack.toml` names a file or folder, "" for what is none: from the library's root."""
    if source.path is None:
        return ""
    found = os.path.relpath(source.path.absolute(), root.absolute())
    return found if found.startswith("..") else f"./{found}"


def repository_of(source: Source, repo: str | None, home: str, progress: Progress) -> Checkout:
    """The repository that holds the change, or where it comes as mails that of its home."""
    if repo is not None:
        return Checkout.open(Path(repo))
    words = source.words
    if words != "-" and source.path is None:
        if words.endswith(_PATCH_FILES) or words.startswith(_PATHS):
            raise BadInput(f"{words}: there is no such file")
        raise BadInput(f"{words!r} is no file; give --repo, the repository that holds it")
    return cached([home], progress) if home else _cache()


def known_as(checkout: Checkout, home: str) -> str:
    """The home as the repository names it: a release may be given without its `v`.

    A revision expression is what it means now: its tag, or its full id.
    """
    if home and not is_ref_name(home):
        return home_of(checkout, checkout.base(home))
    release = plain_version(home)
    return home if release is None or checkout.commit_id(home) else f"v{release}"


def gather(source: Source, checkout: Checkout, home: str, wish: Wish) -> Incoming:
    """The patches that `source` names; raises BadInput where it names nothing."""
    path = source.path
    if source.words == "-":
        data = sys.stdin.buffer.read(MAX_MAILBOX + 1)
        if len(data) > MAX_MAILBOX:
            raise BadInput(f"standard input is over the limit of {MAX_MAILBOX:,} bytes")
        return of_mailbox(data, STANDARD_INPUT, wish)
    if path is None:
        return _of_repository(source.words, checkout, home, wish)
    if path.is_dir():
        return of_folder(path, wish)
    if path.is_fifo():
        shown = source.words
        raise BadInput(f"{shown}: is a pipe; give - and let the shell redirect it: `- < {shown}`")
    return of_mailbox(read_file(path, MAX_MAILBOX), source.words, wish)


def _cache() -> Checkout:
    from backport.releases import repository

    try:
        return Checkout.open(repository())
    except EnvironmentProblem:
        raise BadInput("give --home, the release that the patches are written against") from None


def _of_repository(source: str, checkout: Checkout, home: str, wish: Wish) -> Incoming:
    start, dots, end = source.partition("..")
    if source.endswith(_PATCH_FILES) or source.startswith(_PATHS):
        raise BadInput(f"{source}: there is no such file, branch or range")
    if dots and (not start or not end or end.startswith(".")):
        raise BadInput(f"{source!r} is not a range START..END")
    if not dots and checkout.commit_id(source) is None:
        raise BadInput(f"{source}: there is no such file, branch or range")
    if not dots:
        start, end = _start_of_branch(checkout, source, home), source
    _refuse_release(checkout, start, end)
    return of_commits(checkout, start, end, wish)


def _start_of_branch(checkout: Checkout, branch: str, home: str) -> str:
    """Where a branch leaves its home: the tag given, or the nearest one below it."""
    start = home or nearest_tag(checkout, checkout.base(branch))
    if not start:
        raise BadInput(f"{branch}: no tag is below it; give --home, or a range START..END")
    if home and fork_point(checkout, start, branch) != checkout.base(start):
        raise BadInput(
            f"{branch} does not start from {home}; give --home NEW, the release that it stands on "
            "now, or the range START..END, and --home as well"
        )
    return start


def _refuse_release(checkout: Checkout, start: str, end: str) -> None:
    """Raises BadInput where the range holds a whole release: a change that was rebased on one.

    Its old home is then no longer what it is written on.
    """
    names = tags_between(checkout, start, end)
    releases = [name for name in names if plain_version(name) and name != end]
    if releases:
        newest = nearest_tag(checkout, checkout.base(end)) or releases[-1]
        last = newest if newest in releases else releases[-1]
        raise BadInput(
            f"{start}..{end} holds the release {last}, which is no part of the change; give "
            f"--home {last} (and {last}..{end}) where it stands on that now"
        )
