"""`backport check`."""

from __future__ import annotations

import click

from backport.cli.options import (
    accept_option,
    library_option,
    output_options,
    repo_option,
    verify_options,
)


@click.command("check")
@click.option(
    "--target",
    "--onto",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="A manifest, or a glob such as 'moreh/*'; may be given several times.",
)
@click.option("--all", "every", is_flag=True, help="Every manifest of the library.")
@click.option(
    "--stack",
    "stacks",
    multiple=True,
    metavar="STACK",
    help="Report this stack alone; may be given several times.",
)
@click.option(
    "--out",
    "outs",
    multiple=True,
    metavar="FORMAT[=PATH]",
    help="Also write json, junit, sarif, github, buildkite, markdown, html or text; repeatable.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes [one a core].")
@click.option("--no-cache", is_flag=True, help="Work everything out again; keep nothing.")
@repo_option
@library_option
@accept_option
@verify_options
@output_options
def command(
    targets: tuple[str, ...],
    every: bool,
    stacks: tuple[str, ...],
    outs: tuple[str, ...],
    jobs: int | None,
    no_cache: bool,
    repo: str | None,
    root: str | None,
    accepted: tuple[str, ...],
    no_audit: bool,
    no_parity: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
) -> int:
    """Find out what apply would give for one, several or all targets; write nothing to git.

    Give --target or --all. Every target is told, even when one fails: of several, a clean
    one in a line (-v tells all of it), and their sum at the end. Results are kept beside
    the repository and used again while nothing that they depend on has changed.
    """
    from backport.cache import ResultCache
    from backport.cli.outputs import tell
    from backport.cli.screen import counting, progress, take
    from backport.library import find_root, load_each
    from backport.workflows.checking import select
    from backport.workflows.history import check_and_record
    from backport.workflows.options import Options
    from backport.workflows.outputs import parse_out
    from backport.workflows.repositories import choose_reader

    wanted = [parse_out(word) for word in outs]
    library, manifests = load_each(find_root(root), lambda found: select(found, targets, every))
    shown = [library.stack(name).name for name in stacks]
    options = Options(write=False, audit=not no_audit, parity=not no_parity)
    with progress() as update:
        reader = choose_reader(repo, library.sound(manifests), update)
    with reader, counting("targets") as told:
        cache = None if no_cache else ResultCache.beside(reader.common_dir)
        report = check_and_record(library, manifests, reader, options, cache, jobs, told)
    if accepted:
        take(library, report, accepted)
    if shown:
        from backport.report.merging import only

        report = only(report, shown)
    return tell(report, wanted, as_json, quiet, verbose)
