"""Put a hunk where a manifest says: in a scope, or its added lines beside one."""

from __future__ import annotations

from collections.abc import Callable

from backport.core.manifests import Anchor
from backport.core.outcomes import Outcome
from backport.core.patches import Hunk
from backport.core.paths import encode
from backport.core.placing import first_line, listed, no_scopes, place
from backport.core.scopes import Scope, find_scope
from backport.core.tables import nearest
from backport.core.texts import Edit, Placement, Target


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
    shift = line - (first_line(hunk) + len(hunk.leading))
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
        return Placement(Outcome.CONFLICT, detail=no_scopes(target))
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
            detail=f"{anchor.scope} is defined at lines {listed(lines)}",
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
        detail=f"{anchor.line!r} stands at lines {listed(found)}",
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
