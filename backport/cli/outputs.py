"""Write the outputs that were asked for, and print what has no file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backport.core.reports import Report
    from backport.workflows.outputs import Out


def tell(report: Report, outs: Sequence[Out], as_json: bool, quiet: bool, verbose: bool) -> int:
    """Write and print the report; gives the exit code. A printed format replaces the plain text."""
    from backport.cli.screen import show_report
    from backport.workflows.outputs import write_outs

    printed = write_outs(outs, report)
    for text in printed:
        click.echo(text, nl=False)
    if as_json or not printed:
        show_report(report, as_json, quiet, verbose)
    return report.exit_code
