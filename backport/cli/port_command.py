"""`backport port`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, repo_option


@click.command("port")
@click.option("--from", "old", required=True, metavar="TARGET", help="The manifest to start from.")
@click.option(
    "--to", "new", required=True, metavar="RELEASE", help="Where to: 0.29.0, or owner/version."
)
@click.option(
    "--stack",
    "stacks",
    multiple=True,
    metavar="STACK",
    help="This stack alone; may be given several times.",
)
@click.option("--force", is_flag=True, help="Replace the manifest that is there.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@click.option("--no-audit", is_flag=True, help="Leave compiling and the audit out.")
@repo_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    old: str,
    new: str,
    stacks: tuple[str, ...],
    force: bool,
    dry_run: bool,
    no_audit: bool,
    repo: str | None,
    root: str | None,
    as_json: bool,
) -> int:
    """Carry a manifest to another release, which is fetched when absent.

    Entries that still hold are kept and stale ones dropped; what upstream took is left out,
    with the evidence; everything else is placed by the usual rules or reported. The new
    manifest holds what is left to decide as comments. Exit status 0 only where nothing is
    left and every check is good.
    """
    from backport.cli.screen import progress
    from backport.errors import BadInput
    from backport.library import find_root, load_target
    from backport.report.porting import Told, porting_json, porting_text
    from backport.workflows.options import Options
    from backport.workflows.port import be_whole, named, prepare, write
    from backport.workflows.repositories import choose

    library, start = load_target(find_root(root), old)
    for stack in stacks:
        if library.stack(stack).name not in start.stacks:
            raise BadInput(f"{start.name} has no stack {stack}")
    target = named(library, start, new, stacks)
    if target.name == start.name:
        raise BadInput(f"{new} is the target to start from")
    if not dry_run:
        be_whole(target, library.manifests.get(target.name))
    with progress() as update:
        repository = choose(repo, [start, target], update)
    options = Options(write=False, audit=not no_audit, parity=False)
    with repository:
        found = prepare(library, start, target, repository, options)
    did = f"{target.source} is not written (--dry-run)"
    if not dry_run:
        write(library.root, found, force)
        did = f"{target.source} is {'replaced' if found.overwrites else 'written'}"
    told = Told(start, found.ported, found.offers, found.report, did)
    click.echo(porting_json(told) if as_json else porting_text(told), nl=False)
    return 0 if found.done else 1
