"""Python scopes by lines alone, wherever the lines leave no doubt.

Parsing a file costs some twenty times what placing a hunk in it costs, and a
check of all targets reads hundreds of files. Definitions, dedents and triple
quotes tell the scope of nearly every line; where they do not (tabs, code that
continues at the margin, brackets that do not match), the answer is None and the
parser is asked. An answer that differs from the parser's is a defect.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from functools import cached_property, lru_cache
from typing import NamedTuple

from backport.core.patches import MODULE_SCOPE
from backport.core.paths import decode

# a newline first and no step back: four times faster than `^` at every line
_DEFINITION = re.compile(rb"\n([ \t]*+)(?=[acd])(?:async[ \t]+def|def|class)[ \t]+(\w+)")
_TABBED = re.compile(rb"\n *+\t")
_TRIPLE = re.compile(rb"\"\"\"|'''")
_STRING = re.compile(rb"""\"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")  # of one line
_NO_CODE = re.compile(rb"#[^\n]*|%b" % _STRING.pattern)
_CODE = re.compile(rb"(?:[^\"'#\n]|%b)*+" % _STRING.pattern)
_GOES_ON = b",([{\\=+-*/%|&^<>.:"  # a line that ends so need not end its statement
_BRACKETS = ((b"(", b")"), (b"[", b"]"), (b"{", b"}"))


class _Definition(NamedTuple):
    """The newline before a definition's line, its indentation in spaces, and its name."""

    at: int
    indent: int
    name: str


class _Doubt(Exception):
    """The lines alone do not tell."""


class Outline:
    """The scopes of one file as its lines show them."""

    def __init__(self, text: bytes) -> None:
        self._text = b"\n" + text  # each line follows a newline, and an offset names that newline
        self._ends: dict[int, int] = {}

    def scope_at(self, offset: int) -> str | None:
        """The qualified name of the scope that the line at `offset` lies in; None: ask the parser.

        `offset` is that of the line's first byte; past the end of the file is the module.
        """
        if not self._regular:
            return None
        try:
            decorated = self._decorated(offset)
            return self._scope(decorated.at if decorated else offset)
        except _Doubt:
            return None

    def defines(self, name: str) -> bool:
        """True where the file surely has a class or function of that qualified name."""
        leaf = name.rpartition(".")[2]
        return self._regular and any(
            found.name == leaf and self.scope_at(found.at) == name for found in self._definitions
        )

    def _scope(self, at: int) -> str:
        names: list[str] = []
        indent = len(self._text)
        for found in reversed(self._definitions[: bisect_right(self._starts, at)]):
            if found.indent >= indent:
                continue  # the definition below it has ended it
            indent = found.indent
            if at < self._end(found):
                names.append(found.name)
            if indent == 0:
                break
        return ".".join(reversed(names)) or MODULE_SCOPE

    # ---------------------------------------------------------------- what the file holds

    @cached_property
    def _regular(self) -> bool:
        """False for a file that the parser alone can tell about."""
        text = self._text
        if b"\r" in text or b"\f" in text or (b"\t" in text and _TABBED.search(text)):
            return False
        try:
            return len(self._starts) >= 0  # reads strings and definitions
        except _Doubt:
            return False

    @cached_property
    def _strings(self) -> list[tuple[int, int]]:
        """Where the triple-quoted strings begin and end."""
        found: list[tuple[int, int]] = []
        at = 0
        while opening := _TRIPLE.search(self._text, at):
            around = self._around(at, opening.start())
            at = around or self._closing(opening) + 3
            if not around:
                found.append((opening.start(), at))
        return found

    def _around(self, after: int, quotes: int) -> int:
        """Where the comment or the string of one line ends that holds the quotes; 0: none does.

        `after` is where the last string that was looked at has ended.
        """
        begin = max(after, self._text.rfind(b"\n", 0, quotes) + 1)
        if self._text[begin - 2 : begin] == b"\\\n":
            raise _Doubt
        code = _CODE.match(self._text, begin, quotes)
        stop = code.end() if code else begin
        if stop == quotes:
            return 0
        if self._text[stop] == ord("#"):
            return _find(self._text, b"\n", quotes)
        string = _STRING.match(self._text, stop)
        if not string or string.end() <= quotes:
            raise _Doubt
        return string.end()

    def _closing(self, opening: re.Match[bytes]) -> int:
        """Where the quotes that end the string stand."""
        at = self._text.find(opening.group(), opening.end())
        while at != -1 and self._text[at - 1] == ord("\\"):
            before = self._text[:at][-64:]
            if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
                break
            at = self._text.find(opening.group(), at + 1)
        if at == -1:
            raise _Doubt
        return at

    def _in_string(self, at: int) -> int:
        """The end of the triple-quoted string that the byte at `at` lies inside of, or 0."""
        index = bisect_right(self._strings, (at, 0)) - 1
        if index < 0:
            return 0
        start, end = self._strings[index]
        return end if start < at < end else 0

    @cached_property
    def _definitions(self) -> list[_Definition]:
        found = []
        for match in _DEFINITION.finditer(self._text):
            if self._in_string(match.start(2)):
                continue
            if self._text[match.start() - 1 : match.start()] == b"\\":
                raise _Doubt
            found.append(_Definition(match.start(), len(match[1]), decode(match[2])))
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [found.at for found in self._definitions]

    # ---------------------------------------------------------------- where a scope ends

    def _end(self, found: _Definition) -> int:
        """Where the line after the last line of code of a definition begins."""
        if found.at not in self._ends:
            line_end = _find(self._text, b"\n", found.at + 1)
            stop = self._dedent(line_end, found.indent)
            last = self._last_code(stop)
            self._be_sure(found.at, last, stop)
            self._ends[found.at] = last
        return self._ends[found.at]

    def _dedent(self, at: int, indent: int) -> int:
        """The newline before the next line of code that is indented no further."""
        while match := _code_within(indent).search(self._text, at):
            inside = self._in_string(match.end() - 1)
            if not inside:
                return match.start()
            at = inside
        return len(self._text)

    def _last_code(self, stop: int) -> int:
        """Where the last line that is neither blank nor a comment ends, before `stop`."""
        while stop > 0:
            start = self._text.rfind(b"\n", 0, stop)
            line = self._text[start + 1 : stop].strip()
            if self._in_string(start + 1) or (line and not line.startswith(b"#")):
                return stop
            stop = start
        return 0

    def _be_sure(self, start: int, last: int, stop: int) -> None:
        """Raise _Doubt where the code that ends at `last` may go on in the line at `stop`."""
        if stop == len(self._text):
            return
        inside = self._text[start:last]
        if inside[-1] in _GOES_ON and not self._in_string(last - 1):
            raise _Doubt
        self._be_closed(start, last)

    def _be_closed(self, start: int, end: int) -> None:
        """Raise _Doubt where brackets may be open at `end`."""
        if not _balanced(self._text[start:end]) and not _balanced(self._code(start, end)):
            raise _Doubt

    def _code(self, start: int, end: int) -> bytes:
        """The text without its strings and comments."""
        pieces = []
        for opening, closing in self._strings:
            if start <= opening < end:
                pieces.append(self._text[start:opening])
                start = closing
        pieces.append(self._text[start:end])
        return _NO_CODE.sub(b"", b"".join(pieces))

    # ---------------------------------------------------------------- decorators

    def _decorated(self, offset: int) -> _Definition | None:
        """The definition among whose decorators the line stands, if it does."""
        index = bisect_right(self._starts, offset)
        if index == len(self._definitions):
            return None
        found = self._definitions[index]
        above = self._definitions[index - 1].at if index else 0
        first = self._first_decorator(found, above)
        return found if first is not None and first <= offset else None

    def _first_decorator(self, found: _Definition, above: int) -> int | None:
        """The newline before the topmost decorator of a definition."""
        sign = b"\n" + b" " * found.indent + b"@"
        at = self._text.find(sign, above, found.at)
        while at != -1 and (inside := self._in_string(at + len(sign) - 1)):
            at = self._text.find(sign, inside, found.at)
        if at == -1:
            return None
        below = self._dedent(at + len(sign), found.indent)
        while below < found.at and self._text.startswith(sign, below):
            below = self._dedent(below + len(sign), found.indent)
        if below != found.at:
            raise _Doubt
        self._be_closed(at, below)
        return at


