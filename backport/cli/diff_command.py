"""`backport diff`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, repo_option


@click.command("diff")
@click.argument("one", metavar="TARGET_A")
@click.argument("other", metavar="TARGET_B")
@click.option(
    "--stack",
    "stacks",
    multiple=True,
    metavar="STACK",
    help="This stack alone; may be given several times.",
)
@repo_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    one: str, other: str, stacks: tuple[str, ...], repo: str | None, root: str | None, as_json: bool
) -> int:
    """Show how the same stacks differ on two targets: hunks, and the lines they change.

    Places and context are left out: they differ between any two releases.
    """
    from backport.cli.screen import progress
    from backport.library import find_root, load_for
    from backport.report.contrasting import contrasts_json, contrasts_text
    from backport.workflows.contrasting import contrasts
    from backport.workflows.repositories import choose

    library, (first, second) = load_for(
        find_root(root), lambda found: [found.manifest(one), found.manifest(other)]
    )
    with progress() as update:
        repository = choose(repo, [first, second], update)
    with repository:
        found = contrasts(library, (first, second), repository, stacks)
    render = contrasts_json if as_json else contrasts_text
    click.echo(render((first.name, second.name), found), nl=False)
    return 0
