"""The project's main branch, as far as the repository at hand has it."""

from __future__ import annotations

from backport import plumbing
from backport.checkout import Checkout
from backport.core.paths import decode
from backport.errors import EnvironmentProblem

_BRANCHES = ("upstream/main", "origin/main", "upstream/master", "origin/master", "main", "master")
_TAKING_BACK = "revert|reapply|reland"


def taken_back(checkout: Checkout, base: str) -> list[tuple[str, str]] | None:
    """The (id, message) of each commit after `base` on the main branch that takes back or
    brings back another, oldest first; None where no main branch shares a history with `base`.
    """
    for branch in _BRANCHES:
        tip = checkout.commit_id(branch)
        fork = _fork(checkout, base, tip) if tip else None
        if fork:
            words = ("--reverse", "--extended-regexp", "--regexp-ignore-case", "-z")
            out = plumbing.run(
                checkout.git_dir, "log", *words, f"--grep={_TAKING_BACK}", "--format=%H%n%B",
                f"{fork}..{tip}", "--",
            )  # fmt: skip
            entries = (decode(entry).partition("\n") for entry in out.split(b"\0") if entry)
            return [(commit, message) for commit, _, message in entries]
    return None


def _fork(checkout: Checkout, base: str, tip: str) -> str:
    """The newest commit that both have; empty where there is none."""
    try:
        return plumbing.run(checkout.git_dir, "merge-base", base, tip).decode().strip()
    except EnvironmentProblem:
        return ""
