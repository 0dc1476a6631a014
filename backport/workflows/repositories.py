"""Which repository a run works on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from backport.core.manifests import Manifest
from backport.errors import BackportError, EnvironmentProblem
from backport.reader import Reader

if TYPE_CHECKING:
    from backport.checkout import Checkout
    from backport.sources import Progress

MARKER = "vllm/__init__.py"  # what tells a checkout of the project from any other


def choose(given: str | None, manifests: list[Manifest], progress: Progress) -> Checkout:
    """The repository given, else the checkout around the current folder, else the cached releases.

    Releases that the manifests start from are fetched into the cache when absent.
    """
    from backport.checkout import Checkout

    if given is not None:
        return Checkout.open(Path(given))
    around = _around(Path.cwd())
    return around or cached([manifest.base for manifest in manifests], progress)


def cached(bases: list[str], progress: Progress) -> Checkout:
    """The repository of cached releases with each of these in it."""
    from backport import releases
    from backport.checkout import Checkout

    for base in dict.fromkeys(bases):
        repo = releases.ensure(base, progress)
    return Checkout.open(repo)


def _around(folder: Path) -> Checkout | None:
    """The checkout that holds `folder`, if its HEAD is a tree of the project."""
    from backport.checkout import Checkout

    try:
        checkout = Checkout.open(folder, search=True)
    except EnvironmentProblem:
        return None
    head = checkout.commit_id("HEAD")
    if head and checkout.tree(head).locate(MARKER):
        return checkout
    checkout.close()
    return None


# ---------------------------------------------------------------- only to read


def choose_reader(given: str | None, manifests: list[Manifest], progress: Progress) -> Reader:
    """The same choice for a run that writes nothing.

    A release that cannot be fetched is no reason to keep the other targets from
    being told: it is missing then, and its target says so.
    """
    if given is not None:
        return Reader.open(Path(given))
    around = _reader_around(Path.cwd())
    return around or _cached_reader([manifest.base for manifest in manifests], progress)


def _reader_around(folder: Path) -> Reader | None:
    try:
        reader = Reader.open(folder, search=True)
    except EnvironmentProblem:
        return None
    head = reader.commit_id("HEAD")
    if head and reader.tree(head).locate(MARKER):
        return reader
    reader.close()
    return None


def _cached_reader(bases: list[str], progress: Progress) -> Reader:
    from backport.sources import PROJECT, cache_dir

    path = cache_dir() / f"{PROJECT}.git"
    reader = Reader.open(path) if path.is_dir() else None
    missing = [base for base in dict.fromkeys(bases) if not (reader and reader.commit_id(base))]
    if reader and not missing:
        return reader
    if reader:
        reader.close()
    from backport import releases

    problem: BackportError | None = None
    for base in missing:
        try:
            releases.ensure(base, progress)
        except BackportError as error:
            problem = error
    if problem and not path.is_dir():
        raise problem
    return Reader.open(path)
