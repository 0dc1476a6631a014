"""`backport apply`."""

from __future__ import annotations

import click

from backport.cli.options import (
    accept_option,
    library_option,
    output_options,
    repo_option,
    target_option,
    verify_options,
)


@click.command("apply")
@target_option(required=True)
@repo_option
@library_option
@accept_option
@verify_options
@click.option(
    "--lock", is_flag=True, help="Also write the lock file that later runs are compared with."
)
@click.option("--checkout", is_flag=True, help="Also check the branch out; the tree must be clean.")
@click.option(
    "--force", is_flag=True, help="Replace a branch with commits, changes or words of other people."
)
@click.option("--dry-run", is_flag=True, help="Write nothing, like check.")
@output_options
def command(
    target: str,
    repo: str | None,
    root: str | None,
    accepted: tuple[str, ...],
    no_audit: bool,
    no_parity: bool,
    lock: bool,
    checkout: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Apply a target's stacks: one squashed commit each, on the target's branch.

    The work tree is not touched; the branch moves at the very end, and only if
    everything is clean. Running again gives the same commits.
    """
    from backport.cli.screen import progress, show_report, take
    from backport.core.reports import Report
    from backport.errors import BadInput
    from backport.library import find_root, load_target
    from backport.workflows.apply import Options, run_target
    from backport.workflows.repositories import choose

    if dry_run and accepted:
        raise BadInput("--accept writes into the manifest and --dry-run nothing; give one")
    library, manifest = load_target(find_root(root), target)
    options = Options(not dry_run, not no_audit, not no_parity, checkout, force, lock, as_json)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    with repository:
        report = Report((run_target(library, manifest, repository, options),))
    if as_json:
        from backport.workflows.checking import heads

        report = report._replace(stacks=heads(library.stacks))
    show_report(report, as_json, quiet, verbose)
    if accepted:
        take(library, report, accepted)
    return report.exit_code
