"""Where the change to import is, from the one word that a person gives for it."""

from __future__ import annotations

import sys
from pathlib import Path

from backport.ancestry import fork_point, nearest_tag
from backport.checkout import Checkout
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

_PATCH_FILES = (".patch", ".mbox", ".diff", ".eml")


def repository_of(source: str, repo: str | None, home: str, progress: Progress) -> Checkout:
    """The repository that holds the change, or where it comes as mails that of its home."""
    if repo is not None:
        return Checkout.open(Path(repo))
    if source != "-" and not Path(source).exists():
        if source.endswith(_PATCH_FILES) or source.startswith((".", "/")):
            raise BadInput(f"{source}: there is no such file")
        raise BadInput(f"{source!r} is no file; give --repo, the repository that holds it")
    return cached([home], progress) if home else _cache()


def known_as(checkout: Checkout, home: str) -> str:
    """The home as the repository names it: a release may be given without its `v`.

    A revision expression is what it means now: its tag, or its full id.
    """
    if home and not is_ref_name(home):
        return home_of(checkout, checkout.base(home))
    release = plain_version(home)
    return home if release is None or checkout.commit_id(home) else f"v{release}"


def gather(source: str, checkout: Checkout, home: str, wish: Wish) -> Incoming:
    """The patches that `source` names; raises BadInput where it names nothing."""
    path = Path(source)
    if source == "-":
        data = sys.stdin.buffer.read(MAX_MAILBOX + 1)
        if len(data) > MAX_MAILBOX:
            raise BadInput(f"standard input is over the limit of {MAX_MAILBOX:,} bytes")
        return of_mailbox(data, STANDARD_INPUT, wish)
    if path.is_dir():
        return of_folder(path, wish)
    if path.is_fifo():
        raise BadInput(f"{source}: is a pipe; give - and let the shell redirect it: `- < {source}`")
    if path.exists():
        return of_mailbox(read_file(path, MAX_MAILBOX), source, wish)
    return _of_repository(source, checkout, home, wish)


def _cache() -> Checkout:
    from backport.releases import repository

    try:
        return Checkout.open(repository())
    except EnvironmentProblem:
        raise BadInput("give --home, the release that the patches are written against") from None


def _of_repository(source: str, checkout: Checkout, home: str, wish: Wish) -> Incoming:
    start, dots, end = source.partition("..")
    if dots and (not start or not end or end.startswith(".")):
        raise BadInput(f"{source!r} is not a range START..END")
    if not dots and checkout.commit_id(source) is None:
        raise BadInput(f"{source}: there is no such file, branch or range")
    if not dots:
        start, end = _start_of_branch(checkout, source, home), source
    return of_commits(checkout, start, end, wish)


def _start_of_branch(checkout: Checkout, branch: str, home: str) -> str:
    """Where a branch leaves its home: the tag given, or the nearest one below it."""
    start = home or nearest_tag(checkout, checkout.base(branch))
    if not start:
        raise BadInput(f"{branch}: no tag is below it; give --home, or a range START..END")
    if home and fork_point(checkout, start, branch) != checkout.base(start):
        raise BadInput(
            f"{branch} does not start from {home}; give the range START..END, and --home as well"
        )
    return start
