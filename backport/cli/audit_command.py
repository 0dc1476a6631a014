"""`backport audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option, output_options, repo_option, target_option

if TYPE_CHECKING:
    from backport.core.reports import TargetReport


@click.command("audit")
@target_option(required=False)
@click.option("--explain", metavar="CODE", help="Tell what a finding's code means, and its mend.")
@repo_option
@library_option
@output_options
def command(
    target: str | None,
    explain: str | None,
    repo: str | None,
    root: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Tell what a target's stacks make worse in its tree: names, calls, overrides, custom ops.

    Findings are lines `path:line:col: error: message [code]`. In a clone that has the
    project's main branch, changes that were reverted there are told too.
    """
    from backport.errors import BadInput

    if explain is not None:
        return _explain(explain)
    if target is None:
        raise BadInput("give --target TARGET, or --explain CODE")
    from backport.cli.screen import progress
    from backport.core.reports import Report
    from backport.library import find_root, load_target
    from backport.workflows.audit import audit_target
    from backport.workflows.repositories import choose

    library, manifest = load_target(find_root(root), target)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    with repository:
        report = Report((audit_target(library, manifest, repository),))
    if as_json:
        from backport.report.machine import as_json as rendered

        click.echo(rendered(report), nl=False)
    else:
        _tell(report.targets[0], quiet, verbose)
    return report.exit_code


def _tell(target: TargetReport, quiet: bool, verbose: bool) -> None:
    from backport.core.display import visible
    from backport.report.plain import audit_lines

    for line in audit_lines(target, quiet, verbose):
        click.echo(visible(line))


def _explain(code: str) -> int:
    from backport.audit.catalogue import RULES
    from backport.core.tables import nearest
    from backport.errors import BadInput

    if code not in RULES:
        raise BadInput(f"no finding has the code {code!r}; {nearest(code, sorted(RULES))}")
    rule = RULES[code]
    click.echo(f"{rule.code}: {rule.text}\nmend: {rule.mend}")
    return 0
