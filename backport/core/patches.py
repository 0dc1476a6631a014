"""What a patch is: hunks with exact bytes, files with modes, and stable hunk ids.

A line keeps its own line end, so a line without a final newline is simply one
that does not end in `\\n`; nothing else in the core has to know about it.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

CONTEXT, REMOVED, ADDED = b" ", b"-", b"+"
MODULE_SCOPE = "<module>"
_SCOPE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


class _Hunk(NamedTuple):
    old_start: int
    new_start: int
    lines: tuple[bytes, ...]
    section: str = ""
    at: int = 0  # its line in the patch file
    undoes: "Hunk | None" = None  # what it takes back


class Hunk(_Hunk):
    """One hunk: its ranges (lines count from 1), the text after `@@`, and its lines.

    Each line is its sign (space, `-` or `+`) followed by the line's own bytes. Where
    it was read (`at`) and what it takes back are no part of its equality.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hunk) and self[:4] == other[:4]

    def __hash__(self) -> int:
        return hash(self[:4])

    @cached_property
    def before(self) -> bytes:
        """The text that the hunk expects."""
        return b"".join(line[1:] for line in self.lines if line[:1] != ADDED)

    @cached_property
    def after(self) -> bytes:
        """The text that the hunk leaves."""
        return b"".join(line[1:] for line in self.lines if line[:1] != REMOVED)

    @cached_property
    def added(self) -> tuple[bytes, ...]:
        """The lines it adds."""
        return tuple(line[1:] for line in self.lines if line[:1] == ADDED)

    @cached_property
    def removed(self) -> tuple[bytes, ...]:
        """The lines it removes."""
        return tuple(line[1:] for line in self.lines if line[:1] == REMOVED)

    @cached_property
    def leading(self) -> tuple[bytes, ...]:
        """The context lines before the first change."""
        return _context(self.lines)

    @cached_property
    def trailing(self) -> tuple[bytes, ...]:
        """The context lines after the last change."""
        return _context(reversed(self.lines))[::-1]

    @property
    def old_count(self) -> int:
        return len(self.lines) - len(self.added)

    @property
    def new_count(self) -> int:
        return len(self.lines) - len(self.removed)

    @property
    def scope(self) -> str | None:
        """The Python scope that a canonical hunk names after `@@`, or None where it names none."""
        if self.section == MODULE_SCOPE or _SCOPE.fullmatch(self.section):
            return self.section
        return None

    @cached_property
    def digest(self) -> str:
        """Eight hex digits over the changed lines: context and place may drift, the change not."""
        return _digest(line for line in self.lines if line[:1] != CONTEXT)


def _context(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    out = []
    for line in lines:
        if line[:1] != CONTEXT:
            break
        out.append(line[1:])
    return tuple(out)


def _digest(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in parts)).hexdigest()[:8]


class Binary(NamedTuple):
    """A binary change: the new content, or a git delta against the old one, and its text."""

    data: bytes
    delta: bool
    text: bytes


class _FilePatch(NamedTuple):
    old_path: str | None
    new_path: str | None
    hunks: tuple[Hunk, ...] = ()
    old_mode: str = ""
    new_mode: str = ""
    old_blob: str = ""
    new_blob: str = ""
    copy: bool = False
    binary: Binary | None = None
    at: int = 0  # its line in the patch file


class FilePatch(_FilePatch):
    """What a patch does to one file; a path of None is the side that does not exist.

    Where it was read (`at`) is no part of its equality.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FilePatch) and self[:-1] == other[:-1]

    def __hash__(self) -> int:
        return hash(self[:-1])

    @property
    def path(self) -> str:
        """The name that the file goes by: the new one, or the old one of a deleted file."""
        return self.new_path or self.old_path or ""

    @property
    def creates(self) -> bool:
        return self.old_path is None

    @property
    def deletes(self) -> bool:
        return self.new_path is None

    @property
    def renames(self) -> bool:
        """True for a rename or a copy."""
        return None not in (self.old_path, self.new_path) and self.old_path != self.new_path

    @property
    def moves(self) -> bool:
        """True for a rename, which takes the old file away."""
        return self.renames and not self.copy

    @property
    def changes_lines_only(self) -> bool:
        """True where the file stays, by its name and mode, and only lines of it change."""
        whole = self.creates or self.deletes or self.renames
        return bool(self.hunks) and not whole and self.old_mode == self.new_mode

    @property
    def header_digest(self) -> str:
        """Eight hex digits over what the header itself changes (names, modes, binary data)."""
        binary = self.binary.data if self.binary else b""
        names = f"{self.old_path}\0{self.new_path}\0{self.old_mode}\0{self.new_mode}\0{self.copy}"
        return _digest([names.encode("utf-8", "surrogateescape"), binary])


class Author(NamedTuple):
    """Who wrote a patch and when; `date` is git's raw form, seconds and offset."""

    name: str = ""
    email: str = ""
    date: str = ""


class Patch(NamedTuple):
    """One patch of a stack: its name, its message, and what it does to each file."""

    name: str
    subject: str
    files: tuple[FilePatch, ...]
    body: str = ""
    author: Author = Author()
    source: str = ""  # the file it was read from, for messages


class HunkId(NamedTuple):
    """`stack/patch:path#ordinal@digest`; ordinal 0 is the file's header itself."""

    stack: str
    patch: str
    path: str
    ordinal: int
    digest: str

    def __str__(self) -> str:
        return f"{self.stack}/{self.patch}:{self.path}#{self.ordinal}@{self.digest}"

    @classmethod
    def parse(cls, text: str) -> "HunkId":
        """The id that `text` spells; raises ValueError where it has another form."""
        found = re.fullmatch(r"([^/:]+)/([^:]+):(.+)#(\d+)@([0-9a-f]{8})", text, re.DOTALL)
        if not found:
            raise ValueError("a hunk id looks like stack/patch:path#ordinal@digest")
        stack, patch, path, ordinal, digest = found.groups()
        return cls(stack, patch, path, int(ordinal), digest)


def hunk_ids(stack: str, patch: Patch, file: FilePatch) -> list[HunkId]:
    """The ids of a file's hunks in order; a file without hunks has one, for its header."""
    if not file.hunks:
        return [HunkId(stack, patch.name, file.path, 0, file.header_digest)]
    return [
        HunkId(stack, patch.name, file.path, ordinal, hunk.digest)
        for ordinal, hunk in enumerate(file.hunks, 1)
    ]
