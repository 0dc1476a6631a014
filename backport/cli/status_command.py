"""`backport status`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, repo_option


@click.command("status")
@repo_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(repo: str | None, root: str | None, as_json: bool) -> int:
    """Show the matrix of stacks and targets: exact, moved, adapted, skipped, already, conflict."""
    from backport.cli.screen import progress
    from backport.core.display import visible
    from backport.core.reports import Report
    from backport.library import find_root, load
    from backport.report.matrix import matrix_json, matrix_text
    from backport.workflows.apply import Options, check_targets
    from backport.workflows.repositories import choose

    library = load(find_root(root))
    manifests = list(library.manifests.values())
    options = Options(write=False, audit=False, parity=False)
    with progress() as update:
        repository = choose(repo, manifests, update)
    with repository:
        reports = check_targets(library, manifests, repository, options, lambda name: None)
    rendered = matrix_json if as_json else matrix_text
    click.echo(visible(rendered(list(library.stacks), reports)), nl=False)
    return Report(tuple(reports)).exit_code
