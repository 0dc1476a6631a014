"""Find where a hunk belongs in a target's text, strictest rule first, never by guess.

1. The text is the very one the patch was made on: the hunk's own line.
2. One place in the file where all its lines stand, context included, and in the
   scope that the hunk names.
3. Its result stands there already.

Two places that fit are ambiguous and are both named, and so is one that fits
while another has the result already, and a result that stands more often than
the patch makes it. A scope that cannot be told, since the
target does not parse, is a conflict. There is no fuzz and no white-space
blindness.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backport.core.outcomes import Outcome
from backport.core.patches import MODULE_SCOPE, REMOVED, Hunk
from backport.core.paths import decode, encode
from backport.core.tables import nearest
from backport.core.texts import Edit, Placement, Target, split_keeping_ends

MAX_CANDIDATES = 64
MAX_PLACES = 1_000  # where lines stand more often, no scope is asked which of them is meant
_VOTES = 8  # places where one line votes for the closest text
_WIDTH = 60  # letters of a line that a message shows
_LISTED = 8


class _TooMany(Exception):
    """Lines stand at too many places for one of them to be theirs."""


def place(
    hunk: Hunk, target: Target, known: bool = False, within: str | None = None, alike: int = 1
) -> Placement:
    """Where `hunk` goes in `target`.

    `known` says that the text is the very one the patch was made on; `within`
    is the qualified name of the only scope to look in, as a manifest gives it;
    `alike` how often the patch makes this very change in the file.
    """
    try:
        return _place(hunk, target, known, within, alike)
    except _TooMany:
        detail = f"its lines stand at more than {MAX_PLACES:,} places"
        return Placement(Outcome.AMBIGUOUS, detail=detail)


def _place(hunk: Hunk, target: Target, known: bool, within: str | None, alike: int) -> Placement:
    if known:
        start = target.stands_once_at(hunk.before, first_line(hunk))
        if start is None:
            start = target.offset_of(first_line(hunk))
        if start is not None and _stands(target.text, hunk.before, start):
            return placed(hunk, target, start)
    scope = within or hunk.scope
    if scope and not target.is_python:
        if within:
            return Placement(Outcome.CONFLICT, detail=f"belongs in {scope}; {no_scopes(target)}")
        scope = None  # in another language the word after @@ is git's, and no scope
    spots = _spots(hunk, hunk.before, target)
    inside = [spot for spot in spots if _lies_in(scope, hunk, target, spot, result=False)]
    if inside:
        return _choose(hunk, target, inside, scope)
    return _already(hunk, target, scope, alike) or _conflict(hunk, target, scope, spots)


def first_line(hunk: Hunk) -> int:
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
    found: list[int] = []
    at = text.find(block)
    while at != -1:
        line_start = at == 0 or text[at - 1] == 10
        fits_start = bool(hunk.leading) or at == 0
        fits_end = bool(hunk.trailing) or at + len(block) == len(text)
        if line_start and fits_start and fits_end and _stands(text, block, at):
            found.append(at)
        if len(found) > MAX_PLACES:
            raise _TooMany
        at = text.find(block, at + 1)
    return found


def _choose(hunk: Hunk, target: Target, spots: list[int], scope: str | None) -> Placement:
    lines = [_change_line(hunk, target, spot) for spot in spots]
    if len(spots) > 1:
        return Placement(
            Outcome.AMBIGUOUS,
            detail=f"fits at lines {listed(lines)}; name the scope in the manifest",
            candidates=tuple(lines[:MAX_CANDIDATES]),
        )
    other = _result_elsewhere(hunk, target, scope, spots[0])
    if other:
        return Placement(
            Outcome.AMBIGUOUS,
            detail=f"its result stands at line {other} already, and it fits at line {lines[0]} too",
            candidates=(other, lines[0]),
        )
    return placed(hunk, target, spots[0])


def _lies_in(scope: str | None, hunk: Hunk, target: Target, spot: int, result: bool) -> bool:
    """True where the hunk's text at `spot`, or its result there, lies in `scope`."""
    if scope is None:
        return True
    written, changed = hunk.undoes or hunk, result != bool(hunk.undoes)
    first = scope_line(written, target.line_of(spot))
    names = {target.scope_at(first)}
    if changed and _removes_first(written):  # the line that lay in the scope is gone
        names.add(_scope_above(target, first))
    if scope in names or not (changed and _removes_definition(written, scope)):
        return scope in names
    return any(name and _above(scope) in (name, _above(name)) for name in names)


def _scope_above(target: Target, line: int) -> str | None:
    """The scope of the nearest text above a line: blank ones at a scope's end lie outside of it."""
    above = target.lines[: line - 1]
    while above and not above[-1].strip():
        above.pop()
    return target.scope_at(len(above)) if above else MODULE_SCOPE


def _removes_first(hunk: Hunk) -> bool:
    return hunk.lines[len(hunk.leading)][:1] == REMOVED


def _removes_definition(hunk: Hunk, scope: str) -> bool:
    name = encode(scope.rpartition(".")[2])
    definition = re.compile(rb"\s*(?:async\s+def|def|class)\s+%s\b" % re.escape(name))
    return any(definition.match(line) for line in hunk.removed)


def _above(scope: str) -> str:
    """The scope that holds this one."""
    return scope.rpartition(".")[0] or MODULE_SCOPE


def scope_line(hunk: Hunk, first_line: int) -> int:
    """The line whose scope is the hunk's: the first one removed, or the one above an insertion."""
    at = first_line + len(hunk.leading)
    return at if _removes_first(hunk) else max(1, at - 1)


def _change_line(hunk: Hunk, target: Target, spot: int) -> int:
    return target.line_of(spot) + len(hunk.leading)


