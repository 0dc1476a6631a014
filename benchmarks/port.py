"""What `backport port` makes of each stack on every other release, against the manifests by hand.

Each stack starts from its home's manifest and goes to every other release that the
library has one for, on top of the stacks before it there. `already` are hunks that port
leaves out because their result stands on the release, `proposed` those without a place for
which a merge is shown, `conflict` those with neither. Of the hunks that port places
itself, `agree` are those that come to the same line or files once what port leaves to a
person is decided as the manifest by hand decides it, and `otherwise by hand` those that
fit, but that a person dropped, skipped with their whole stack or gave other text, for a
reason that no text shows.
`files` says whether the files are the same byte for byte then. Started with
`python -m benchmarks.port`.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import click

from backport import releases
from backport.checkout import Checkout
from backport.core.applying import apply_stack
from backport.core.evaluating import evaluate
from backport.core.manifests import Drop, Manifest, Replace, Skip
from backport.core.outcomes import HunkResult, Outcome, StackOutcome, StackResult
from backport.core.porting import Ported, port
from backport.core.preimages import Sources
from backport.core.stacks import Stack
from backport.core.trees import Overlay
from backport.library import Library, load
from backport.workflows.preimages import preimages

PROJECT = Path(__file__).resolve().parent.parent
SHOWN = tuple(str(outcome) for outcome in Outcome if not outcome.failed)


class Row(NamedTuple):
    """One stack on one release: hunks by outcome, and how what was placed compares by hand."""

    stack: str
    release: str
    outcome: str
    counts: Counter[str]
    agree: int
    otherwise: int
    differ: tuple[str, ...]
    files: str


@click.command()
@click.option("--repo", type=click.Path(path_type=Path), help="A clone with the tags [the cache].")
@click.option("-v", "--verbose", is_flag=True, help="Name every hunk that differs.")
def main(repo: Path | None, verbose: bool) -> None:
    library = load(PROJECT)
    by_base = {manifest.base: manifest for manifest in library.manifests.values()}
    if repo is None:
        for base in by_base:
            repo = releases.ensure(base, lambda what, done, total: None)
    assert repo is not None  # noqa: S101 - the library has manifests
    started = time.perf_counter()
    with Checkout.open(repo) as checkout:
        rows = [
            row
            for manifest in by_base.values()
            for row in rows_of(library, by_base, manifest, checkout)
        ]
    rows.sort(key=lambda row: (row.stack, row.release))
    click.echo(table(rows, verbose))
    seconds = time.perf_counter() - started
    click.echo(f"\n{len(rows)} ports in {seconds:.1f} s")


def rows_of(
    library: Library, by_base: dict[str, Manifest], by_hand: Manifest, checkout: Checkout
) -> list[Row]:
    """Every stack that is at home elsewhere, ported to one release on top of its own manifest."""
    base = checkout.tree(checkout.base(by_hand.base))
    under = Overlay(base)
    sources = preimages(checkout, library.stacks)
    rows = []
    for name, step in zip(
        by_hand.stacks, evaluate(by_hand, library.stacks, base, sources).steps, strict=True
    ):
        stack = library.stacks[name]
        if stack.home != by_hand.base and stack.home in by_base:
            old = by_base[stack.home]._replace(stacks=(name,))
            new = Manifest(by_hand.name, by_hand.base, "", (name,))
            was = checkout.tree(checkout.base(stack.home))
            here = Overlay(base, dict(under.changes))
            found = port(old, new, library.stacks, here, was, sources)
            completed = _completed(stack, found, by_hand, here, sources)
            rows.append(_row(by_hand.base, found, completed, step.result))
        under.changes.update(step.result.changes)
    return rows


def _completed(
    stack: Stack, found: Ported, by_hand: Manifest, tree: Overlay, sources: Sources
) -> StackResult:
    """The port's result once a person has decided about the rest as the manifest by hand does."""
    (result,) = found.results
    mine = found.manifest.adaptations_of(stack.name)
    theirs = by_hand.adaptations_of(stack.name)
    placed = {str(hunk.id) for hunk in result.hunks if hunk.outcome.placed}
    decided = {
        key: entry
        for key, entry in theirs.items()
        if key not in placed or isinstance(entry, Drop | Replace)
    }
    return apply_stack(stack, {**mine, **decided}, tree, sources)


def _row(release: str, found: Ported, completed: StackResult, by_hand: StackResult) -> Row:
    (result,) = found.results
    hand = {str(hunk.id): hunk for hunk in by_hand.hunks}
    done = {str(hunk.id): hunk for hunk in completed.hunks}
    placed = [str(hunk.id) for hunk in result.hunks if hunk.outcome.placed]
    otherwise = [key for key in placed if not _kept(hand.get(key))]
    same = completed.changes == by_hand.changes
    differ = [  # the line of a merged hunk is that of its region: there the files tell
        f"{key}: {done[key].outcome} {done[key].line}, by hand {_told(hand[key])}"
        for key in placed
        if not same and key not in otherwise and done[key].line != hand[key].line
    ]
    counts = Counter(_shown(hunk) for hunk in result.hunks)
    contained = len([entry for entry in found.made if not isinstance(entry, Skip)])
    counts["already"] += contained
    counts["dropped"] -= contained
    files = "" if by_hand.outcome is StackOutcome.SKIPPED else "same" if same else "differ"
    agree = len(placed) - len(otherwise) - len(differ)
    outcome = str(result.outcome)
    return Row(by_hand.stack, release, outcome, counts, agree, len(otherwise), tuple(differ), files)


def _shown(hunk: HunkResult) -> str:
    if not hunk.outcome.failed:
        return str(hunk.outcome)
    return "proposed" if hunk.proposal else "conflict"


def _kept(hunk: HunkResult | None) -> bool:
    """True where the person who wrote the manifest let the hunk's own text stand."""
    return hunk is not None and hunk.outcome not in (Outcome.DROPPED, Outcome.REPLACED)


def _told(other: HunkResult) -> str:
    return f"{other.outcome} {other.line}"


def table(rows: list[Row], verbose: bool) -> str:
    """The rows and their sum, as a table in Markdown."""
    words = [*SHOWN, "proposed", "conflict"]
    heads = ["stack", "release", "outcome", *words]
    heads += ["agree", "otherwise by hand", "differ", "files"]
    lines = [f"| {' | '.join(heads)} |", f"|{'|'.join(['---'] * len(heads))}|"]
    total = Row(
        "all",
        "",
        "",
        sum((row.counts for row in rows), Counter()),
        sum(row.agree for row in rows),
        sum(row.otherwise for row in rows),
        tuple(text for row in rows for text in row.differ),
        "",
    )
    for row in [*rows, total]:
        cells = [row.stack, row.release, row.outcome, *(str(row.counts[w] or "") for w in words)]
        cells += [str(row.agree), str(row.otherwise or ""), str(len(row.differ) or ""), row.files]
        lines.append(f"| {' | '.join(cells)} |")
        lines += [f"  {text}" for text in row.differ if verbose and row is not total]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
