"""Read the hunks of one file of a diff; their counts must hold."""

from __future__ import annotations

import re

from backport.core.cursors import Cursor, PatchError
from backport.core.patches import Hunk
from backport.core.paths import decode

RANGE = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
MAX_HUNKS = 2_000  # a file; each is looked for in the whole target
_SIGNS = (b" ", b"+", b"-", b"\\")


def read_hunks(cursor: Cursor, path: str) -> tuple[Hunk, ...]:
    hunks: list[Hunk] = []
    while cursor.peek().startswith(b"@@ "):
        if len(hunks) == MAX_HUNKS:
            raise cursor.fail(f"{path} has more than {MAX_HUNKS:,} hunks; split the patch")
        hunks.append(_hunk(cursor, f"{path} hunk {len(hunks) + 1}"))
    if hunks:
        _refuse_more_lines(cursor, f"{path} hunk {len(hunks)}")
    return tuple(hunks)


def _refuse_more_lines(cursor: Cursor, name: str) -> None:
    """Raise where lines of the last hunk follow; an empty one may be context too."""
    ahead = 0
    while cursor.peek(ahead) == b"" and cursor.at + ahead < len(cursor.lines):
        ahead += 1
    if cursor.peek(ahead)[:1] in (b" ", b"+", b"-") and not _starts_something(cursor, ahead):
        raise PatchError(cursor.number + ahead, f"{name} has more lines than its counts say")


def _is_signature(cursor: Cursor) -> bool:
    """True at the end of a mail that git wrote; no line of a hunk begins with a digit."""
    return cursor.peek() == b"-- " and cursor.peek(1)[:1].isdigit()


def _starts_something(cursor: Cursor, ahead: int) -> bool:
    """True where a line with a hunk's sign is a mail signature or the next plain diff.

    Mail programs cut the space of git's signature, below which its version stands.
    """
    line = cursor.peek(ahead)
    below = cursor.peek(ahead + 1)
    cut = line == b"--" and (below[:1].isdigit() or not any(cursor.lines[cursor.at + ahead + 1 :]))
    return line == b"-- " or cut or (line.startswith(b"--- ") and below.startswith(b"+++ "))


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
    if _goes_on_after_its_end(lines):
        raise PatchError(start, f"{name}: lines follow one that has no newline at its end")
    return Hunk(int(old_start), int(new_start), tuple(lines), decode(section), start)


def _goes_on_after_its_end(lines: list[bytes]) -> bool:
    """True where a line without newline is not the last one of the old or the new text."""
    if all(line.endswith(b"\n") for line in lines):
        return False
    sides = ([line for line in lines if line[:1] != other] for other in (b"+", b"-"))
    return any(not line.endswith(b"\n") for side in sides for line in side[:-1])


def _hunk_lines(cursor: Cursor, name: str, old_left: int, new_left: int) -> list[bytes]:
    lines: list[bytes] = []
    ahead, end = cursor.lines, len(cursor.lines)
    while (old_left > 0 or new_left > 0) and cursor.at < end:
        line = ahead[cursor.at]
        sign = line[:1] or b" "  # mail programs cut the one space of an empty context line
        if sign not in _SIGNS or (line == b"-- " and _is_signature(cursor)):
            break
        if sign == b"\\":
            _cut_newline(cursor, name, lines)
        else:
            old_left -= sign != b"+"
            new_left -= sign != b"-"
            if old_left < 0 or new_left < 0:
                raise cursor.fail(f"{name} has more lines than its counts say")
            lines.append((line or b" ") + b"\n")
        cursor.at += 1
    if old_left > 0 or new_left > 0:
        raise cursor.fail(
            f"{name} ends early: its counts ask for {old_left} more old "
            f"and {new_left} more new lines"
        )
    if cursor.peek().startswith(b"\\ "):
        cursor.at += 1
        _cut_newline(cursor, name, lines)
    return lines


def _cut_newline(cursor: Cursor, name: str, lines: list[bytes]) -> None:
    if not lines:
        raise cursor.fail(f"{name}: a missing newline is noted before any line")
    lines[-1] = lines[-1].removesuffix(b"\n")
