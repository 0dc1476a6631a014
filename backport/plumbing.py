"""Git's plumbing as child processes: read objects, store a pack, move a ref.

The user's configuration, hooks, locale and GIT_* variables must not change what
these do, so each child gets a clean environment and no hooks. An exit status is
never the only proof: callers compare object ids.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, cast

from backport.errors import EnvironmentProblem

_KEPT = ("GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH")
_AT_ONCE = 1000  # names in flight; they must fit into a pipe, or both sides would wait
_QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "core.fsmonitor=false"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
)


def clean_environment() -> dict[str, str]:
    """The environment for a git child: no GIT_DIR and friends, English, no prompts."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("GIT_") or key in _KEPT
    }
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
    }


@contextmanager
def sealed() -> Iterator[None]:
    """The clean environment as this process's own, for a library that hands its own on to git."""
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(clean_environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


def git_command(git_dir: Path | str, *words: str) -> list[str]:
    """The argument list of one git call on that git folder."""
    return ["git", f"--git-dir={git_dir}", *_QUIET, *words]


def run(
    git_dir: Path | str,
    *words: str,
    feed: Iterable[bytes] = (),
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """What git prints on standard output; raises EnvironmentProblem with git's own first line."""
    with start(git_dir, *words, cwd=cwd, extra=extra) as child:
        stdin = cast("IO[bytes]", child.stdin)
        with suppress(BrokenPipeError):  # git says why on standard error
            for piece in feed:
                stdin.write(piece)
        with suppress(BrokenPipeError):
            stdin.close()
        child.stdin = None
        out, err = child.communicate()
    if child.returncode:
        raise EnvironmentProblem(explain(err, words[0], child.returncode))
    return out


def start(
    git_dir: Path | str,
    *words: str,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A git child with pipes on all three streams."""
    try:
        return subprocess.Popen(
            git_command(git_dir, *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**clean_environment(), **(extra or {})},
            cwd=cwd,
        )
    except FileNotFoundError:
        raise EnvironmentProblem("git is not installed, or not on PATH") from None


def explain(err: bytes, verb: str, code: int = 1) -> str:
    """One line for what git wrote on standard error, and the signal that ended it, if one did."""
    text = err.decode("utf-8", "replace")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    told = [at for at, line in enumerate(lines) if line.startswith(("fatal:", "error:"))]
    named = [at for at in told if lines[at].endswith(" is corrupt")]  # of errors the one that names
    at = next(iter(named or told), None)
    said = "" if at is None else lines[at]
    if at is not None and said.endswith(":"):  # such as the extensions that git does not know
        said = " ".join(lines[at : at + 2])
    absent = re.search(r"could not fetch ([0-9a-f]+) from promisor remote", text)
    if absent:
        return (
            f"object {absent.group(1)} is not here (this is a partial clone); "
            "use a full clone, or get everything with `git fetch --refetch --no-filter`"
        )
    if code < 0 and not said:
        return f"git {verb} was ended by {_signal(-code)}; run again"
    if ".lock': File exists" in said:
        said += " If no other run is at it, one was killed there: delete that file."
    return f"git {verb} failed: {said or (lines[0] if lines else 'without a word')}"


def _signal(number: int) -> str:
    import signal

    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return {"SIGXFSZ": "SIGXFSZ (a limit on file sizes)", "SIGKILL": "SIGKILL (no memory?)"}.get(
        name, name
    )


def moment(git_dir: Path | str, date: str) -> str:
    """A date, in any form that git reads, as it keeps one: seconds since 1970, and the zone.

    Raises EnvironmentProblem with git's own line where it is none.
    """
    if re.fullmatch(r"\d{9,10} [-+](?:0\d|1[0-4])[0-5]\d", date, re.ASCII):
        return date
    who = {f"GIT_COMMITTER_{key}": "x" for key in ("NAME", "EMAIL")}
    out = run(git_dir, "var", "GIT_COMMITTER_IDENT", extra={**who, "GIT_COMMITTER_DATE": date})
    return " ".join(out.decode().split()[-2:])


class ObjectReader:
    """One `git cat-file --batch` child that answers for any object name."""

    def __init__(self, git_dir: Path | str) -> None:
        self._child = start(git_dir, "cat-file", "--batch")

    def close(self) -> None:
        """End the child; harmless when called twice."""
        for stream in (self._child.stdin, self._child.stdout, self._child.stderr):
            if stream:
                with suppress(BrokenPipeError):  # what a child that has died left unread
                    stream.close()
        self._child.wait()

    def read(self, name: str) -> tuple[str, str, bytes] | None:
        """The (id, kind, content) of an object, or None where there is none of that name.

        Raises EnvironmentProblem where git cannot read it.
        """
        if "\n" in name:
            return None
        self._write(cast("IO[bytes]", self._child.stdin), f"{name}\n")
        return self._answer()

    def _write(self, stdin: IO[bytes], text: str) -> None:
        try:
            stdin.write(text.encode("utf-8", "surrogateescape"))
            stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None

    def _answer(self) -> tuple[str, str, bytes] | None:
        stdout = cast("IO[bytes]", self._child.stdout)
        head = stdout.readline()
        if not head:
            raise self._failure()
        words = head.decode("utf-8", "replace").split()
        if len(words) != 3 or not words[2].isdigit():
            return None
        data = stdout.read(int(words[2]))
        stdout.read(1)
        if len(data) != int(words[2]):
            raise self._failure()
        return words[0], words[1], data

    def read_many(self, names: Sequence[str]) -> list[tuple[str, str, bytes] | None]:
        """The objects of these names, asked for all at once: git works while we read."""
        stdin = cast("IO[bytes]", self._child.stdin)
        found = []
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            self._write(stdin, "".join(f"{name}\n" for name in some))
            found += [self._answer() for _ in some]
        return found

    def _failure(self) -> EnvironmentProblem:
        err = cast("IO[bytes]", self._child.stderr).read()
        return EnvironmentProblem(explain(err, "cat-file", self._child.wait()))


def store_pack(
    git_dir: Path | str, pieces: Iterable[bytes], extra: Mapping[str, str] | None = None
) -> None:
    """Have git check every object of a pack and keep it; nothing refers to it yet."""
    run(git_dir, "index-pack", "--stdin", "--fsck-objects", feed=pieces, extra=extra)


@contextmanager
def scratch_objects(objects: Path) -> Iterator[dict[str, str]]:
    """An environment in which git writes objects to a folder that goes away again."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="backport-") as folder:
        yield {
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }


def move_ref(git_dir: Path | str, ref: str, new: str, old: str, why: str) -> None:
    """Move one ref from `old` (zeros: it must not exist) to `new`, or change nothing."""
    run(git_dir, "update-ref", "--no-deref", "--create-reflog", "-m", why, ref, new, old)


def fast_import(git_dir: Path | str, stream: Iterable[bytes]) -> None:
    """Feed a fast-import stream to git; refs appear when all of it is stored.

    A stream that ends early, since this process was killed, must not leave a commit
    that lacks files: hence `--done`.
    """
    words = ("fast-import", "--quiet", "--force", "--done", "--depth=5")
    run(git_dir, *words, feed=chain(stream, (b"done\n",)))
