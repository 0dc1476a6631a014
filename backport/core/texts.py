"""A target file's text with what placing asks of it, and the edits made to it."""

from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from backport.core.outcomes import Outcome
from backport.core.outlines import Outline
from backport.core.scopes import Scope, scope_at, scopes

NEWLINE = 10
_NEAR = 32  # lines


class Edit(NamedTuple):
    """Replace the bytes `start`..`end` of a text by `text`.

    `block` is where all the hunk's lines stand, context included; None where a
    manifest named the place and the lines around do not matter.
    """

    start: int
    end: int
    text: bytes
    block: tuple[int, int] | None = None


class Placement(NamedTuple):
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
        self._asked = (0, 1)  # an offset and its line

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

    @property
    def is_python(self) -> bool:
        return self.path.endswith((".py", ".pyi"))

    @cached_property
    def scopes(self) -> tuple[Scope, ...] | None:
        """The Python scopes; None for another language or a file that does not parse."""
        return scopes(self.text) if self.is_python else None

    def line_of(self, offset: int) -> int:
        """The line, from 1, that the offset lies in; behind the last newline it is one more.

        Questions mostly come in order, so newlines are counted on from the last one.
        """
        at, line = self._asked if self._asked[0] <= offset else (0, 1)
        line += self.text.count(b"\n", at, offset)
        self._asked = (offset, line)
        return line

    def offset_of(self, line: int) -> int | None:
        """The offset of a line's first byte; the line after the last one is the end.

        Lines near the last one that was asked about are found by stepping to them.
        """
        if abs(line - self._asked[1]) > _NEAR:
            return self.starts[line - 1] if 1 <= line <= len(self.starts) else None
        at, known = self._asked
        at = self.text.rfind(b"\n", 0, at) + 1
        while known > line and at > 0:
            at, known = self.text.rfind(b"\n", 0, at - 1) + 1, known - 1
        while known < line:
            end = self.text.find(b"\n", at)
            if at == len(self.text):
                return None
            at, known = len(self.text) if end == -1 else end + 1, known + 1
        return at if known == line else None

    def stands_once_at(self, block: bytes, line: int) -> int | None:
        """The offset of `block` where its first occurrence begins on `line`, else None."""
        at = self.text.find(block) if block else -1
        if at == -1 or (at and self.text[at - 1] != NEWLINE):
            return None
        return at if self.line_of(at) == line else None

    @cached_property
    def outline(self) -> Outline:
        """The scopes as far as the lines tell them."""
        return Outline(self.text)

    def scope_at(self, line: int) -> str | None:
        """The Python scope of a line; None for another language or a file that does not parse."""
        if not self.is_python:
            return None
        offset = self.offset_of(line)
        told = None if offset is None else self.outline.scope_at(offset)
        if told is not None:
            return told
        return None if self.scopes is None else scope_at(self.scopes, line)


def split_keeping_ends(text: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines


def splice(text: bytes, edits: list[Edit]) -> bytes:
    """The text with every edit made; raises ValueError where two need the same lines.

    The hunks of one diff never do, so where their places overlap on a target one
    of the places is wrong.
    """
    blocks = sorted(edit.block for edit in edits if edit.block)
    if any(below[0] < above[1] or below == above for above, below in pairwise(blocks)):
        raise ValueError("two hunks of this file need the same lines of the target")
    pieces = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise ValueError("two hunks of this file change the same lines of the target")
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return b"".join([*pieces, text[at:]])
