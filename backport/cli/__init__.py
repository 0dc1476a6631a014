"""The command line: the only place that prints.

The commands' one-line helps stand here, so that `--help` imports nothing but click.
"""

from __future__ import annotations

import gc
import importlib
import sys

gc.set_threshold(50_000)  # before the imports: collecting what they make costs a tenth of a run

import click  # noqa: E402

from backport import __version__  # noqa: E402
from backport.core.display import visible  # noqa: E402
from backport.errors import BackportError  # noqa: E402

COMMANDS = {
    "fetch": "Get a vLLM release's source as a git repository.",
    "apply": "Apply a target's stacks and leave its branch.",
    "check": "Find out what apply would give; write nothing.",
    "status": "Show the matrix of stacks and targets.",
    "scan": "Find the commits of a history that broke or repaired a stack.",
    "report": "Join the reports of a CI's shards.",
    "ci": "Print a pipeline for GitHub Actions or Buildkite.",
    "show": "Show a stack's hunks and where each one landed.",
    "verify": "Prove that a branch is what applying gives.",
    "lint": "Check every file of the library.",
    "export": "Write a target's squashed commits as an mbox.",
    "parity": "Compare fused paths with the paths they replace.",
    "import": "Write commits into the library as a stack's patches.",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when one is called, not to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"backport.cli.{cmd_name}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="backport")
def cli() -> None:
    """Carry stacks of patches onto vLLM releases, and prove the result.

    Exit status: 0 clean, 1 conflict, failed check or stale entry, 2 bad input,
    3 something around the tool (git, the repository, the network), 130 interrupted.
    """


def main() -> None:
    """Run the command line; every foreseen problem is one line per problem and an exit code."""
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """The exit code of one call of the command line."""
    try:
        code = cli.main(words, prog_name="backport", standalone_mode=False)
    except BackportError as error:
        _tell(str(error))
        return error.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        see = f" (see `{context.command_path} --help`)" if context else ""
        _tell(error.format_message() + see)
        return 2
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("backport: interrupted; nothing was half written", err=True)
        return 130
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _tell(f"{where}{error.strerror or error}")
        return 3
    return code if isinstance(code, int) else 0


def _tell(problems: str) -> None:
    """Print problems to standard error, each on a line of its own."""
    for line in problems.split("\n"):
        click.echo(f"backport: error: {visible(line)}", err=True)
