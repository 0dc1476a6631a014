"""`backport lint`."""

from __future__ import annotations

import json

import click

from backport.cli.options import library_option


@click.command("lint")
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(root: str | None, as_json: bool) -> int:
    """Check every stack, patch and manifest, and tell all problems at once."""
    from backport.core.display import counted, visible
    from backport.library import find_root, read

    library, problems = read(find_root(root), canonical=True)
    if as_json:
        click.echo(json.dumps({"schema": 1, "problems": problems}, indent=1))
    else:
        for problem in problems:
            click.echo(visible(problem), err=True)
        if not problems:
            stacks = counted(len(library.stacks), "stack")
            click.echo(f"{stacks} and {counted(len(library.manifests), 'manifest')}: good")
    return 2 if problems else 0
