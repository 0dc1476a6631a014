"""Read a TOML table against what is expected of it, and say every problem at once.

A problem reads `file:line: key: what is wrong (the mend)`. TOML keeps no line
numbers, so the line is looked up by the key's text; 0 hits leave it out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

MAX_PROBLEMS = 50  # of one file; by then somebody has to look at it
MAX_LINE = 10_000  # letters
MAX_ENTRIES = 1_000  # of one kind in one file
_BAD_REF = re.compile(
    r"[\x00-\x20~^:?*\[\\\x7f]|\.\.|@\{|//|\.lock(/|$)|^[./-]|/\.|[./]$|^(@|([A-Z]+_)?HEAD)$"
)


class EnoughProblems(Exception):
    """A file holds so many problems that reading on would tell nothing more."""


class Source:
    """A TOML file's name and text, and the problems found in it so far."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.problems: list[str] = []

    def line_of(self, keys: Sequence[str | int]) -> int:
        """The line of a key, following `[[table]]` and `[table]` headers; 0: not found."""
        lines = self.text.split("\n")
        at = 0
        for key in keys:
            if isinstance(key, int):
                continue
            at = self._next(lines, at, key, keys) or at
        return at

    def _next(self, lines: list[str], at: int, key: str, keys: Sequence[str | int]) -> int:
        """The next line that opens the table `key` or, before any other table, sets the key."""
        place = list(keys).index(key)
        nth = keys[place + 1] if place + 1 < len(keys) else 0
        left = nth if isinstance(nth, int) else 0
        name = re.escape(key)
        opens = re.compile(rf"\s*\[\[?\s*{name}\s*\]")
        sets = re.compile(rf"\s*[\"']?{name}[\"']?\s*=")
        inside = True
        for number in range(at, len(lines)):
            if opens.match(lines[number]):
                if not left:
                    return number + 1
                left -= 1
            elif inside and sets.match(lines[number]):
                return number + 1
            inside = inside and not lines[number].startswith("[")
        return 0

    def report(self, keys: Sequence[str | int], problem: str) -> None:
        """Note a problem of the value at `keys`; raises EnoughProblems where they are too many."""
        if len(self.problems) >= MAX_PROBLEMS:
            self.problems.append(f"{self.name}: has more problems; mend these first")
            raise EnoughProblems
        line = self.line_of(keys)
        where = f"{self.name}:{line}" if line else self.name
        shown = key_text(keys)
        self.problems.append(f"{where}: {shown}: {problem}" if shown else f"{where}: {problem}")


def key_text(keys: Sequence[str | int]) -> str:
    """A key's path as a person writes it; entries of a list count from 1."""
    out = ""
    for key in keys:
        out += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if out else key
    return out


def nearest(word: str, known: Sequence[str]) -> str:
    """A hint that names the closest known word, or lists them where none is close."""
    import difflib

    close = difflib.get_close_matches(word, known, 1, 0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(known)}" if known else "none is known"


def parse_toml(name: str, text: str) -> tuple[dict[str, Any], Source]:
    """The table in `text`, and its source with a problem noted where it is not TOML."""
    source = Source(name, text)
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE:  # what a key of a thousand parts costs grows with their square
            problem = f"a line of {len(line):,} letters is over the limit of {MAX_LINE:,}"
            source.problems.append(f"{name}:{number}: {problem}")
            return {}, source
    try:
        return tomllib.loads(text), source
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        where = f"{name}:{found.group(1)}:{found.group(2)}" if found else name
        if "end of document" in str(error):
            where = f"{name}:{text.rstrip().count(chr(10)) + 1}"
        source.problems.append(f"{where}: not TOML: {str(error).partition(' (at')[0]}")
        return {}, source


def is_ref_name(name: str) -> bool:
    """True for what git allows as the name of a branch or tag; false for HEAD and its like.

    A revision expression (`main~2`, `v1^{}`, `main@{0}`) never is one.
    """
    return not _BAD_REF.search(name)


class Table:
    """One table being read; `finish` reports the keys that nobody asked for."""

    def __init__(
        self, values: dict[str, Any], source: Source, keys: tuple[str | int, ...] = ()
    ) -> None:
        self.values = values
        self.source = source
        self.keys = keys
        self.asked: set[str] = set()

    def problem(self, key: str, text: str) -> None:
        self.source.report((*self.keys, key) if key else self.keys, text)

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """A string; without a default it must be there and hold more than blanks."""
        value = self._value(key)
        if value is None:
            if default is None:
                self.problem(key, "is missing")
            return default or ""
        if not isinstance(value, str):
            self.problem(key, f"must be a string, not {_kind(value)}")
            return ""
        if default is None and not value.strip():
            self.problem(key, "is empty")
        if choices and value not in choices:
            self.problem(key, f"{value!r} is not allowed; {nearest(value, choices)}")
        return value

    def commit(self, key: str) -> str:
        """The name of a tag or commit, which means the same one tomorrow."""
        name = self.text(key)
        if name.strip() and not is_ref_name(name):
            self.problem(
                key,
                f"{name!r} is a revision expression, or no name at all; give a tag or a commit id, "
                "which mean the same tomorrow",
            )
        return name

    def number(self, key: str) -> int | None:
        value = self._value(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(key, f"must be a whole number, not {_kind(value)}")
            return None
        return value

    def texts(self, key: str, single: bool = False) -> tuple[str, ...]:
        """A list of strings, empty where the key is missing; `single` allows one without a list."""
        value = self._value(key)
        if value is None:
            return ()
        if single and isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.problem(key, "must be a list of strings")
            return ()
        if len(value) > MAX_ENTRIES:
            self.problem(key, f"has {len(value):,} entries, over the limit of {MAX_ENTRIES:,}")
            return ()
        return tuple(value)

    def table(self, key: str) -> Table:
        value = self._value(key)
        if value is not None and not isinstance(value, dict):
            self.problem(key, f"must be a table, not {_kind(value)}")
        values = value if isinstance(value, dict) else {}
        return Table(values, self.source, (*self.keys, key))

    def tables(self, key: str) -> list[Table]:
        value = self._value(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.problem(key, f"must be written as [[{key}]] tables")
            return []
        if len(value) > MAX_ENTRIES:
            self.problem(key, f"has {len(value):,} entries, over the limit of {MAX_ENTRIES:,}")
            return []
        return [
            Table(item, self.source, (*self.keys, key, index)) for index, item in enumerate(value)
        ]

    def finish(self) -> None:
        for key in self.values:
            if key not in self.asked:
                self.problem(key, f"is not a key here; {nearest(key, sorted(self.asked))}")

    def _value(self, key: str) -> Any:
        value = self.values.get(key)
        if key not in self.asked and _holds_nul(value):
            self.problem(key, "holds a NUL character, which no commit can hold; take it out")
        self.asked.add(key)
        return value


def _holds_nul(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(item, str) and "\0" in item for item in value)
    return isinstance(value, str) and "\0" in value


def _kind(value: object) -> str:
    names = {"int": "a number", "str": "a string", "list": "a list", "dict": "a table"}
    return names.get(type(value).__name__, type(value).__name__)
