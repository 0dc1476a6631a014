"""Find where a hunk belongs in a target's text, strictest rule first, never by guess.

1. The text is the very one the patch was made on: the hunk's own line.
2. One place in the file where all its lines stand, context included, and in the
   scope that the hunk names.
3. Its result stands there already.

Two places that fit are ambiguous and are both named. There is no fuzz and no
white-space blindness.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from backport.core.manifests import Anchor
from backport.core.outcomes import Outcome
from backport.core.patches import Hunk
from backport.core.paths import decode, encode
from backport.core.scopes import Scope, find_scope, scope_at, scopes
from backport.core.tables import nearest

MAX_CANDIDATES = 64


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
        return self.text.splitlines(keepends=True) if self._plain else _split(self.text)

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


def _split(text: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop().removesuffix(b"\n")
    return [*lines, last] if last else lines


def place(hunk: Hunk, target: Target, known: bool = False, within: str | None = None) -> Placement:
    """Where `hunk` goes in `target`.

    `known` says that the text is the very one the patch was made on; `within`
    is the qualified name of the only scope to look in, as a manifest gives it.
    """
    if known:
        start = target.offset_of(_first_line(hunk))
        if start is not None and _stands(target.text, hunk.before, start):
            return _placed(hunk, target, start)
    spots = _spots(hunk, hunk.before, target)
    if not spots:
        return _already(hunk, target, within) or _conflict(hunk, target)
    return _choose(hunk, target, spots, within)


def _first_line(hunk: Hunk) -> int:
    """The line of the target that the hunk's text starts on; an empty one stands after its line."""
    return hunk.old_start if hunk.before else hunk.old_start + 1


def _stands(text: bytes, block: bytes, start: int) -> bool:
    """True where `block` stands at `start` and ends with a line."""
    if not text.startswith(block, start):
        return False
    return not block or block.endswith(b"\n") or start + len(block) == len(text)


def _spots(hunk: Hunk, block: bytes, target: Target) -> list[int]:
    """Every offset where the block of lines stands, as far as the hunk's context allows it there.

    A diff shows less than full context only at the ends of a file: a hunk without
    leading (trailing) context belongs to the beginning (the end).
    """
    text = target.text
    if not block:
        return [] if text else [0]
    found = []
    at = text.find(block)
    while at != -1 and len(found) < MAX_CANDIDATES:
        line_start = at == 0 or text[at - 1] == 10
        fits_start = bool(hunk.leading) or at == 0
        fits_end = bool(hunk.trailing) or at + len(block) == len(text)
        if line_start and fits_start and fits_end and _stands(text, block, at):
            found.append(at)
        at = text.find(block, at + 1)
    return found


def _choose(hunk: Hunk, target: Target, spots: list[int], within: str | None) -> Placement:
    scope = within or hunk.scope
    lines = [_change_line(hunk, target, spot) for spot in spots]
    if scope and target.scopes is not None:
        inside = [spot for spot in spots if _scope_of(hunk, target, spot) == scope]
        if not inside:
            return _elsewhere(scope, target, lines)
        spots = inside
        lines = [_change_line(hunk, target, spot) for spot in spots]
    elif within:
        return Placement(Outcome.CONFLICT, detail=_no_scopes(target))
    if len(spots) > 1:
        return Placement(
            Outcome.AMBIGUOUS,
            detail=f"fits at lines {_listed(lines)}; name the scope in the manifest",
            candidates=tuple(lines),
        )
    twice = _present_twice(hunk, target, scope)
    if twice:
        return Placement(
            Outcome.AMBIGUOUS,
            detail=f"its lines stand already at line {twice}, and it also fits at line {lines[0]}",
            candidates=(twice, lines[0]),
        )
    return _placed(hunk, target, spots[0])


def _scope_of(hunk: Hunk, target: Target, spot: int) -> str | None:
    """The scope of the hunk's first change, were it placed at `spot`."""
    return target.scope_at(scope_line(hunk, target.line_of(spot)))


def scope_line(hunk: Hunk, first_line: int) -> int:
    """The line whose scope is the hunk's: the first one removed, or the one above an insertion."""
    at = first_line + len(hunk.leading)
    changed = hunk.lines[len(hunk.leading)]
    return at if changed[:1] == b"-" else max(1, at - 1)


def _change_line(hunk: Hunk, target: Target, spot: int) -> int:
    return (target.line_of(spot) if hunk.before or spot else 1) + len(hunk.leading)