@lru_cache(maxsize=32)
def _code_within(indent: int) -> re.Pattern[bytes]:
    """A line of code that is indented by at most `indent` spaces and closes no bracket."""
    return re.compile(rb"\n {0,%d}+[^\s#)\]}]" % indent)


def _balanced(text: bytes) -> bool:
    return all(text.count(left) == text.count(right) for left, right in _BRACKETS)


def _find(text: bytes, what: bytes, start: int) -> int:
    at = text.find(what, start)
    return len(text) if at == -1 else at


# ---------------------------------------------------------------- without looking at strings


def definitions(text: bytes) -> Counter[tuple[bytes, ...]]:
    """How often each qualified name seems defined, by indentation alone.

    Right except for what stands in strings: good for asking whether a file is
    worth parsing.
    """
    found: Counter[tuple[bytes, ...]] = Counter()
    above: list[tuple[int, bytes]] = []
    for match in _DEFINITION.finditer(b"\n" + text):
        indent = len(match.group(1))
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, match.group(2)))
        found[tuple(name for _, name in above)] += 1
    return found


def same_definitions(before: bytes, after: bytes) -> bool:
    """True where no line that defines something lies in what the two texts do not share.

    Then both define the same names, at the price of a few comparisons.
    """
    head = _shared_start(before, after)
    tail = _shared_end(before[head:], after[head:])
    start = before.rfind(b"\n", 0, head) + 1
    return not any(_defines(text, start, len(text) - tail) for text in (before, after))


def _defines(text: bytes, start: int, end: int) -> bool:
    """True where a definition begins in the lines from `start` to the one that holds `end`."""
    line_end = text.find(b"\n", end)
    stop = len(text) if line_end == -1 else line_end
    return _DEFINITION.search(b"\n" + text[start:stop]) is not None


def _shared_start(one: bytes, other: bytes) -> int:
    """How many bytes both begin with; by halves, since comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _shared_end(one: bytes, other: bytes) -> int:
    """How many bytes both end with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
