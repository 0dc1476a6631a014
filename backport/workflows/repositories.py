"""Which repository a run works on."""

from __future__ import annotations

from pathlib import Path

from backport.checkout import Checkout
from backport.core.manifests import Manifest
from backport.errors import EnvironmentProblem
from backport.sources import PROJECT, Progress

MARKER = f"{PROJECT}/__init__.py"


def choose(given: str | None, manifests: list[Manifest], progress: Progress) -> Checkout:
    """The repository given, else the checkout around the current folder, else the cached releases.

    Releases that the manifests start from are fetched into the cache when absent.
    """
    if given is not None:
        return Checkout.open(Path(given))
    around = _around(Path.cwd())
    return around or cached([manifest.base for manifest in manifests], progress)


def cached(bases: list[str], progress: Progress) -> Checkout:
    """The repository of cached releases with each of these in it."""
    from backport import releases

    for base in dict.fromkeys(bases):
        repo = releases.ensure(base, progress)
    return Checkout.open(repo)


def _around(folder: Path) -> Checkout | None:
    """The checkout that holds `folder`, if its HEAD is a tree of the project."""
    try:
        checkout = Checkout.open(folder, search=True)
    except EnvironmentProblem:
        return None
    head = checkout.commit_id("HEAD")
    if head and checkout.tree(head).locate(MARKER):
        return checkout
    checkout.close()
    return None