def _placed(hunk: Hunk, target: Target, spot: int) -> Placement:
    lead, trail = (sum(map(len, part)) for part in (hunk.leading, hunk.trailing))
    edit = Edit(
        spot + lead,
        spot + len(hunk.before) - trail,
        hunk.after[lead : len(hunk.after) - trail],
    )
    line = _change_line(hunk, target, spot)
    offset = line - (_first_line(hunk) + len(hunk.leading))
    return Placement(Outcome.MOVED if offset else Outcome.EXACT, edit, line, offset)


def _present_twice(hunk: Hunk, target: Target, scope: str | None) -> int:
    """The line where an inserting hunk's result already stands, or 0."""
    if hunk.removed or not any(len(line.strip()) > 3 for line in hunk.added):
        return 0
    return next(iter(_result_lines(hunk, target, scope)), 0)


def _result_lines(hunk: Hunk, target: Target, scope: str | None) -> list[int]:
    """The lines where the hunk's result stands, in its own scope where one is known."""
    spots = _spots(hunk, hunk.after, target) if hunk.after else []
    if scope and target.scopes is not None:
        spots = [spot for spot in spots if _scope_of(hunk, target, spot) == scope]
    return [_change_line(hunk, target, spot) for spot in spots]


def _already(hunk: Hunk, target: Target, within: str | None) -> Placement | None:
    lines = _result_lines(hunk, target, within or hunk.scope)
    if not lines:
        return None
    expected = hunk.new_start + len(hunk.leading)
    line = min(lines, key=lambda found: abs(found - expected))
    return Placement(
        Outcome.ALREADY,
        line=line,
        offset=line - expected,
        detail=f"its result stands at line {line}",
        candidates=tuple(lines) if len(lines) > 1 else (),
    )


def _elsewhere(scope: str, target: Target, lines: Sequence[int]) -> Placement:
    names = sorted({target.scope_at(max(1, line - 1)) or "?" for line in lines})
    known = [found.name for found in target.scopes or ()]
    there = "" if scope in known else f", which is not there ({nearest(scope, known)})"
    return Placement(
        Outcome.CONFLICT,
        detail=f"belongs in {scope}{there}; its lines stand only in {', '.join(names)} "
        f"at {_listed(lines)}",
        candidates=tuple(lines),
    )


def _conflict(hunk: Hunk, target: Target) -> Placement:
    """A conflict that says which line is missing and where the text looks most like the hunk's."""
    if not hunk.leading and not hunk.trailing:
        return Placement(Outcome.CONFLICT, detail="has no context, so it fits only a whole file")
    if b"\r\n" in target.text and b"\r\n" not in hunk.before:
        return Placement(
            Outcome.CONFLICT, detail="the target has CRLF line endings and the patch has LF"
        )
    expected = hunk.before.split(b"\n")
    there = {line.rstrip(b"\n") for line in target.lines}
    missing = next((line for line in expected if line and line not in there), None)
    line, matching = _closest(hunk, target)
    total = len([text for text in expected if text.strip()])
    near = f"; closest at line {line} ({matching} of {total} lines)" if matching else ""
    if missing is None:
        detail = f"its lines are there, but nowhere together{near}"
    else:
        detail = f"the target has no line {_shown(missing)}{near}"
    return Placement(Outcome.CONFLICT, detail=detail, candidates=(line,) if matching else ())


def _closest(hunk: Hunk, target: Target) -> tuple[int, int]:
    """The line where most of the hunk's own lines vote it should start, and how many do."""
    places: dict[bytes, list[int]] = {}
    for number, line in enumerate(target.lines, 1):
        if line.strip():
            places.setdefault(line, []).append(number)
    votes: dict[int, int] = {}
    for index, line in enumerate(_split(hunk.before)):
        for number in places.get(line, ())[:8]:
            votes[number - index] = votes.get(number - index, 0) + 1
    if not votes:
        return 0, 0
    start = max(votes, key=lambda at: (votes[at], -abs(at - hunk.old_start)))
    return max(1, start), votes[start]


def _shown(line: bytes) -> str:
    text = decode(line).strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _listed(lines: Sequence[int]) -> str:
    more = f" and {len(lines) - 8} more" if len(lines) > 8 else ""
    return ", ".join(map(str, lines[:8])) + more


def _no_scopes(target: Target) -> str:
    return f"{target.path} has no Python scopes (another language, or it does not parse)"


# ---------------------------------------------------------------- what a manifest says