def placed(hunk: Hunk, target: Target, spot: int) -> Placement:
    """The hunk at this offset, where its lines stand."""
    lead, trail = (sum(map(len, part)) for part in (hunk.leading, hunk.trailing))
    edit = Edit(
        spot + lead,
        spot + len(hunk.before) - trail,
        hunk.after[lead : len(hunk.after) - trail],
        (spot, spot + len(hunk.before)),
    )
    line = _change_line(hunk, target, spot)
    offset = line - (first_line(hunk) + len(hunk.leading))
    return Placement(Outcome.MOVED if offset else Outcome.EXACT, edit, line, offset)


def _result_elsewhere(hunk: Hunk, target: Target, scope: str | None, spot: int) -> int:
    """The line of another place where the hunk's result stands already, or 0.

    The hunk's own place may be that one, with the change in it, and the place
    that still fits a look-alike.
    """
    end = spot + len(hunk.before)
    others = [
        found
        for found in _result_spots(hunk, target, scope)
        if not hunk.removed or found + len(hunk.after) <= spot or found >= end
    ]
    return _change_line(hunk, target, others[0]) if others else 0


def _result_spots(hunk: Hunk, target: Target, scope: str | None) -> list[int]:
    """Where the hunk's result stands, in its own scope where one is known."""
    spots = _spots(hunk, hunk.after, target) if hunk.after else []
    return [spot for spot in spots if _lies_in(scope, hunk, target, spot, result=True)]


def _already(hunk: Hunk, target: Target, scope: str | None, alike: int) -> Placement | None:
    """The place where the hunk's result stands, or None; too many of them prove nothing.

    A look-alike may have the result while the true place has something else.
    """
    lines = [_change_line(hunk, target, spot) for spot in _result_spots(hunk, target, scope)]
    if not lines:
        return None
    candidates = tuple(lines[:MAX_CANDIDATES]) if len(lines) > 1 else ()
    if len(lines) > alike:
        return Placement(
            Outcome.AMBIGUOUS,
            detail=f"its result stands at lines {listed(lines)}, and its own place cannot be told; "
            "name the scope in the manifest",
            candidates=candidates,
        )
    expected = hunk.new_start + len(hunk.leading)
    line = min(lines, key=lambda found: abs(found - expected))
    detail = f"its result stands at line {line}"
    return Placement(Outcome.ALREADY, None, line, line - expected, detail, candidates)


def _elsewhere(scope: str, hunk: Hunk, target: Target, spots: list[int]) -> Placement:
    if target.scopes is None:
        return Placement(Outcome.CONFLICT, detail=f"belongs in {scope}; {no_scopes(target)}")
    firsts = [scope_line(hunk.undoes or hunk, target.line_of(spot)) for spot in spots]
    names = sorted({target.scope_at(first) or "?" for first in firsts})
    known = [found.name for found in target.scopes]
    there = "" if scope in known else f", which is not there ({nearest(scope, known)})"
    lines = [_change_line(hunk, target, spot) for spot in spots]
    return Placement(
        Outcome.CONFLICT,
        detail=f"belongs in {scope}{there}; its lines stand only in {listed(names)} "
        f"at {listed(lines)}",
        candidates=tuple(lines),
    )


def _conflict(hunk: Hunk, target: Target, scope: str | None, spots: list[int]) -> Placement:
    """A conflict that says which line is missing and where the text looks most like the hunk's."""
    if scope and spots:
        return _elsewhere(scope, hunk, target, spots)
    if not hunk.leading and not hunk.trailing:
        return Placement(Outcome.CONFLICT, detail="has no context, so it fits only a whole file")
    ends = ["CRLF" if b"\r\n" in text else "LF" for text in (target.text, hunk.before)]
    if ends[0] != ends[1]:
        detail = f"the target has {ends[0]} line endings and the patch has {ends[1]}"
        return Placement(Outcome.CONFLICT, detail=detail)
    expected = hunk.before.split(b"\n")
    there = {line.rstrip(b"\n") for line in target.lines}
    missing = next((line for line in expected if line and line not in there), None)
    found = closest(hunk, target)
    total = len([text for text in expected if text.strip()])
    near = f"; closest at line {found[0]} ({found[1]} of {total} lines)" if found else ""
    if missing is None:
        detail = f"its lines are there, but nowhere together{near}"
    else:
        detail = f"the target has no line {_shown(missing)}{near}"
    return Placement(Outcome.CONFLICT, detail=detail, candidates=found[:1] if found else ())


def closest(hunk: Hunk, target: Target) -> tuple[int, int] | None:
    """The line where most of the hunk's own lines vote it should start, and how many do.

    Of several the one nearest to where the patch has it; None where no line is alike.
    """
    places: dict[bytes, list[int]] = {}
    for number, line in enumerate(target.lines, 1):
        if line.strip():
            places.setdefault(line, []).append(number)
    votes: dict[int, int] = {}
    for index, line in enumerate(split_keeping_ends(hunk.before)):
        for number in places.get(line, ())[:_VOTES]:
            votes[number - index] = votes.get(number - index, 0) + 1
    if not votes:
        return None
    start = max(votes, key=lambda at: (votes[at], -abs(at - hunk.old_start)))
    return max(1, start), votes[start]


def _shown(line: bytes) -> str:
    text = decode(line).strip()
    return repr(text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "...")


def listed(items: Sequence[object]) -> str:
    more = f" and {len(items) - _LISTED} more" if len(items) > _LISTED else ""
    return ", ".join(map(str, items[:_LISTED])) + more


def no_scopes(target: Target) -> str:
    return f"{target.path} has no Python scopes (another language, or it does not parse)"
