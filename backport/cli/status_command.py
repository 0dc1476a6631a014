"""`backport status`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, repo_option


@click.command("status")
@click.option(
    "--since",
    metavar="REF",
    help="Only what changed and what still fails, a line each: since a report's file, a revision "
    "of the library, or `last`, the last check.",
)
@repo_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(since: str | None, repo: str | None, root: str | None, as_json: bool) -> int:
    """Show the matrix of stacks and targets, and what changed since the last check.

    Each cell is exact, moved, merged, adapted (as the manifest says), skipped, already (the
    release has it), conflict, or - where the target does not list the stack. What is known
    of an earlier check is not worked out again.
    """
    from backport.cli.screen import progress
    from backport.core.display import visible
    from backport.library import find_root, load_all
    from backport.report.changes import changes
    from backport.report.status import status_json, status_text
    from backport.workflows import status
    from backport.workflows.history import last_result, record
    from backport.workflows.repositories import choose_reader

    library, manifests = load_all(find_root(root))
    with progress() as update:
        reader = choose_reader(repo, library.sound(manifests), update)
    with reader:
        last = last_result(reader.common_dir)
        before = status.result_of(since, library, reader) if since else last
        report = status.now(library, reader, last)
        record(reader.common_dir, report)
    found = changes(before, report) if before else []
    render = status_json if as_json else status_text
    click.echo(visible(render(list(library.stacks), report, found, since, last is None)), nl=False)
    return report.exit_code
