"""A target file's text with what placing asks of it, and the edits made to it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from backport.core.outcomes import Outcome
from backport.core.scopes import Scope, scope_at, scopes


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes `start`..`end` of a text by `text`."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a hunk goes: the outcome, the edit, and the line of its first change (from 1)."""

    outcome: Outcome
    edit: Edit | None = None
    line: int = 0
    offset: int = 0
    detail: str = ""
    candidates: tuple[int, ...] = ()


class Target:
    """A file's text with what placing asks of it, each computed once."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.text = text

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines with their line ends; only `\\n` ends a line."""
        return self.text.splitlines(keepends=True) if self._plain else split_keeping_ends(self.text)

    @cached_property
    def _plain(self) -> bool:
        return b"\r" not in self.text  # bytes.splitlines knows \n, \r and \r\n only

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and of the end."""
        return [0, *accumulate(map(len, self.lines))]

    @cached_property
    def scopes(self) -> tuple[Scope, ...] | None:
        """The Python scopes; None for another language or a file that does not parse."""
        return scopes(self.text) if self.path.endswith((".py", ".pyi")) else None

    def line_of(self, offset: int) -> int:
        """The line, from 1, that the offset lies in."""
        return bisect_right(self.starts, offset, 0, max(1, len(self.lines)))

    def offset_of(self, line: int) -> int | None:
        """The offset of a line's first byte; the line after the last one is the end."""
        return self.starts[line - 1] if 1 <= line <= len(self.starts) else None

    def scope_at(self, line: int) -> str | None:
        return None if self.scopes is None else scope_at(self.scopes, line)


def split_keeping_ends(text: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines


def splice(text: bytes, edits: list[Edit]) -> bytes:
    """The text with every edit made; raises ValueError where two edits touch the same lines."""
    pieces = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise ValueError("two hunks of this file change the same lines of the target")
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return b"".join([*pieces, text[at:]])
