"""One stack on two targets, for a person and for a machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from backport.core.contrasting import Contrast
from backport.core.display import visible
from backport.core.outcomes import HunkResult, StackResult
from backport.report.machine import hunk_json


def contrasts_text(names: tuple[str, str], found: Sequence[Contrast]) -> str:
    """Each stack's outcomes, then the hunks that differ and the lines that do."""
    lines = [line for item in found for line in _stack(names, item)]
    return visible("\n".join(lines)) + "\n"


def _stack(names: tuple[str, str], item: Contrast) -> Iterator[str]:
    if item.same:
        yield f"{item.stack}: the same on both ({_outcome(item.one)})"
        return
    yield f"{item.stack}: {_outcome(item.one)} on {names[0]}, {_outcome(item.other)} on {names[1]}"
    for sides in item.hunks:
        yield f"  {sides.hunk}"
        yield f"    {names[0]}: {_hunk(sides.one)}"
        yield f"    {names[1]}: {_hunk(sides.other)}"
    yield from (f"  {line}" for line in item.lines)


def _outcome(result: StackResult | None) -> str:
    if result is None:
        return "not listed"
    return f"{result.outcome} ({result.reason})" if result.reason else str(result.outcome)


def _hunk(hunk: HunkResult | None) -> str:
    if hunk is None:
        return "not tried"
    place = f" at line {hunk.line}" if hunk.line else ""
    why = hunk.reason or hunk.detail
    return f"{hunk.outcome}{place}{f': {why}' if why else ''}"


def contrasts_json(names: tuple[str, str], found: Sequence[Contrast]) -> str:
    """The same for a machine."""
    content = {"schema": 1, "targets": list(names), "stacks": [_values(item) for item in found]}
    return json.dumps(content, indent=1) + "\n"


def _values(item: Contrast) -> dict[str, Any]:
    return {
        "name": item.stack,
        "same": item.same,
        "outcomes": [str(side.outcome) if side else None for side in (item.one, item.other)],
        "hunks": [
            {
                "id": sides.hunk,
                "sides": [hunk_json(h) if h else None for h in (sides.one, sides.other)],
            }
            for sides in item.hunks
        ],
        "lines": list(item.lines),
    }
