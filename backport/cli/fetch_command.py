"""`backport fetch`."""

from __future__ import annotations

import click


@click.command("fetch")
@click.argument("versions", nargs=-1, required=True, metavar="VERSION...")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but problems.")
def command(versions: tuple[str, ...], quiet: bool) -> int:
    """Get the source of vLLM releases, such as 0.28.0, as one git repository.

    Each release archive is downloaded once, checked against its hash, and kept as
    one commit with the release's tag, in ~/.cache/backport or $BACKPORT_CACHE. Prints the
    repository's path; other commands find it by themselves.
    """
    from backport import releases
    from backport.cli.screen import progress

    with progress() as update:
        for version in versions:
            repo = releases.ensure(version, update)
    if not quiet:
        click.echo(repo)
    return 0
