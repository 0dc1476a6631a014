"""Write one report in every format asked for, and tell a CI what it has a place for."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from backport.core.reports import Report
from backport.core.tables import nearest
from backport.errors import BadInput, EnvironmentProblem
from backport.report.outputs import FORMATS, rendered

if TYPE_CHECKING:
    from backport.report.buildkite import Buildkite
    from backport.workflows.scan import Scan

STDOUT = "-"
SCAN_FORMATS = ("json", "html", "text")


class Out(NamedTuple):
    """A format and the file it goes to; `-` is standard output."""

    format: str
    path: str


def parse_out(word: str) -> Out:
    """What `FORMAT`, `FORMAT=PATH` or `FORMAT=-` asks for; raises BadInput for another format."""
    name, _, path = word.partition("=")
    if name not in FORMATS:
        raise BadInput(f"--out {word}: {name!r} is no format; {nearest(name, FORMATS)}")
    if "=" in word and not path:
        raise BadInput(f"--out {word}: the path after = is empty")
    return Out(name, str(writable(path)) if path and path != STDOUT else STDOUT)


def writable(word: str) -> Path:
    """The file that a person wants written; raises BadInput where it is a folder or in none, or
    something else that could keep the run waiting for ever.

    The folder that it is in may be missing, the one above that may not: a path that was
    mistyped must not become a tree of folders.
    """
    path = Path(word)
    if word.endswith("/") or path.is_dir():
        raise BadInput(f"{word}: is a folder; give the name of a file in it")
    _never_wait(path)
    above = path.parent.parent
    if not path.parent.is_dir() and not above.is_dir():
        raise BadInput(f"{word}: there is no folder {above}; make it with `mkdir -p {above}`")
    return path


def _never_wait(path: Path) -> None:
    """Raises BadInput for a path that could keep the run waiting for ever, as a pipe does."""
    if path.exists() and not (path.is_file() or path.is_char_device() or _is_open(path)):
        raise BadInput(
            f"{path}: is a pipe, socket or device, and no regular file; give the name of a file, "
            "or `>(command)` in a shell"
        )


def _is_open(path: Path) -> bool:
    """True for a pipe that this process was started with, as /dev/stdout and `>(command)` are."""
    if not path.is_fifo():
        return False
    for number in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists the others is closed by now
            if path.samefile(number):
                return True
    return False


def write_outs(
    outs: Sequence[Out], report: Report, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Write every output; what is to be printed comes back.

    Raises EnvironmentProblem where a file cannot be written.
    """
    printed = []
    for out in outs:
        text = _told(rendered(out.format, report), environ)
        if out.path == STDOUT:
            printed.append(text)
        else:
            write_file(Path(out.path), text.encode())
    return printed


def _told(found: object, environ: Mapping[str, str]) -> str:
    """The text to write, once the CI has been told the rest."""
    if isinstance(found, str):
        return found
    from backport.report.buildkite import Buildkite
    from backport.report.github import GitHub

    if isinstance(found, GitHub):
        _append(environ.get("GITHUB_STEP_SUMMARY"), found.summary)
        _append(environ.get("GITHUB_OUTPUT"), found.outputs)
        return found.commands
    if isinstance(found, Buildkite):
        annotate(found, environ)
        return found.log
    return str(found)


def annotate(found: Buildkite, environ: Mapping[str, str]) -> bool:
    """Put the annotation on the build; False where no agent is at hand."""
    from backport.report.buildkite import CONTEXT

    agent = shutil.which("buildkite-agent", path=environ.get("PATH"))
    if not environ.get("BUILDKITE") or agent is None:
        return False
    words = [agent, "annotate", "--style", found.style, "--context", CONTEXT]
    done = subprocess.run(
        words, input=found.annotation.encode(), capture_output=True, check=False, env=dict(environ)
    )
    return done.returncode == 0


def _append(path: str | None, text: str) -> None:
    if path:
        _never_wait(Path(path))
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}") from None


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole, with the folder that it is in; raises EnvironmentProblem where none."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):  # as /dev/stdout is
            _write_in_place(path, data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}") from None


def _write_in_place(path: Path, data: bytes) -> None:
    """Write what is no file of its own; a pipe's reader may leave early, and is not waited for."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK
    try:
        with open(os.open(path, flags, 0o666), "wb") as file:  # noqa: PTH123 - a descriptor
            os.set_blocking(file.fileno(), True)
            file.write(data)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENXIO):
            raise


def parse_scan_out(word: str) -> Out:
    """What `FORMAT=PATH` asks for of a scan; raises BadInput for another format."""
    name, _, path = word.partition("=")
    if name not in SCAN_FORMATS or not path:
        raise BadInput(f"--out {word}: write one of {', '.join(SCAN_FORMATS)}, = and a path")
    return Out(name, str(writable(path)))


def write_scan(outs: Sequence[Out], found: Scan) -> None:
    """Write a scan in every form that was asked for."""
    for out in outs:
        write_file(Path(out.path), _scan_text(out.format, found).encode())


def _scan_text(name: str, found: Scan) -> str:
    from backport.report import timeline
    from backport.report.html.timeline import as_html

    ends = found.start, found.end, found.histories
    if name == "json":
        return timeline.as_json(*ends, found.judged, found.known, found.note)
    return (
        as_html(*ends, found.note) if name == "html" else timeline.as_text(*ends, note=found.note)
    )
