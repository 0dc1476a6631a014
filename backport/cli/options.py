"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Function = Callable[..., Any]


def library_option(function: Function) -> Function:
    """`--root`: where the library is."""
    return click.option(
        "--root",
        metavar="PATH",
        help="The folder that holds patches/ and manifests/ [nearest parent, or BACKPORT_ROOT].",
    )(function)


def repo_option(function: Function) -> Function:
    """`--repo`: the git repository to work on."""
    return click.option(
        "--repo",
        metavar="PATH",
        help="The git repository of vLLM [this checkout, or the cached releases].",
    )(function)


def output_options(function: Function) -> Function:
    """`--json`, `-q` and `-v`."""
    for option in (
        click.option(
            "-v", "--verbose", is_flag=True, help="Tell more: every hunk, finding and mend."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Tell only problems."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        function = option(function)
    return function


def target_option(required: bool) -> Callable[[Function], Function]:
    """`--target`, also spelt `--onto`."""
    return click.option(
        "--target",
        "--onto",
        "target",
        required=required,
        metavar="TARGET",
        help="A manifest: v0.28.0, moreh/v0.28.0 or its path.",
    )


def accept_option(function: Function) -> Function:
    """`--accept`: take a proposal into the manifest."""
    return click.option(
        "--accept",
        "accepted",
        multiple=True,
        metavar="HUNK[=TARGET]",
        help="Write the proposal for a hunk in conflict into the manifest, as a replace entry to "
        "be read and given a reason; with =TARGET, what was decided about it for that target.",
    )(function)


def verify_options(function: Function) -> Function:
    """`--no-audit` and `--no-parity`."""
    for option in (
        click.option("--no-parity", is_flag=True, help="Leave the parity tests out."),
        click.option("--no-audit", is_flag=True, help="Leave compiling and the audit out."),
    ):
        function = option(function)
    return function
