"""`backport parity`."""

from __future__ import annotations

import click

from backport.cli.options import library_option, repo_option, target_option


@click.command("parity")
@target_option(required=False)
@click.option("--stack", metavar="NAME", help="This stack's cases alone.")
@click.option(
    "--device",
    type=click.Choice(["cpu", "cuda", "rocm"]),
    default="cpu",
    show_default=True,
    help="Where the tensors lie; rocm and cuda are both torch's cuda device.",
)
@click.option(
    "--boot",
    is_flag=True,
    help="Also run layers and carried tests in the tree, as gfx950 and gfx942 (extra `intree`).",
)
@click.option("--bench", is_flag=True, help="Time the portable kernels on this GPU instead.")
@click.option("--plot", metavar="FILE", help="With --bench: write the speed-ups as SVG.")
@repo_option
@library_option
@click.option("-v", "--verbose", is_flag=True, help="Tell every run and claim.")
@click.option("--as-check", is_flag=True, hidden=True, help="Print one check as JSON, for apply.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    target: str | None,
    stack: str | None,
    device: str,
    boot: bool,
    bench: bool,
    plot: str | None,
    repo: str | None,
    root: str | None,
    verbose: bool,
    as_check: bool,
    as_json: bool,
) -> int:
    """Compare the fused paths of a target's patched tree with the paths they replace.

    Exit status: 0 passed, 1 failed, 3 not run. AMD hardware is never part of it.
    """
    import json

    if bench:
        from backport.parity.bench import main as measure

        words = ["--json", "/dev/stdout"] if as_json else []
        return measure([*words, *(["--plot", plot] if plot else [])])
    from backport.cli.screen import progress
    from backport.core.display import visible
    from backport.errors import BadInput
    from backport.library import find_root, load_target
    from backport.parity.report import as_content, as_lines
    from backport.workflows.parity import EXIT, parity_target
    from backport.workflows.repositories import choose

    if target is None:
        raise BadInput("give --target TARGET, or --bench to time the portable kernels")
    library, manifest = load_target(find_root(root), target)
    with progress() as update:
        repository = choose(repo, [manifest], update)
    with repository:
        result = parity_target(library, manifest, repository, stack, device, boot)
    if as_check:
        from backport.parity import as_check as summed
        from backport.report.machine import check_json

        click.echo(json.dumps(check_json(summed(result))))
    elif as_json:
        click.echo(json.dumps(as_content(manifest.name, result), indent=1))
    else:
        for line in as_lines(manifest.name, result, verbose):
            click.echo(visible(line))
    return EXIT[result.status]
