"""Import statements as an ordered set of names: what the patch adds and removes, used ones only."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from backport.core.merging_regions import beside

_LINE = re.compile(
    rb"(?P<indent>[ \t]*)(?:from[ \t]+(?P<module>[\w.]+)[ \t]+)?import[ \t]+"
    rb"(?P<names>[\w., \t]+?)(?P<rest>[ \t]*(?:#.*)?\r?\n?)"
)


class _Import(NamedTuple):
    """One line: its module (empty for `import a`), and the names with their `as`."""

    indent: bytes
    module: bytes
    names: tuple[bytes, ...]
    rest: bytes

    def line(self, names: Sequence[bytes]) -> bytes:
        start = b"from %s import " % self.module if self.module else b"import "
        return self.indent + start + b", ".join(names) + self.rest


def merge_imports(
    base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes], used: Collection[bytes]
) -> list[bytes]:
    """The target's imports with the patch's names.

    A name is added only where the rest of the text has its word (`used`), and is
    removed only where it has not.
    """
    before, after = _names(base), _names(theirs)
    gone = {name for name in before - after if _bound(name[1]) not in used}
    out = [line for line in map(_without(gone), ours) if line is not None]
    for index, line in enumerate(theirs):
        found = _parsed(line)
        if found is None:
            continue
        here = _names(out)
        fresh = [n for n in found.names if (found.module, n) not in before | here]
        _add(out, found, [n for n in fresh if _bound(n) in used], theirs, index)
    return out


def are_imports(*sides: Sequence[bytes]) -> bool:
    """True where every line is a plain import, of one line, or blank."""
    lines = [line for side in sides for line in side if line.strip()]
    return bool(lines) and all(map(_LINE.fullmatch, lines))


def _parsed(line: bytes) -> _Import | None:
    found = _LINE.fullmatch(line)
    if not found:
        return None
    names = tuple(b" ".join(name.split()) for name in found["names"].split(b",") if name.strip())
    return _Import(found["indent"], found["module"] or b"", names, found["rest"])


def _names(lines: Sequence[bytes]) -> set[tuple[bytes, bytes]]:
    found = (_parsed(line) for line in lines)
    return {(one.module, name) for one in found if one for name in one.names}


def _bound(name: bytes) -> bytes:
    """The word that an import binds: `a` of `a.b`, `c` of `b as c`."""
    return name.rpartition(b" as ")[2].partition(b".")[0]


def _without(gone: set[tuple[bytes, bytes]]) -> Callable[[bytes], bytes | None]:
    def left(line: bytes) -> bytes | None:
        found = _parsed(line)
        if found is None:
            return line
        kept = [name for name in found.names if (found.module, name) not in gone]
        if len(kept) == len(found.names):
            return line
        return found.line(kept) if kept else None

    return left


def _add(
    out: list[bytes], wanted: _Import, names: list[bytes], theirs: Sequence[bytes], index: int
) -> None:
    """Into the line of the same module, else as a line beside its neighbour."""
    if not names:
        return
    for at, line in enumerate(out):
        there = _parsed(line)
        if there and wanted.module and there.module == wanted.module:
            every = sorted({*there.names, *names}, key=bytes.lower)
            keeps = list(there.names) == sorted(there.names, key=bytes.lower)
            out[at] = there.line(every if keeps else [*there.names, *names])
            return
    line = theirs[index] if len(names) == len(wanted.names) else wanted.line(names)
    out.insert(beside(theirs, index, out, line), line)
