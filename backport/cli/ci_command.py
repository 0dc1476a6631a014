"""`backport ci`."""

from __future__ import annotations

import click

from backport.cli.options import library_option

_DEFAULT_QUEUES = {"github": "self-hosted,gpu", "buildkite": "gpu"}


@click.command("ci")
@click.argument("kind", type=click.Choice(["github", "buildkite"]))
@click.option(
    "--target",
    "--onto",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="This target alone; may be given several times.",
)
@click.option(
    "--gpu-queue",
    "queues",
    multiple=True,
    metavar="QUEUE",
    help="Where parity runs: a Buildkite queue, or labels of a GitHub runner; repeatable.",
)
@click.option("--queue", metavar="QUEUE", help="The Buildkite queue of all other steps.")
@click.option("--repo", metavar="PATH", help="The git repository of vLLM on the CI's machines.")
@library_option
def command(
    kind: str,
    targets: tuple[str, ...],
    queues: tuple[str, ...],
    queue: str | None,
    repo: str | None,
    root: str | None,
) -> int:
    """Print a pipeline that shards every stack and target over the CI's machines.

    github: the outputs `matrix` and `parity`, to append to $GITHUB_OUTPUT.
    buildkite: steps to pipe into `buildkite-agent pipeline upload`.
    """
    from backport.library import find_root, load
    from backport.workflows import pipelines
    from backport.workflows.checking import select

    library = load(find_root(root))
    manifests = select(library, targets, not targets)
    gpus = queues or (_DEFAULT_QUEUES[kind],)
    if kind == "github":
        text = pipelines.github(library, manifests, gpus)
    else:
        text = pipelines.buildkite(library, manifests, gpus, repo, queue)
    click.echo(text, nl=False)
    return 0
