"""A tree of files as the core sees it: something that answers for a path.

Git, a folder and a test's dict all fit behind `Tree`; `Overlay` lets a later
patch see what earlier ones made of a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

REGULAR = "100644"
EXECUTABLE = "100755"
SYMLINK = "120000"
GITLINK = "160000"
DIRECTORY = "040000"


class Entry(NamedTuple):
    """A file of a tree: its git mode (six octal digits) and its bytes."""

    mode: str
    data: bytes


class Tree(Protocol):
    """A read-only tree of files, addressed by `/`-separated relative paths."""

    def entry(self, path: str) -> Entry | None:
        """The file at `path`, or None; a folder answers with mode DIRECTORY and no bytes."""

    def paths(self) -> Mapping[str, str]:
        """Every path of the tree with the git blob id of its content ("": not known yet)."""


class Overlay:
    """A tree with changes on top; a change of None means that the file is gone."""

    def __init__(self, base: Tree, changes: dict[str, Entry | None] | None = None) -> None:
        self.base = base
        self.changes = {} if changes is None else changes

    def entry(self, path: str) -> Entry | None:
        if path in self.changes:
            return self.changes[path]
        return self.base.entry(path)

    def paths(self) -> Mapping[str, str]:
        found = dict(self.base.paths())
        for path, entry in self.changes.items():
            if entry is None:
                found.pop(path, None)
            else:
                found[path] = ""
        return found
