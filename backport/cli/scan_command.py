"""`backport scan`."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option, repo_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backport.core.stacks import Stack
    from backport.library import Library
    from backport.workflows.outputs import Out
    from backport.workflows.scan import Scan

ABORT = 128  # what ends `git bisect run`, unlike any smaller number


@click.command("scan")
@click.option(
    "--stack",
    "names",
    multiple=True,
    metavar="STACK",
    help="This stack; may be given several times.",
)
@click.option("--all", "every", is_flag=True, help="Every stack of the library.")
@click.option(
    "--range",
    "span",
    metavar="START..END",
    help="The commits after START up to END, first parents only.",
)
@click.option("--bisect-run", is_flag=True, help="Judge HEAD alone; exit as `git bisect run` asks.")
@click.option(
    "--out",
    "outs",
    multiple=True,
    metavar="FORMAT=PATH",
    help="Also write json, html or text; repeatable.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes [one a core].")
@click.option("--no-cache", is_flag=True, help="Judge every version again; keep nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Tell every hunk.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@repo_option
@library_option
def command(
    names: tuple[str, ...],
    every: bool,
    span: str | None,
    bisect_run: bool,
    outs: tuple[str, ...],
    jobs: int | None,
    no_cache: bool,
    verbose: bool,
    as_json: bool,
    repo: str | None,
    root: str | None,
) -> int:
    """Find the commits of a history that broke or repaired each hunk of a stack.

    Each stack is tried alone, without any manifest, after every commit that touches
    its files. Exit status 1 where a stack is in conflict at the end of the range. With
    --bisect-run: 0 good, 1 in conflict, 125 cannot be told, 128 for a wrong call.
    """
    if bisect_run:
        return _safely(lambda: _bisect(names, every, span, no_cache, repo, root))
    from backport.workflows.outputs import parse_scan_out

    wanted = [parse_scan_out(word) for word in outs]
    found = _scan(names, every, span, jobs, no_cache, repo, root)
    return _show(found, wanted, verbose, as_json)


def _stacks(library: Library, names: tuple[str, ...], every: bool) -> list[Stack]:
    from backport.errors import BadInput

    if every == bool(names):
        raise BadInput("give --stack STACK (several times if need be) or --all")
    return list(library.stacks.values()) if every else [library.stack(name) for name in names]


def _safely(bisect: Callable[[], int]) -> int:
    """Whatever goes wrong around the question must not count as a bad commit."""
    from backport.core.display import visible
    from backport.errors import BackportError

    try:
        return bisect()
    except BackportError as error:
        click.echo(visible(f"backport: error: {error}"), err=True)
    except Exception:  # noqa: BLE001 - Python's own exit status 1 would mean a bad commit
        traceback.print_exc()
    return ABORT


def _bisect(
    names: tuple[str, ...],
    every: bool,
    span: str | None,
    no_cache: bool,
    repo: str | None,
    root: str | None,
) -> int:
    from pathlib import Path

    from backport.cache import ResultCache
    from backport.checkout import Checkout
    from backport.errors import BadInput
    from backport.library import find_root, load
    from backport.workflows.scan import bisect_exit

    if span:
        raise BadInput("--bisect-run judges HEAD; leave --range out")
    stacks = _stacks(load(find_root(root)), names, every)
    with Checkout.open(Path(repo or "."), search=repo is None) as reader:
        cache = None if no_cache else ResultCache.beside(reader.common_dir)
        return bisect_exit(stacks, reader, cache)


def _scan(
    names: tuple[str, ...],
    every: bool,
    span: str | None,
    jobs: int | None,
    no_cache: bool,
    repo: str | None,
    root: str | None,
) -> Scan:
    from backport.cache import ResultCache
    from backport.cli.screen import counting, progress
    from backport.errors import BadInput
    from backport.library import find_root, load
    from backport.workflows.repositories import choose_reader
    from backport.workflows.scan import parse_range, scan

    if not span:
        raise BadInput("give --range START..END")
    start, end = parse_range(span)
    stacks = _stacks(load(find_root(root)), names, every)
    with progress() as update:
        reader = choose_reader(repo, [], update)
    with reader, counting("versions") as told:
        cache = None if no_cache else ResultCache.beside(reader.common_dir)
        return scan(stacks, reader, start, end, cache=cache, jobs=jobs, told=told)


def _show(found: Scan, outs: Sequence[Out], verbose: bool, as_json: bool) -> int:
    from backport.core.scanning import Sight
    from backport.report import timeline
    from backport.workflows.outputs import write_scan

    ends = found.start, found.end, found.histories
    if as_json:
        text = timeline.as_json(*ends, found.judged, found.known, found.note)
    else:
        text = timeline.as_text(*ends, verbose, found.note)
    write_scan(outs, found)
    click.echo(text, nl=False)
    return int(any(history.end is Sight.CONFLICT for history in found.histories))
