"""`backport import`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option

if TYPE_CHECKING:
    from pathlib import Path

    from backport.core.stacks import Stack
    from backport.library import Library
    from backport.report.taking import Imported
    from backport.workflows.importing import Plan
    from backport.workflows.sourcing import Source


@click.command("import")
@click.argument("source", metavar="SOURCE", required=False, default="")
@click.option("--stack", required=True, metavar="NAME", help="The stack to write, new or not.")
@click.option("--repo", metavar="PATH", help="The repository of the commits, or of the home.")
@click.option(
    "--home",
    metavar="RELEASE",
    help="The release that the patches are written against: v0.28.0.",
)
@click.option("--pull", type=click.IntRange(1), metavar="N", help="The upstream pull request.")
@click.option("--upstream", metavar="OWNER/NAME", help="Its project [vllm-project/vllm].")
@click.option("--first-parent", is_flag=True, help="Take a merge as what it brought.")
@click.option("--skip-empty", is_flag=True, help="Leave commits and mails without changes out.")
@click.option("--unplaced", is_flag=True, help="Also write patches that have no place on the home.")
@click.option("--update", is_flag=True, help="Import again; tell what moved, and what still holds.")
@click.option(
    "--force",
    is_flag=True,
    help="Write the patches of an existing stack again, whatever was changed in them here.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing.")
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
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
    as_json: bool,
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
    from backport.library import find_root, read
    from backport.workflows.importing import Wanted, plan
    from backport.workflows.incoming import Wish
    from backport.workflows.sourcing import gather, known_as, repository_of, to_record
    from backport.workflows.updating import refuse_another

    folder = find_root(root)
    library, _ = read(folder)
    known = library.stack(stack) if update else None
    wanted = _source(folder, source, known)
    home = home or (known.home if known else "")
    origin = Upstream(upstream or ("vllm-project/vllm" if pull else ""), pull)
    with progress() as told:
        checkout = repository_of(wanted, repo, home, told)
    with checkout:
        home = known_as(checkout, home)
        incoming = gather(wanted, checkout, home, Wish(first_parent, skip_empty))
        made = plan(library, checkout, incoming, Wanted(stack, home, origin, unplaced))
    made = made.recorded_as(to_record(folder, wanted))
    if not source and not force:
        refuse_another(library, made.stack)
    return _tell(_written(library, folder, made, update, force, dry_run), as_json)


def _source(folder: Path, words: str, known: Stack | None) -> Source:
    """What a person named, else what the stack says that it came from."""
    from backport.errors import BadInput
    from backport.workflows.sourcing import given, recorded

    if words:
        return given(words)
    if known is None:
        raise BadInput("say what to import: START..END, a branch, a file, a folder, or -")
    return recorded(folder, known)


def _tell(done: Imported, as_json: bool) -> int:
    """Print what was imported; the exit status."""
    from backport.report.taking import imported_json, imported_text

    for note in () if as_json else done.notes:
        _note(note)
    click.echo(imported_json(done) if as_json else imported_text(done), nl=False)
    return 0 if all(entry.holds for entry in done.entries) else 1


def _written(
    library: Library, folder: Path, made: Plan, update: bool, force: bool, dry_run: bool
) -> Imported:
    from backport.report.taking import Imported
    from backport.workflows.stack_files import planned, write
    from backport.workflows.updating import compare, write_update

    new = not (folder / "patches" / made.stack.name / "stack.toml").exists()
    done = Imported(made.stack, notes=(*made.notes, *[_to_complete(made)] * new))
    paths: list[Path] = []
    if update:
        found = compare(library, made.stack)
        done = done._replace(revisions=found.revisions, entries=found.entries)
        paths, by_hand = write_update(library, found, dry_run, force)
        done = done._replace(by_hand=by_hand)
    else:
        paths = (planned if dry_run else write)(folder, made.stack, force)
    names = tuple(str(path.relative_to(folder)) for path in paths)
    return done._replace(would_write=names) if dry_run else done._replace(written=names)


def _to_complete(made: Plan) -> str:
    """What the tool chose for a new stack, and what only a person can say."""
    stack = made.stack
    return (
        f"patches/{stack.name}/stack.toml: its home is {stack.home} and its title {stack.title!r}"
        + "; complete `why`" * (stack.why == stack.title)
    )


def _note(text: str) -> None:
    from backport.core.display import visible

    click.echo(f"note: {visible(text)}", err=True)
