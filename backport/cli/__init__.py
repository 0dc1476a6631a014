"""The command line: the only place that prints.

The commands' one-line helps stand here, so that `--help` imports nothing but click.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

gc.set_threshold(50_000)  # before the imports: collecting what they make costs a tenth of a run

import click  # noqa: E402

from backport import __version__  # noqa: E402
from backport.core.display import visible  # noqa: E402
from backport.errors import BackportError, EnvironmentProblem  # noqa: E402

COMMANDS = {
    "fetch": "Get a vLLM release's source as a git repository.",
    "apply": "Apply a target's stacks and leave its branch.",
    "check": "Find out what apply would give; write nothing.",
    "status": "Show the matrix of stacks and targets.",
    "scan": "Find the commits of a history that broke or repaired a stack.",
    "report": "Join the reports of a CI's shards.",
    "ci": "Print a pipeline for GitHub Actions or Buildkite.",
    "audit": "Tell what a target's stacks make worse in its tree.",
    "show": "Show a stack's hunks and where each one landed.",
    "verify": "Prove that a branch is what applying gives.",
    "lint": "Check every file of the library.",
    "export": "Write a target's squashed commits as an mbox.",
    "parity": "Compare fused paths with the paths they replace.",
    "import": "Write a change into the library as a stack's patches.",
    "refresh": "Take a change on a target's branch back into the library.",
    "diff": "Show how the same stacks differ on two targets.",
    "port": "Carry a manifest to another release.",
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

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click itself would print an empty line for it
            raise click.Abort from None
        except BrokenPipeError:  # a child's, since `_Patient` has none; click would be silent
            raise EnvironmentProblem("a process that this one started ended early") from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="backport")
def cli() -> None:
    """Carry stacks of patches onto vLLM releases, and prove the result.

    A stack is a folder of patches/ with an ordered series of patches; a target is a
    manifest of manifests/ that says which stacks go on one release, and what differs
    there. Both together are the library. `backport check --target TARGET` shows what
    would happen, and `backport apply` leaves it as a branch of a vLLM repository.

    Exit status: 0 clean, 1 conflict, failed check or stale entry, 2 bad input,
    3 something around the tool (git, the repository, the network), 130 interrupted.
    """


def main() -> None:
    """Run the command line; every foreseen problem is one line per problem and an exit code."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115 - if closed
    sys.stdout, sys.stderr = _patient(sys.stdout), _patient(sys.stderr)
    code = run(sys.argv[1:])
    if sys.getprofile() or sys.gettrace():  # a profiler that has to write what it saw
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # told by `run`
            stream.flush()
    os._exit(code)  # taking every object apart again costs more than a small stack's placing


class _Patient(io.FileIO):
    """A file whose reader may leave early: what comes after that is thrown away.

    The work is done by then, so its exit status is what counts. A disk that is full
    is told once, and not again when the stream is closed.
    """

    told = False

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if not isinstance(error, BrokenPipeError) and not self.told:
                self.told = True
                raise
            return memoryview(data).nbytes


def _patient(stream: TextIO | None) -> TextIO:
    """The same stream, written to patiently; one that is closed from the start goes nowhere."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - until the end
    buffer = io.BufferedWriter(_Patient(stream.fileno(), "w", closefd=False))
    buffered = stream.line_buffering if isinstance(stream, io.TextIOWrapper) else True
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=buffered)


def run(words: list[str]) -> int:
    """The exit code of one call of the command line."""
    try:
        code = cli.main(words, prog_name="backport", standalone_mode=False)
        sys.stdout.flush()  # while a disk that is full can still be told
    except BackportError as error:
        return _ended(words, error.exit_code, str(error))
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        see = f" (see `{context.command_path} --help`)" if context else ""
        return _ended(words, 2, error.format_message() + see)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _ended(words, 130, "interrupted; nothing was half written", "")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _ended(words, 3, f"{where}{error.strerror or error}")
    return code if isinstance(code, int) else 0


def _ended(words: list[str], code: int, problems: str, kind: str = "error: ") -> int:
    """Print problems to standard error, each on a line of its own, and to a machine as JSON."""
    lines = problems.split("\n")
    for line in lines:
        click.echo(f"backport: {kind}{visible(line)}", err=True)
    if "--json" in words:
        from backport.report.machine import problems_json

        click.echo(problems_json(code, lines), nl=False)
    return code
