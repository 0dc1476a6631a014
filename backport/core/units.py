"""A Python text as nested units: its plain lines, functions and classes, found by indentation.

Not the parser: a text of another Python version, or one that does not parse, has
units too, and finding them costs a fraction. What matters for merging is that the
units together are the text, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_DEFINITION = re.compile(rb"([ \t]*)(?:async[ \t]+def|def|class)[ \t]+(\w+)")
STRINGS = re.compile(
    rb"#[^\n]*"
    rb'|"""(?:[^"\\]|\\.|"(?!""))*"""'
    rb"|'''(?:[^'\\]|\\.|'(?!''))*'''"
    rb'|"(?:[^"\\\n]|\\.)*"'
    rb"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
_OPENERS = (b"(", b"[", b"{")
_CLOSERS = (b")", b"]", b"}")


class Unit(NamedTuple):
    """A function or class: its key among its siblings, and its lines.

    The lines begin with the blank lines, comments and decorators above it. A
    class has `parts`; a function is merged as lines and has none.
    """

    key: tuple[bytes, int]
    lines: tuple[bytes, ...]
    parts: tuple[bytes | Unit, ...] = ()

    @property
    def name(self) -> bytes:
        return self.key[0]


Part = bytes | Unit


def units(lines: Sequence[bytes]) -> tuple[Part, ...]:
    """The parts of a module; put together again they are the lines."""
    return _Splitter(lines).parts(0, len(lines), b"")


class _Splitter:
    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines
        self.inside = _inside_strings(lines)

    def parts(self, start: int, end: int, indent: bytes) -> tuple[Part, ...]:
        """The parts of a stretch of lines whose statements have this indentation."""
        out: list[Part] = []
        seen: dict[bytes, int] = {}
        at = start
        while at < end:
            found = None if self.inside[at] else _DEFINITION.match(self.lines[at])
            if not found or found.group(1) != indent:
                out.append(self.lines[at])
                at += 1
                continue
            stop = self._end(at, end, indent)
            above = self._above(at, len(out), indent)
            del out[len(out) - above :]
            name = found.group(2)
            seen[name] = seen.get(name, 0) + 1
            key = (name, seen[name])
            mine = tuple(self.lines[at - above : stop])
            is_class = self.lines[at].lstrip().startswith(b"class")
            out.append(Unit(key, mine, self._inner(at, stop, above) if is_class else ()))
            at = stop
        return tuple(out)

    def _inner(self, at: int, stop: int, above: int) -> tuple[Part, ...]:
        body = next((i for i in range(self._header(at, stop), stop) if self._starts(i)), stop)
        while body < stop and _indent(self.lines[body]) <= _indent(self.lines[at]):
            body += 1
        if body == stop:
            return tuple(self.lines[at - above : stop])
        inner = self.parts(body, stop, _indent(self.lines[body]))
        return (*self.lines[at - above : body], *inner)

    def _header(self, at: int, stop: int) -> int:
        """The line after the header, which goes on while a bracket is open."""
        depth = 0
        for line in range(at, stop):
            text = STRINGS.sub(b"", self.lines[line])
            depth += sum(map(text.count, _OPENERS)) - sum(map(text.count, _CLOSERS))
            if depth <= 0:
                return line + 1
        return stop

    def _starts(self, line: int) -> bool:
        text = self.lines[line].strip()
        return bool(text) and not self.inside[line] and not text.startswith((b"#", *_CLOSERS))

    def _end(self, at: int, limit: int, indent: bytes) -> int:
        """The line after the last one of the definition, blank lines at its end left out."""
        last = at
        for line in range(at + 1, limit):
            text = self.lines[line]
            if self.inside[line]:
                last = line
                continue
            if not text.strip():
                continue
            if len(_indent(text)) <= len(indent) and not text.lstrip().startswith(_CLOSERS):
                break
            last = line
        return last + 1

    def _above(self, at: int, most: int, indent: bytes) -> int:
        """How many plain lines right above belong to it: decorators, comments, blank lines."""
        count = 0
        count += self._decorators(at, most, indent)
        while count < most and self._is(at - count - 1, indent, (b"#",)):
            count += 1
        while count < most and self._blank(at - count - 1):
            count += 1
        return count

    def _decorators(self, at: int, most: int, indent: bytes) -> int:
        """The lines from the first decorator on, those of several lines included."""
        count = reached = 0
        while count < most:
            line = at - count - 1
            if self._blank(line) and not self.inside[line]:
                break
            if self._is(line, indent, (b"@",)):
                reached = count + 1
            elif _indent(self.lines[line]) == indent and not self._is(
                line, indent, (b"#", *_CLOSERS)
            ):
                break
            count += 1
        return reached

    def _is(self, line: int, indent: bytes, starts: tuple[bytes, ...]) -> bool:
        text = self.lines[line]
        return (
            not self.inside[line]
            and _indent(text) == indent
            and text[len(indent) :].startswith(starts)
        )

    def _blank(self, line: int) -> bool:
        return not self.inside[line] and not self.lines[line].strip()


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _inside_strings(lines: Sequence[bytes]) -> list[bool]:
    """For each line whether it begins inside a string."""
    inside = [False] * (len(lines) + 1)
    text = b"".join(lines)
    if b'"""' not in text and b"'''" not in text:
        return inside
    at = line = 0
    for found in STRINGS.finditer(text):
        piece = found.group()
        if b"\n" in piece:
            line += text.count(b"\n", at, found.start())
            rows = piece.count(b"\n")
            inside[line + 1 : line + rows + 1] = [True] * rows
            line += rows
            at = found.end()
    return inside


def joined(parts: Sequence[Part]) -> list[bytes]:
    """The lines that the parts are."""
    out: list[bytes] = []
    for part in parts:
        if isinstance(part, Unit):
            out += part.lines
        else:
            out.append(part)
    return out
