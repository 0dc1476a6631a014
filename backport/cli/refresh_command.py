"""`backport refresh`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option, repo_option, target_option

if TYPE_CHECKING:
    from backport.checkout import Checkout
    from backport.core.manifests import Manifest
    from backport.library import Library
    from backport.report.taking import Refreshed
    from backport.workflows.refresh import Refresh


@click.command("refresh")
@target_option(required=True)
@click.option("--branch", metavar="NAME", help="The amended branch [the target's].")
@click.option(
    "--into",
    type=click.Choice(["patch", "manifest"]),
    help="Where the change goes [asked for on a terminal].",
)
@click.option("--reason", metavar="TEXT", help="Why this target differs, for --into manifest.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@repo_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON; asks nothing.")
def command(
    target: str,
    branch: str | None,
    into: str | None,
    reason: str | None,
    dry_run: bool,
    repo: str | None,
    root: str | None,
    as_json: bool,
) -> int:
    """Take what a person changed on a target's branch back into the library.

    With --into patch the stack's patches change, on every target; with --into manifest
    this target alone gets entries that say what differs. Nothing is written unless
    applying again gives the very trees of the branch. Only files are taken back: a
    message that was changed is told (exit 1), with the files that it is made of.
    """
    from backport.cli.screen import progress
    from backport.library import find_root, load
    from backport.report.taking import refreshed_json, refreshed_text
    from backport.workflows.refresh import find
    from backport.workflows.repositories import choose

    library = load(find_root(root))
    manifest = library.manifest(target)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    places = {"--repo": repo, "--root": root}
    with repository:
        found = find(library, manifest, repository, branch or manifest.branch)
        told = _told(found, manifest)._replace(uncommitted=_uncommitted(repository, found))
        if found.amendments:
            goes = into or _asked(told, as_json)
            new = _taken(library, manifest, repository, found, goes, reason, as_json)
            told = told._replace(into=goes, notes=tuple(found.lost), dry_run=dry_run)
            told = told._replace(made=tuple(found.made))
            told = told if dry_run else _write(repository, found, new, told, places)
    click.echo(refreshed_json(told) if as_json else refreshed_text(told), nl=False)
    return 1 if told.notes or told.reworded else 0


def _told(found: Refresh, manifest: Manifest) -> Refreshed:
    from backport.report.taking import Amended, Refreshed

    amended = (
        Amended(each.stack.name, tuple(file.path for file in each.changed), each.foreign)
        for each in found.amendments
    )
    return Refreshed(manifest.name, found.branch, tuple(amended), reworded=found.reworded)


def _uncommitted(checkout: Checkout, found: Refresh) -> tuple[str, ...]:
    from backport.workflows.refresh import uncommitted

    return tuple(uncommitted(checkout, found.branch))


def _taken(
    library: Library,
    manifest: Manifest,
    repository: Checkout,
    found: Refresh,
    into: str,
    reason: str | None,
    as_json: bool,
) -> Library:
    """The library with the change in it, which is proved to give the branch's trees."""
    from backport.workflows import refresh

    if into == "patch":
        from backport.workflows.refresh_patches import into_patches, worse_elsewhere

        stacks = into_patches(library, manifest, repository, found)
        found.lost += worse_elsewhere(library, stacks, manifest, repository)
    else:
        from backport.workflows.refresh_manifest import into_manifest

        why = reason or _asked_why(as_json)
        found.made = into_manifest(library, manifest, repository, found, why)
    new = refresh.renewed(library, manifest, found)
    refresh.prove(new, manifest, found)
    return new


def _write(
    checkout: Checkout,
    found: Refresh,
    library: Library,
    told: Refreshed,
    places: dict[str, str | None],
) -> Refreshed:
    from backport.workflows import refresh
    from backport.workflows.memory import remember
    from backport.writing import write_files

    before = [path for path in found.files if (library.root / path).exists()]
    paths = write_files(library.root, found.files)
    paths += remember(library, library.manifests[told.target], found.base)
    names = [str(path.relative_to(library.root)) for path in paths]
    there = [(library.root / name).exists() for name in names]
    return told._replace(
        next=refresh.next_command(checkout, library.manifests[told.target], found, places),
        written=tuple(name for name, exists in zip(names, there, strict=True) if exists),
        deleted=tuple(name for name in before if not (library.root / name).exists()),
    )


def _asked(told: Refreshed, as_json: bool) -> str:
    """Where the change goes, asked on a terminal; raises BadInput elsewhere."""
    from backport.core.display import visible
    from backport.errors import BadInput
    from backport.report.taking import amended_lines

    if as_json or not sys.stdin.isatty():
        raise BadInput("say where the change goes: --into patch (every target) or --into manifest")
    click.echo(visible("\n".join(amended_lines(told.amended))), err=True)
    answer: str = click.prompt(
        "into the stack's patches (every target) or this target's manifest?",
        type=click.Choice(["patch", "manifest"]),
    )
    return answer


def _asked_why(as_json: bool) -> str:
    from backport.errors import BadInput

    if as_json or not sys.stdin.isatty():
        raise BadInput("say with --reason why this target differs")
    answer: str = click.prompt("why does this target differ?")
    return answer
