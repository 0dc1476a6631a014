"""`backport show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from backport.cli.options import library_option, repo_option

if TYPE_CHECKING:
    from backport.core.manifests import Manifest
    from backport.library import Library


@click.command("show")
@click.argument("stack")
@click.option(
    "--target",
    "--onto",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="On this target alone; may be given several times.",
)
@repo_option
@library_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    stack: str, targets: tuple[str, ...], repo: str | None, root: str | None, as_json: bool
) -> int:
    """Show a stack: what it is, its patches, and where each hunk landed on every target."""
    from backport.cli.screen import progress
    from backport.core.display import visible
    from backport.library import find_root, load_each
    from backport.report.stacks import stack_json, stack_text
    from backport.workflows.checking import try_target
    from backport.workflows.options import Options
    from backport.workflows.repositories import choose

    library, manifests = load_each(find_root(root), lambda found: _shown(found, stack, targets))
    shown = library.stack(stack)
    reports = []
    if manifests:
        with progress() as update:
            repository = choose(repo, library.sound(manifests), update)
        options = Options(write=False, audit=False, parity=False)
        with repository:
            reports = [try_target(library, m, repository, options) for m in manifests]
    text = stack_json(shown, reports) if as_json else visible(stack_text(shown, reports))
    click.echo(text, nl=False)
    return 2 if any(report.bad_input for report in reports) else 0


def _shown(library: Library, stack: str, targets: tuple[str, ...]) -> list[Manifest]:
    named = [library.manifest(target) for target in targets]
    return named or [m for m in library.manifests.values() if stack in m.stacks]
