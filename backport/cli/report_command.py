"""`backport report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option, output_options

if TYPE_CHECKING:
    from backport.core.reports import Report


@click.group("report")
def command() -> None:
    """Work with reports that `backport check --out json=FILE` wrote."""


@command.command("merge")
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--out", "outs", multiple=True, metavar="FORMAT[=PATH]", help="As for `backport check`."
)
@click.option(
    "--complete",
    is_flag=True,
    help="Every stack of every target of the library must be told; what is missing fails.",
)
@library_option
@output_options
def merge(
    files: tuple[str, ...],
    outs: tuple[str, ...],
    complete: bool,
    root: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Join the reports of shards into one, and tell it.

    A FILE is what `backport check --out json=FILE` wrote. The exit status is that of one
    `check` of everything.
    """
    from backport.cli.outputs import tell
    from backport.library import find_root, load
    from backport.report.merging import merged
    from backport.workflows.outputs import parse_out
    from backport.workflows.pipelines import expected

    wanted = [parse_out(word) for word in outs]
    reports = [_read(file) for file in files]
    pairs = expected(list(load(find_root(root)).manifests.values())) if complete else ()
    report = merged(reports, pairs)
    return tell(report, wanted, as_json, quiet, verbose)


def _read(file: str) -> Report:
    from pathlib import Path

    from backport.errors import BadInput
    from backport.report.reading import NotAReport, parse_report

    try:
        return parse_report(Path(file).read_bytes())
    except NotAReport as error:
        raise BadInput(f"{file}: {error}") from None
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from None
