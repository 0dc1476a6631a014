"""What lies below a commit: its tags, the nearest one, and where two lines of history part."""

from __future__ import annotations

from backport import plumbing
from backport.checkout import Checkout
from backport.core.paths import decode
from backport.errors import EnvironmentProblem


def tags(checkout: Checkout, commit: str) -> list[str]:
    """The tags that name this very commit."""
    words = ("--points-at", commit, "--format=%(refname:strip=2)", "refs/tags")
    return decode(plumbing.run(checkout.git_dir, "for-each-ref", *words)).split()


def nearest_tag(checkout: Checkout, commit: str) -> str:
    """The nearest tag at the commit or below it, "" where there is none."""
    return _said(checkout, "describe", "--tags", "--abbrev=0", "--first-parent", commit)


def tags_between(checkout: Checkout, start: str, end: str) -> list[str]:
    """The tags of commits that `end` holds and `start` does not, older ones first."""
    ends = ("--merged", checkout.base(end), "--no-merged", checkout.base(start))
    words = ("--sort=creatordate", *ends, "--format=%(refname:strip=2)", "refs/tags")
    return _said(checkout, "for-each-ref", *words).split()


def fork_point(checkout: Checkout, one: str, other: str) -> str:
    """The newest commit that both hold, "" where there is none."""
    return _said(checkout, "merge-base", checkout.base(one), checkout.base(other))


def earlier_tips(checkout: Checkout, branch: str) -> list[str]:
    """The commits that the branch was at, newest first, as far as its log goes."""
    return _said(checkout, "reflog", "show", "--format=%H", f"refs/heads/{branch}").split()


def _said(checkout: Checkout, *words: str) -> str:
    try:
        return decode(plumbing.run(checkout.git_dir, *words)).strip()
    except EnvironmentProblem:
        return ""
