"""`backport import`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option

if TYPE_CHECKING:
    from pathlib import Path

    from backport.workflows.updating import Update


@click.command("import")
@click.argument("source", metavar="SOURCE", required=False, default="")
@click.option("--stack", required=True, help="The stack to write.")
@click.option("--repo", metavar="PATH", help="The repository of the commits, or of the home.")
@click.option("--home", metavar="RELEASE", help="What the patches are written against.")
@click.option("--pull", type=click.IntRange(1), metavar="N", help="The upstream pull request.")
@click.option("--upstream", metavar="OWNER/NAME", help="Its project [vllm-project/vllm].")
@click.option("--first-parent", is_flag=True, help="Take a merge as what it brought.")
@click.option("--skip-empty", is_flag=True, help="Leave commits and mails without changes out.")
@click.option("--unplaced", is_flag=True, help="Keep patches that the home does not take.")
@click.option("--update", is_flag=True, help="Import again; tell what moved, and what still holds.")
@click.option("--force", is_flag=True, help="Write the patches of an existing stack again.")
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@library_option
def command(
    source: str,
    stack: str,
    repo: str | None,
    home: str | None,
    pull: int | None,
    upstream: str | None,
    first_parent: bool,
    skip_empty: bool,
    unplaced: bool,
    update: bool,
    force: bool,
    dry_run: bool,
    root: str | None,
) -> int:
    """Write a change into the library as one stack's canonical patches.

    SOURCE is a range START..END or a branch of --repo, a .patch or mbox file, a folder
    with a quilt series, Electron's .patches or numbered patches, or - for standard input.
    With --update it may be left out: the stack knows where it came from.

    A commit may name its patch file with a `Patch-name:` trailer. A new stack gets a
    stack.toml whose `why` is to be completed.
    """
    from backport.cli.screen import progress
    from backport.core.stacks import Upstream
    from backport.errors import BadInput
    from backport.library import find_root, read
    from backport.workflows.importing import Wanted, plan, write
    from backport.workflows.incoming import Wish
    from backport.workflows.sourcing import gather, repository_of
    from backport.workflows.updating import compare

    folder = find_root(root)
    library, _ = read(folder)
    known = library.stack(stack) if update else None
    source = source or (known.upstream.source if known else "")
    if not source:
        raise BadInput("say what to import: START..END, a branch, a file, a folder, or -")
    home = home or (known.home if known else "")
    origin = Upstream(upstream or ("vllm-project/vllm" if pull else ""), pull)
    with progress() as told:
        checkout = repository_of(source, repo, home, told)
    with checkout:
        incoming = gather(source, checkout, home, Wish(first_parent, skip_empty))
        made = plan(library, checkout, incoming, Wanted(stack, home or "", origin, unplaced))
    for note in made.notes:
        click.echo(f"note: {_shown(note)}", err=True)
    if known:
        return _update(folder, compare(library, made.stack), dry_run)
    for path in () if dry_run else write(folder, made.stack, force):
        click.echo(path.relative_to(folder))
    return 0


def _update(folder: Path, update: Update, dry_run: bool) -> int:
    from backport.report.revisions import update_text
    from backport.workflows.updating import write_update

    click.echo(_shown(update_text(update.revisions, update.entries)), nl=False)
    if not dry_run and update.moved:
        written, line = write_update(folder, update)
        for path in written:
            click.echo(path.relative_to(folder))
        if line:
            click.echo(line)
    return 0 if all(entry.holds for entry in update.entries) else 1


def _shown(text: str) -> str:
    from backport.core.display import visible

    return visible(text)
