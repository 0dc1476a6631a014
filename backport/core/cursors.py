"""A place in the lines of a patch file, and the error that names it."""

from __future__ import annotations


class PatchError(ValueError):
    """A patch that cannot be read; `line` counts from 1 in the file it came from."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class Cursor:
    """A place in the lines of a patch file; `first` is the number of its first line."""

    __slots__ = ("at", "first", "lines")

    def __init__(self, lines: list[bytes], first: int = 1, at: int = 0) -> None:
        self.lines = lines
        self.first = first
        self.at = at

    @property
    def number(self) -> int:
        return self.first + self.at

    def peek(self, ahead: int = 0) -> bytes:
        at = self.at + ahead
        return self.lines[at] if at < len(self.lines) else b""

    @property
    def ended(self) -> bool:
        return self.at >= len(self.lines)

    def fail(self, message: str) -> PatchError:
        return PatchError(self.number, message)


def split_lines(data: bytes) -> list[bytes]:
    """The lines of `data` without their newline; only `\\n` ends a line."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return lines
