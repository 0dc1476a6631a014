"""The diffs and mails that git writes, the same whatever the user's settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from backport import plumbing
from backport.core.objects import GitObject, render_pack

if TYPE_CHECKING:
    from backport.checkout import Checkout

_PLAIN_SETTINGS = {
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "core.attributesFile",
    "GIT_CONFIG_VALUE_0": "/dev/null",
    "GIT_CONFIG_KEY_1": "core.quotePath",
    "GIT_CONFIG_VALUE_1": "true",
    "GIT_CONFIG_KEY_2": "diff.suppressBlankEmpty",
    "GIT_CONFIG_VALUE_2": "false",
}
_PLAIN_DIFF = (
    "--binary",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=histogram",
    "--indent-heuristic",
    "--submodule=short",
    "--no-relative",
    "-O/dev/null",
)
_MAIL_FORMAT = (
    *_PLAIN_DIFF,
    "--stdout",
    "--no-renames",
    "--zero-commit",
    "--no-signature",
    "--no-stat",
    "--no-numbered",
    "--no-attach",
    "--no-thread",
    "--no-cover-letter",
    "--no-base",
    "--no-signoff",
    "--no-notes",
    "--no-from",
    "--no-to",
    "--no-cc",
    "--no-add-header",
    "--encoding=UTF-8",
    "--subject-prefix=PATCH",
    "--encode-email-headers",
)


def commit_diff(git_dir: Path, commit: str, parent: str | None) -> bytes:
    """The canonical diff of a commit against one parent, or against nothing."""
    ends = (parent, commit) if parent else ("--root", "--no-commit-id", commit)
    return _plainly(git_dir, "diff-tree", "-p", "-M", *_PLAIN_DIFF, *ends)


def tree_diff(git_dir: Path, old: str, new: str, extra: Mapping[str, str]) -> bytes:
    """The canonical diff between two trees."""
    return _plainly(git_dir, "diff-tree", "-p", "-M", *_PLAIN_DIFF, old, new, extra=extra)


def difference(checkout: Checkout, objects: Iterable[GitObject], old: str, new: str) -> bytes:
    """The canonical diff between two trees; the objects that make them up are not kept."""
    pack = render_pack(objects, checkout.algorithm)
    with plumbing.scratch_objects(checkout.common_dir.resolve() / "objects") as extra:
        plumbing.store_pack(checkout.git_dir, pack, extra)
        return tree_diff(checkout.git_dir, old, new, extra)


def mails(git_dir: Path, base: str, tip: str, extra: Mapping[str, str]) -> bytes:
    """The commits from `base` to `tip` as an mbox."""
    return _plainly(git_dir, "format-patch", *_MAIL_FORMAT, f"{base}..{tip}", extra=extra)


def _plainly(git_dir: Path, *words: str, extra: Mapping[str, str] | None = None) -> bytes:
    """What git prints whatever the user's settings and attributes.

    A `.gitattributes` is read from the work tree, or else from the index: neither is
    there. One that says `diff` of a binary file would make git write it as text.
    """
    apart = {"GIT_INDEX_FILE": str(git_dir / "no-index"), **_PLAIN_SETTINGS, **(extra or {})}
    return plumbing.run(git_dir, *words, cwd=git_dir, extra=apart)
