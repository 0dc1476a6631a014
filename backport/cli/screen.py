"""How results reach the screen: rich on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from backport.core.display import visible
from backport.core.reports import Report, TargetReport, Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID
    from rich.table import Table

    from backport.library import Library
    from backport.sources import Progress

_COLOURS = {
    Verdict.CLEAN: "green",
    Verdict.CONFLICT: "red",
    Verdict.FAILED: "red",
    Verdict.STALE: "yellow",
    Verdict.ERROR: "red",
}


def show_report(report: Report, as_json: bool, quiet: bool, verbose: bool) -> None:
    """Print a report the way the options ask for."""
    if as_json:
        from backport.report.machine import as_json as rendered

        click.echo(rendered(report), nl=False)
        return
    several = len(report.targets) > 1 and not quiet
    if quiet:
        report = Report(tuple(t for t in report.targets if t.verdict is not Verdict.CLEAN))
    if sys.stdout.isatty():
        _show(report, several, verbose, quiet)
        return
    from backport.report.plain import as_overview, as_text

    text = as_overview(report, verbose) if several else as_text(report, verbose, quiet)
    click.echo(text, nl=False)


def _show(report: Report, several: bool, verbose: bool, quiet: bool) -> None:
    """The same on a terminal; of several targets a clean one takes a line, and the sum ends it."""
    from rich.console import Console
    from rich.text import Text

    from backport.report import plain

    console = Console(highlight=False)
    for target in report.targets:
        if several and not verbose and target.verdict is Verdict.CLEAN:
            line = Text(visible(plain.clean_line(target)), style=_COLOURS[target.verdict])
            console.print(line, soft_wrap=True)
        else:
            _show_target(console, target, verbose, quiet)
    if several:
        console.print(Text(plain.sum_line(report), style="bold"))


def _show_target(console: Console, target: TargetReport, verbose: bool, quiet: bool) -> None:
    from rich.text import Text

    from backport.report import plain

    console.print(Text(visible(plain.headline(target)), style=f"bold {_COLOURS[target.verdict]}"))
    if target.stacks and not quiet:
        console.print(_stack_table(target))
    hidden = {f"  {s.result.stack}: {plain.stack_line(s)}" for s in target.stacks}
    lines = plain.wrong_lines if quiet else plain.target_lines
    for line in lines(target, verbose)[1:]:
        if line not in hidden:
            console.print(Text(visible(line)), soft_wrap=True)


def _stack_table(target: TargetReport) -> Table:
    from rich.table import Table
    from rich.text import Text

    from backport.core.outcomes import Outcome

    shown = [
        outcome
        for outcome in Outcome
        if any(hunk.outcome is outcome for s in target.stacks for hunk in s.result.hunks)
    ]
    table = Table(box=None, pad_edge=False)
    for heading in ("stack", "outcome", *map(str, shown), "commit"):
        table.add_column(heading, justify="left" if heading in ("stack", "outcome") else "right")
    for stack in target.stacks:
        hunks = [hunk.outcome for hunk in stack.result.hunks]
        counts = [str(hunks.count(outcome) or "") for outcome in shown]
        row = [stack.result.stack, str(stack.result.outcome), *counts, (stack.commit or "")[:12]]
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


@contextmanager
def progress() -> Iterator[Progress]:
    """A function `(what, done, total)` for long work: a bar on a terminal, else silence."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def update(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(visible(what), total=total or None)
            bar.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield update


def take(library: Library, report: Report, accepted: Sequence[str]) -> None:
    """Write what a person accepts of the report into the library, and say what that was."""
    from backport.workflows.proposals import accept_proposals

    for line in accept_proposals(library, report, accepted):
        click.echo(f"wrote {line}", err=True)
    click.echo("note: what is told here was found before that; run again", err=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function `(done, total)` for a known number of things: a bar on a terminal, else silence.

    The bar starts with the first call, because it starts a thread and workers are
    forked before that.
    """
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    tasks: list[TaskID] = []

    def update(done: int, total: int) -> None:
        if not tasks:
            tasks.append(bar.add_task(visible(what), total=total))
            bar.start()
        bar.update(tasks[0], completed=done, total=total)

    try:
        yield update
    finally:
        if tasks:
            bar.stop()
