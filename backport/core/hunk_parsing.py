"""Read the hunks of one file of a diff; their counts must hold."""

from __future__ import annotations

import re

from backport.core.cursors import Cursor, PatchError
from backport.core.patches import Hunk
from backport.core.paths import decode

RANGE = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")


def read_hunks(cursor: Cursor, path: str) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    while cursor.peek().startswith(b"@@ "):
        hunks.append(_hunk(cursor, f"{path} hunk {len(hunks) + 1}"))
    line = cursor.peek()
    if hunks and line[:1] in (b" ", b"+", b"-") and not _starts_something(cursor):
        raise cursor.fail(f"{path} hunk {len(hunks)} has more lines than its counts say")
    return tuple(hunks)


def _starts_something(cursor: Cursor) -> bool:
    """True where a line with a hunk's sign is a mail signature or the next plain diff."""
    line = cursor.peek()
    return line == b"-- " or (line.startswith(b"--- ") and cursor.peek(1).startswith(b"+++ "))


def _hunk(cursor: Cursor, name: str) -> Hunk:
    header = RANGE.fullmatch(cursor.peek())
    if not header:
        raise cursor.fail(f"{name}: a hunk header that cannot be read")
    start = cursor.number
    old_start, old_count, new_start, new_count, section = header.groups()
    cursor.at += 1
    lines = _hunk_lines(
        cursor,
        name,
        1 if old_count is None else int(old_count),
        1 if new_count is None else int(new_count),
    )
    if all(line[:1] == b" " for line in lines):
        raise PatchError(start, f"{name} changes nothing")
    return Hunk(int(old_start), int(new_start), tuple(lines), decode(section), start)


def _hunk_lines(cursor: Cursor, name: str, old_left: int, new_left: int) -> list[bytes]:
    lines: list[bytes] = []
    while old_left > 0 or new_left > 0:
        line = b" " if not cursor.ended and cursor.peek() == b"" else cursor.peek()
        sign = line[:1]
        if cursor.ended or sign not in (b" ", b"+", b"-", b"\\"):
            raise cursor.fail(
                f"{name} ends early: its counts ask for {old_left} more old "
                f"and {new_left} more new lines"
            )
        cursor.at += 1
        if sign == b"\\":
            _cut_newline(cursor, name, lines)
            continue
        old_left -= sign != b"+"
        new_left -= sign != b"-"
        if old_left < 0 or new_left < 0:
            cursor.at -= 1
            raise cursor.fail(f"{name} has more lines than its counts say")
        lines.append(line + b"\n")
    if cursor.peek().startswith(b"\\ "):
        cursor.at += 1
        _cut_newline(cursor, name, lines)
    return lines


def _cut_newline(cursor: Cursor, name: str, lines: list[bytes]) -> None:
    if not lines:
        raise cursor.fail(f"{name}: a missing newline is noted before any line")
    lines[-1] = lines[-1].removesuffix(b"\n")
