"""`backport export`."""

from __future__ import annotations

import sys

import click

from backport.cli.options import library_option, repo_option, target_option


@click.command("export")
@target_option(required=True)
@repo_option
@library_option
@click.option("-o", "--output", metavar="FILE", help="Where to write [standard output].")
def command(target: str, repo: str | None, root: str | None, output: str | None) -> int:
    """Write a target's squashed commits as an mbox.

    `git am FILE` on the base gives the same tree; `git am --keep-non-patch FILE`
    also keeps bracketed tags such as [ROCm] in the subjects, which plain `git am`
    takes away.
    """
    from backport.cli.screen import progress
    from backport.core.reports import Report
    from backport.library import find_root, load_target
    from backport.report.plain import as_text
    from backport.workflows.apply import export_target
    from backport.workflows.outputs import writable, write_file
    from backport.workflows.repositories import choose

    file = writable(output) if output else None
    library, manifest = load_target(find_root(root), target)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    with repository:
        report, mbox = export_target(library, manifest, repository)
    if mbox is None:
        click.echo(as_text(Report((report,))), nl=False, err=True)
        return Report((report,)).exit_code
    if file:
        write_file(file, mbox)
    else:
        sys.stdout.buffer.write(mbox)
    return 0
