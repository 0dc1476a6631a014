"""`backport refresh`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option, repo_option, target_option

if TYPE_CHECKING:
    from backport.library import Library
    from backport.workflows.refresh import Refresh


@click.command("refresh")
@target_option(required=True)
@click.option("--branch", metavar="NAME", help="The amended branch [the target's].")
@click.option("--into", type=click.Choice(["patch", "manifest"]), help="Where the change goes.")
@click.option("--reason", metavar="TEXT", help="Why this target differs, for --into manifest.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@repo_option
@library_option
def command(
    target: str,
    branch: str | None,
    into: str | None,
    reason: str | None,
    dry_run: bool,
    repo: str | None,
    root: str | None,
) -> int:
    """Take what a person changed on a target's branch back into the library.

    With --into patch the stack's patches change, on every target; with --into manifest
    this target alone gets entries that say what differs. Nothing is written unless
    applying again gives the very trees of the branch.
    """
    from backport.cli.screen import progress
    from backport.library import find_root, load
    from backport.workflows import refresh
    from backport.workflows.repositories import choose

    library = load(find_root(root))
    manifest = library.manifest(target)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    with repository:
        found = refresh.find(library, manifest, repository, branch or manifest.branch)
        _tell(found)
        if not found.amendments:
            return 0
        into = into or _asked()
        if into == "patch":
            from backport.workflows.refresh_patches import into_patches, worse_elsewhere

            stacks = into_patches(library, repository, found)
            found.lost += worse_elsewhere(library, stacks, manifest, repository)
        else:
            from backport.workflows.refresh_manifest import into_manifest

            into_manifest(library, manifest, repository, found, reason or _asked_why())
        new = refresh.renewed(library, manifest, found)
        refresh.prove(new, manifest, found)
        if not dry_run:
            _write(found, new, manifest.name)
    for line in found.lost:
        click.echo(f"note: {line}")
    click.echo(f"applying gives every tree of {found.branch} again")
    if dry_run:
        click.echo("nothing is written (--dry-run)")
    return 1 if found.lost else 0


def _tell(found: Refresh) -> None:
    from backport.core.display import visible

    if not found.amendments:
        click.echo(f"{found.branch} is what applying gives; there is nothing to take back")
    for amendment in found.amendments:
        paths = ", ".join(file.path for file in amendment.changed)
        click.echo(visible(f"{amendment.stack.name}: amended in {paths}"))
        for commit in amendment.foreign:
            click.echo(f"  with {commit[:12]}, which has no Stack: line")


def _write(found: Refresh, library: Library, name: str) -> None:
    from backport.workflows import refresh
    from backport.workflows.memory import remember

    before = {path for path in found.files if (library.root / path).exists()}
    for path in refresh.write(library.root, found.files):
        if path.exists():
            click.echo(path.relative_to(library.root))
        elif str(path.relative_to(library.root)) in before:
            click.echo(f"{path.relative_to(library.root)} (deleted)")
    for path in remember(library, library.manifests[name], found.base):
        click.echo(path.relative_to(library.root))


def _asked() -> str:
    """Where the change goes, asked on a terminal; raises BadInput elsewhere."""
    from backport.errors import BadInput

    if not sys.stdin.isatty():
        raise BadInput("say where the change goes: --into patch (every target) or --into manifest")
    answer: str = click.prompt(
        "into the stack's patches (every target) or this target's manifest?",
        type=click.Choice(["patch", "manifest"]),
    )
    return answer


def _asked_why() -> str:
    from backport.errors import BadInput

    if not sys.stdin.isatty():
        raise BadInput("say with --reason why this target differs")
    answer: str = click.prompt("why does this target differ?")
    return answer
