"""A stack: an ordered list of patches that together make one change, and where it came from."""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from backport.core.patches import FilePatch, HunkId, Patch, hunk_ids

KINDS = ("upstream", "fork", "bugfix")
STATES = ("open", "merged", "closed")
RELATIONS = ("rewrite", "cherry-pick")


class Upstream(NamedTuple):
    """The change that a stack carries: repository, pull request, its state and commits.

    `relation` says whether the patches came from those commits (cherry-pick) or
    were written here from the description (rewrite); `source` is what was imported
    (a path below or beside the library starts with a dot), and `imported` names each
    patch as it was then (`name@digest`).
    """

    repo: str = ""
    pull: int | None = None
    state: str = "open"
    relation: str = "rewrite"
    commits: tuple[str, ...] = ()
    source: str = ""
    imported: tuple[str, ...] = ()


class Stack(NamedTuple):
    """One change as the library keeps it.

    `home` is the release its patches were written on, `after` names the stacks
    that must come before it in a manifest. It is `whole` where every patch could
    be read; of any other nobody can say which hunks it lacks.
    """

    name: str
    title: str
    kind: str
    home: str
    why: str
    patches: tuple[Patch, ...]
    upstream: Upstream = Upstream()
    requires: Mapping[str, str] = {}
    parity: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    retire: str = ""
    digest: str = ""
    whole: bool = True

    def hunks(self) -> list[tuple[HunkId, Patch, FilePatch, int]]:
        """Every hunk with its id, patch, file and index in the file (-1: the header itself)."""
        return [
            (hunk_id, patch, file, hunk_id.ordinal - 1)
            for patch in self.patches
            for file in patch.files
            for hunk_id in hunk_ids(self.name, patch, file)
        ]

    def paths(self) -> list[str]:
        """Every path that the stack reads or writes, each once, in order of appearance."""
        seen: dict[str, None] = {}
        for patch in self.patches:
            for file in patch.files:
                seen.update(dict.fromkeys(p for p in (file.old_path, file.new_path) if p))
        return list(seen)


def stack_digest(texts: list[tuple[str, bytes]]) -> str:
    """Twelve hex digits over the named patch texts in order: the identity of what is applied."""
    summed = hashlib.sha256()
    for name, text in texts:
        summed.update(f"{name}\0{len(text)}\0".encode())
        summed.update(text)
    return summed.hexdigest()[:12]


def digest_of(text: bytes) -> str:
    """Eight hex digits that tell one text of a patch file from another."""
    return hashlib.sha256(text).hexdigest()[:8]
