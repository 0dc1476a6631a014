"""Where the symbol that a hunk belongs to is now: under another name in its file, or gone from it.

Lines are compared without their indentation, so that a function that became a method
is still known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from backport.core.patches import MODULE_SCOPE, Hunk
from backport.core.paths import encode
from backport.core.scopes import Scope
from backport.core.texts import Target

_FEWEST = 2  # lines in common, below which nothing looks alike


class Definition(NamedTuple):
    """A line of some file that defines a function or class."""

    path: str
    line: int
    text: bytes


class Lookalike(NamedTuple):
    """A symbol of the target that has the hunk's lines, or the name of its symbol."""

    name: str
    line: int
    same: int  # of the hunk's lines
    total: int


def absent_scope(hunk: Hunk, target: Target) -> str:
    """The scope that the hunk names and the target's file does not have, or ""."""
    name = hunk.scope
    if not name or name == MODULE_SCOPE or target.scopes is None:
        return ""
    return "" if any(scope.name == name for scope in target.scopes) else name


def lookalike(hunk: Hunk, target: Target) -> Lookalike | None:
    """The symbol of the file that looks most like the absent one that the hunk belongs to.

    The innermost one with most of the hunk's lines, at least half of them; of those
    with as many, one of the same last name; else one of that name alone.
    """
    wanted = _bare(hunk.scope or "")
    lines = [text for text in map(bytes.strip, hunk.before.splitlines()) if text]
    best: tuple[tuple[bool, int, bool, int], Lookalike] | None = None
    for scope in target.scopes or ():
        same = _shared(lines, _text(scope, target))
        enough = same >= _FEWEST and 2 * same >= len(lines)
        named = _bare(scope.name) == wanted
        rank = (enough, same if enough else 0, named, scope.start)  # later starts lie further in
        if (enough or named) and (best is None or rank > best[0]):
            best = rank, Lookalike(scope.name, scope.line, same, len(lines))
    return best[1] if best else None


def _bare(name: str) -> str:
    """The last part of a name, whether private or not."""
    return name.rpartition(".")[2].lstrip("_")


def _text(scope: Scope, target: Target) -> Sequence[bytes]:
    return target.lines[scope.start - 1 : scope.end]


def _shared(lines: Sequence[bytes], text: Sequence[bytes]) -> int:
    there = set(map(bytes.strip, text))
    return sum(line in there for line in lines)


def definition_pattern(scopes: Sequence[str]) -> str:
    """An extended regular expression for the line that defines one of these symbols."""
    names = sorted({scope.rpartition(".")[2] for scope in scopes})
    return rf"^[[:blank:]]*(async +def|def|class) +({'|'.join(names)})[^A-Za-z0-9_]"


def defined_at(scope: str, definitions: Sequence[Definition]) -> list[Definition]:
    """Those of the definitions, as such a search gave them, that are of the symbol's last name."""
    name = encode(scope.rpartition(".")[2])
    return [found for found in definitions if _defined(found.text) == name]


def _defined(line: bytes) -> bytes:
    words = re.split(rb"[(:\[]", line)[0].split()
    return words[-1] if words[-2:-1] in ([b"def"], [b"class"]) else b""
