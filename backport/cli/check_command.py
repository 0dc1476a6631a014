"""`backport check`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, output_options, repo_option, verify_options


@click.command("check")
@click.option(
    "--target",
    "--onto",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="A manifest; may be given several times.",
)
@click.option("--all", "every", is_flag=True, help="Every manifest of the library.")
@repo_option
@library_option
@verify_options
@output_options
def command(
    targets: tuple[str, ...],
    every: bool,
    repo: str | None,
    root: str | None,
    no_audit: bool,
    no_parity: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Find out what apply would give for one, several or all targets; write nothing."""
    from backport.cli.screen import progress, show_report
    from backport.core.reports import Report
    from backport.errors import BadInput
    from backport.library import find_root, load
    from backport.workflows.apply import Options, check_targets
    from backport.workflows.repositories import choose

    if every == bool(targets):
        raise BadInput("give --target TARGET (several times if need be) or --all")
    library = load(find_root(root))
    named = [library.manifest(target) for target in targets]
    manifests = list(library.manifests.values()) if every else named
    if not manifests:
        raise BadInput(f"{library.root}: the library has no manifests")
    options = Options(write=False, audit=not no_audit, parity=not no_parity)
    with progress() as update:
        repository = choose(repo, manifests, update)
    with repository, progress() as update:
        count = len(manifests)
        done: list[str] = []

        def step(name: str) -> None:
            done.append(name)
            update("targets", len(done), count)

        report = Report(tuple(check_targets(library, manifests, repository, options, step)))
    show_report(report, as_json, quiet, verbose)
    return report.exit_code
