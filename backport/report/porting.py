"""What carrying a manifest to another release came to, for a person and for a machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from backport.core.display import counted, visible
from backport.core.manifest_writing import entry_lines
from backport.core.manifests import Manifest, Skip
from backport.core.outcomes import Outcome, StackResult
from backport.core.porting import Entry, Ported, Undecided, entry_of
from backport.core.reports import Offer, TargetReport
from backport.report.machine import check_json, hunk_json, offer_json
from backport.report.plain import check_lines, offer_lines, paste_block, proposal_lines


class Told(NamedTuple):
    """All that a report on a porting shows."""

    old: Manifest
    ported: Ported
    offers: Mapping[str, tuple[Offer, ...]]
    report: TargetReport | None
    did: str


def porting_text(told: Told) -> str:
    """A line a stack, then the entries that went, those that were made, and what is to decide."""
    ported = told.ported
    left = counted(len(ported.undecided), "hunk")
    lines = [f"{told.old.name} -> {ported.manifest.name} ({left} to decide)"]
    lines += [f"  {result.stack}: {_stack(result)}" for result in ported.results]
    lines += [f"  kept: {counted(len(ported.kept), 'entry', 'entries')}"] if ported.kept else []
    lines += [f"  gone: {_name(gone.entry)}: {gone.why}" for gone in ported.gone]
    for entry in ported.made:
        lines += [f"  made: {_name(entry)}, to be read:", *_indented(entry_lines(entry), 4)]
    for item in ported.undecided:
        lines += _undecided(item, told.offers.get(str(item.hunk.id), ()), ported.manifest.name)
    for stack, evidence in ported.taken.items():
        lines.append(f"  {stack}: perhaps upstream took it in another form; if so:")
        lines += _indented(entry_lines(Skip("", (evidence,), "", stack)), 4)
    if told.report:
        lines += [f"  {line}" for line in check_lines(told.report.checks, verbose=False)]
    return visible("\n".join([*lines, f"  {told.did}"])) + "\n"


def _indented(lines: Sequence[str], by: int) -> list[str]:
    return [f"{' ' * by}{line}" for line in lines]


def _stack(result: StackResult) -> str:
    if result.reason:
        return f"{result.outcome}: {result.reason}"
    counts = Counter(hunk.outcome for hunk in result.hunks)
    listed = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
    return f"{result.outcome}: {listed}"


def _name(entry: Entry) -> str:
    where = f"{entry.source}: " if entry.source else ""
    return f"{where}{type(entry).__name__.lower()} {entry_of(entry)}"


def _undecided(item: Undecided, offers: Sequence[Offer], target: str) -> Iterator[str]:
    hunk = item.hunk
    yield f"  to decide: {hunk.source or hunk.path}: {hunk.path}: {hunk.detail} [{hunk.outcome}]"
    yield from _indented(paste_block(hunk), 4)
    if item.before:
        yield "    the old manifest has, and it does not hold or fit here any more:"
        yield from _indented(entry_lines(item.before), 6)
    yield from _indented(offer_lines(offers, hunk, target), 4)
    yield from _indented(proposal_lines(hunk, target), 4)


def porting_json(told: Told) -> str:
    """The same for a machine."""
    ported = told.ported
    content: dict[str, Any] = {
        "schema": 1,
        "from": told.old.name,
        "to": ported.manifest.name,
        "did": told.did,
        "stacks": [_stack_json(result) for result in ported.results],
        "kept": [_entry_json(entry) for entry in ported.kept],
        "made": [_entry_json(entry) for entry in ported.made],
        "gone": [{**_entry_json(gone.entry), "why": gone.why} for gone in ported.gone],
        "undecided": [
            {
                **hunk_json(item.hunk),
                "before": _entry_json(item.before) if item.before else None,
                "paste": paste_block(item.hunk),
                "offers": [offer_json(o) for o in told.offers.get(str(item.hunk.id), ())],
            }
            for item in ported.undecided
        ],
        "taken": {stack: str(evidence) for stack, evidence in ported.taken.items()},
        "verdict": str(told.report.verdict) if told.report else None,
        "checks": [check_json(check) for check in told.report.checks] if told.report else [],
    }
    return json.dumps(content, indent=1) + "\n"


def _stack_json(result: StackResult) -> dict[str, Any]:
    counts = Counter(str(hunk.outcome) for hunk in result.hunks)
    return {
        "name": result.stack,
        "outcome": str(result.outcome),
        "reason": result.reason or None,
        "counts": dict(sorted(counts.items())),
        "hunks": [hunk_json(hunk) for hunk in result.hunks],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    return {
        "verb": type(entry).__name__.lower(),
        "of": entry_of(entry),
        "source": entry.source or None,
        "lines": entry_lines(entry),
    }
