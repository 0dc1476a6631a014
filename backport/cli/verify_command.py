"""`backport verify`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, output_options, repo_option, target_option


@click.command("verify")
@target_option(required=True)
@click.option("--branch", metavar="NAME", help="The branch to compare [the manifest's].")
@repo_option
@library_option
@output_options
def command(
    target: str,
    branch: str | None,
    repo: str | None,
    root: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Prove that a branch is what applying its stacks gives, commit by commit."""
    from backport.cli.screen import progress, show_report
    from backport.core.reports import Report
    from backport.library import find_root, load_target
    from backport.workflows.compare import verify_branch
    from backport.workflows.repositories import choose

    library, manifest = load_target(find_root(root), target)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    with repository:
        report = Report((verify_branch(library, manifest, repository, branch or manifest.branch),))
    show_report(report, as_json, quiet, verbose)
    return report.exit_code
