"""`backport import`."""

from __future__ import annotations

import click

from backport.cli.options import library_option


@click.command("import")
@click.argument("commits", metavar="START..END")
@click.option("--stack", required=True, help="The stack to write.")
@click.option("--repo", required=True, metavar="PATH", help="The repository of the commits.")
@click.option("--home", metavar="RELEASE", help="What the patches are written against [START].")
@click.option("--force", is_flag=True, help="Write the patches of an existing stack again.")
@library_option
def command(
    commits: str, stack: str, repo: str, home: str | None, force: bool, root: str | None
) -> int:
    """Write the commits START..END into the library as one stack's canonical patches.

    A commit may name its patch file with a `Patch-name:` trailer. A new stack gets
    a stack.toml to fill in.
    """
    from pathlib import Path

    from backport.checkout import Checkout
    from backport.errors import BadInput
    from backport.library import find_root
    from backport.workflows.importing import read_commits, write_stack

    start, dots, end = commits.partition("..")
    if not dots or not start or not end or end.startswith("."):
        raise BadInput(f"{commits!r} is not a range START..END")
    folder = find_root(root)
    with Checkout.open(Path(repo)) as checkout:
        patches = read_commits(checkout, start, end)
    for path in write_stack(folder, stack, patches, home or start, force):
        click.echo(path.relative_to(folder))
    return 0