def place_at(hunk: Hunk, target: Target, anchor: Anchor) -> Placement:
    """The hunk at the place that a manifest names: its own text in a scope, or its added lines."""
    if anchor.position == "in":
        found = place(hunk, target, within=anchor.scope)
        if found.outcome in (Outcome.EXACT, Outcome.MOVED):
            return Placement(Outcome.REANCHORED, found.edit, found.line, found.offset)
        return found
    if hunk.removed:
        return Placement(
            Outcome.CONFLICT,
            detail=f"removes lines, so it cannot go {anchor}; use `in` or a replace entry",
        )
    spot = _anchor_line(target, anchor)
    if isinstance(spot, Placement):
        return spot
    line, indent = spot
    problem = _misfit(hunk, target, line, indent)
    if problem:
        return Placement(Outcome.CONFLICT, detail=f"cannot go {anchor}: {problem}")
    offset = target.starts[line - 1]
    block = b"".join(_turned(hunk.added, anchor.position))
    shift = line - (_first_line(hunk) + len(hunk.leading))
    return Placement(Outcome.REANCHORED, Edit(offset, offset, block), line, shift)


def _turned(lines: tuple[bytes, ...], position: str) -> list[bytes]:
    """The lines with the blank ones at their edge put between them and the anchor."""
    out = list(lines)
    first, last = (0, -1) if position in ("before", "first-in") else (-1, 0)
    if not any(line.strip() for line in out):
        return out
    while not out[first].strip():
        line = out.pop(first)
        out.insert(len(out) if last else 0, line)
    return out


def _misfit(hunk: Hunk, target: Target, line: int, indent: bytes | None) -> str:
    if not all(text.endswith(b"\n") for text in hunk.added):
        return "its last line has no newline"
    if line > len(target.lines) and target.lines and not target.lines[-1].endswith(b"\n"):
        return "the target's last line has no newline"
    first = next((text for text in hunk.added if text.strip()), b"")
    if indent is not None and _indent(first) != indent:
        return f"its lines are indented by {len(_indent(first))}, the place asks for {len(indent)}"
    return ""


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _anchor_line(target: Target, anchor: Anchor) -> tuple[int, bytes | None] | Placement:
    """The line before which the hunk goes and the indentation there, or why there is none."""
    if anchor.line:
        return _beside_line(target, anchor)
    if target.scopes is None:
        return Placement(Outcome.CONFLICT, detail=_no_scopes(target))
    found = find_scope(target.scopes, anchor.scope)
    if not found:
        names = [scope.name for scope in target.scopes]
        return Placement(
            Outcome.CONFLICT,
            detail=f"{target.path} has no {anchor.scope}; {nearest(anchor.scope, names)}",
        )
    if len(found) > 1:
        lines = tuple(scope.line for scope in found)
        return Placement(
            Outcome.AMBIGUOUS,
            detail=f"{anchor.scope} is defined at lines {_listed(lines)}",
            candidates=lines,
        )
    return _ANCHORS[anchor.position](target, found[0])


def _beside_line(target: Target, anchor: Anchor) -> tuple[int, bytes | None] | Placement:
    wanted = encode(anchor.line)
    found = [
        number
        for number, line in enumerate(target.lines, 1)
        if line.rstrip(b"\r\n") == wanted or line.strip() == wanted
    ]
    if len(found) == 1:
        return found[0] + (anchor.position == "after"), None
    if not found:
        return Placement(Outcome.CONFLICT, detail=f"{target.path} has no line {anchor.line!r}")
    return Placement(
        Outcome.AMBIGUOUS,
        detail=f"{anchor.line!r} stands at lines {_listed(found)}",
        candidates=tuple(found),
    )


def _before(target: Target, scope: Scope) -> tuple[int, bytes]:
    """Above the decorators, and above comments that stand right on top of them."""
    line = scope.start
    indent = _indent(target.lines[line - 1])
    while line > 1 and target.lines[line - 2].startswith(indent + b"#"):
        line -= 1
    return line, indent


def _after(target: Target, scope: Scope) -> tuple[int, bytes]:
    return scope.end + 1, _indent(target.lines[scope.start - 1])


def _first_in(target: Target, scope: Scope) -> tuple[int, bytes]:
    at = min(scope.body, scope.end)
    return scope.body, _indent(target.lines[at - 1])


def _last_in(target: Target, scope: Scope) -> tuple[int, bytes]:
    return scope.end + 1, _indent(target.lines[scope.body - 1 if scope.body <= scope.end else -1])


_ANCHORS: dict[str, Callable[[Target, Scope], tuple[int, bytes]]] = {
    "before": _before,
    "after": _after,
    "first-in": _first_in,
    "last-in": _last_in,
}
