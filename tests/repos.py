"""Real git repositories and libraries on disk for the tests, and the tool run on them.

A small engine stands for vLLM. Upstream changes it in two commits on the release
`v1.0.0`, and git itself writes them as patches, so that no patch comes from the
code under test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from backport.cli import run

PROJECT = Path(__file__).resolve().parent.parent
BRANCH = "me/v1.0.0"
TITLE = "[ROCm][Perf] Cache the product"

ENGINE: Mapping[str, bytes] = {
    "engine/__init__.py": b'"""A very small engine."""\n',
    "engine/attention.py": (
        b'"""Attention."""\n\n\nclass Attention:\n    def __init__(self, scale):\n'
        b"        self.scale = scale\n\n    def forward(self, q, k):\n"
        b"        product = q * k\n        return product * self.scale\n\n"
        b"    def backward(self, g):\n        return g * self.scale\n"
    ),
    "engine/ops.py": b"def gather(cache, slots):\n    return [cache[slot] for slot in slots]\n",
    "pyproject.toml": b'[project]\nname = "engine"\nrequires-python = ">=3.10"\n',
    "README.md": b"# Engine\n",
}
CACHED = ENGINE["engine/attention.py"].replace(
    b"        product = q * k\n", b"        product = self.cached(q, k)\n"
)
FUSED: Mapping[str, bytes] = {
    "engine/attention.py": CACHED + b"\n    def cached(self, q, k):\n        return q * k\n",
    "engine/cache.py": b"class Cache(dict):\n    pass\n",
}


@dataclass(frozen=True)
class Done:
    """One run of the tool: exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def problems(self) -> list[str]:
        """The lines on standard error."""
        return self.err.splitlines()


class Shell:
    """Runs the command line in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *words: str | Path) -> Done:
        self._capfd.readouterr()
        code = run([str(word) for word in words])
        return Done(code, *self._capfd.readouterr())


def child(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """The command line as a process of its own, with the code under test.

    Ctrl-C reaches it also where the tests run in the background, and so ignore it.
    """
    listen = "import signal, runpy; signal.signal(signal.SIGINT, signal.default_int_handler); "
    run = "runpy.run_module('backport', run_name='__main__', alter_sys=True)"
    return subprocess.Popen(
        [sys.executable, "-c", listen + run, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **(env or {})},
    )


def finished(process: subprocess.Popen[bytes]) -> Done:
    """The process once it has ended."""
    out, err = process.communicate(timeout=60)
    return Done(process.returncode, out.decode(), err.decode())


# ---------------------------------------------------------------- repositories


@dataclass(frozen=True)
class Snapshot:
    """Everything of a repository that a run must not change."""

    refs: str
    head: str
    index: bytes | None
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class Repo:
    """A real repository; `path` is its work tree, or the bare repository itself."""

    path: Path

    @classmethod
    def make(cls, path: Path, *options: str) -> Repo:
        subprocess.run(["git", "init", "-q", "-b", "main", *options, str(path)], check=True)
        return cls(path)

    def git(self, *words: str, feed: bytes = b"") -> str:
        """What git prints, without the last newline; raises where git fails."""
        return self.raw(*words, feed=feed).decode("utf-8", "surrogateescape").removesuffix("\n")

    def raw(self, *words: str, feed: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", "-C", str(self.path), *words], input=feed, capture_output=True, check=False
        )
        if done.returncode:
            raise AssertionError(f"git {words[0]}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Write files into the work tree; None deletes one."""
        for name, data in files.items():
            path = self.path / os.fsdecode(name.encode("utf-8", "surrogateescape"))
            path.parent.mkdir(parents=True, exist_ok=True)
            if data is None:
                path.unlink()
            else:
                path.write_bytes(data)

    def commit(self, message: str | bytes, files: Mapping[str, bytes | None]) -> str:
        """Commit these changes with exactly this message; the id of the commit."""
        self.write(files)
        self.git("add", "-A")
        text = message.encode() if isinstance(message, str) else message
        self.git("commit", "-q", "--cleanup=verbatim", "--allow-empty", "-F", "-", feed=text)
        return self.git("rev-parse", "HEAD")

    def tip(self, ref: str = BRANCH) -> str | None:
        """The commit that a branch, tag or id names, or None."""
        found = self.git("for-each-ref", "--format=%(objectname)", f"refs/heads/{ref}")
        return found or None

    def files(self, commit: str) -> dict[str, bytes]:
        """Every file of a commit: path -> bytes."""
        listing = self.raw("ls-tree", "-r", "-z", commit).split(b"\0")[:-1]
        out = {}
        for line in listing:
            meta, _, name = line.partition(b"\t")
            out[name.decode("utf-8", "surrogateescape")] = self.raw(
                "cat-file", "blob", meta.split()[2].decode()
            )
        return out

    def changed(self, commit: str, base: str) -> dict[str, bytes]:
        """The files of a commit that differ from the base's, all of which it still has."""
        before = self.files(base)
        after = self.files(commit)
        assert set(before) <= set(after)
        return {name: data for name, data in after.items() if before.get(name) != data}

    def message(self, commit: str) -> bytes:
        """A commit's message, byte for byte."""
        return self.raw("cat-file", "commit", commit).partition(b"\n\n")[2]

    @property
    def common(self) -> Path:
        """The folder that holds objects and refs."""
        return self.path / self.git("rev-parse", "--git-common-dir")

    def objects(self) -> set[str]:
        """The name of every file that holds objects."""
        folder = self.common / "objects"
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    def snapshot(self) -> Snapshot:
        folder = self.path / self.git("rev-parse", "--git-dir")
        index = folder / "index"
        bare = self.git("rev-parse", "--is-bare-repository") == "true"
        return Snapshot(
            self.git("for-each-ref"),
            (folder / "HEAD").read_text(),
            index.read_bytes() if index.exists() else None,
            {} if bare else _work_files(self.path),
        )

    def is_sound(self) -> bool:
        """True where `git fsck` finds nothing wrong, unreferenced objects aside."""
        done = subprocess.run(
            ["git", "-C", str(self.path), "fsck", "--strict", "--no-dangling", "--no-progress"],
            capture_output=True,
            check=False,
        )
        return done.returncode == 0 and not done.stdout


def _work_files(top: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and path.relative_to(top).parts[0] != ".git"
    }


_MAIL = ("--stdout", "--binary", "--full-index", "--zero-commit", "--no-signature", "--no-stat")


def patches(repo: Repo, start: str, end: str = "HEAD") -> list[bytes]:
    """Each commit after `start` as git's own mail, oldest first."""
    commits = repo.git("rev-list", "--reverse", f"{start}..{end}").split()
    options = (
        "--stdout",
        "--binary",
        "--full-index",
        "--zero-commit",
        "--no-signature",
        "--no-stat",
    )
    return [repo.raw("format-patch", "-1", *options, commit) for commit in commits]


# ---------------------------------------------------------------- libraries


@dataclass(frozen=True)
class Library:
    """A folder with `patches/` and `manifests/`."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> Library:
        (root / "patches").mkdir(parents=True)
        (root / "manifests").mkdir()
        return cls(root)

    def write(self, name: str, text: str | bytes) -> Path:
        """Write one file of the library."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def stack(
        self, name: str, mails: Sequence[bytes], title: str = TITLE, why: str = "It is faster."
    ) -> None:
        """A stack of these patches, named p1, p2 and so on."""
        names = [f"p{number}" for number, _ in enumerate(mails, 1)]
        for patch, mail in zip(names, mails, strict=True):
            self.write(f"patches/{name}/{patch}.patch", mail)
        self.write(f"patches/{name}/series", "".join(f"{patch}\n" for patch in names))
        self.write(
            f"patches/{name}/stack.toml",
            f'schema = 1\ntitle = {_toml(title)}\nkind = "fork"\nhome = "v1.0.0"\n'
            f"why = {_toml(why)}\n",
        )

    def manifest(
        self,
        *stacks: str,
        name: str = "me/v1.0.0",
        base: str = "v1.0.0",
        branch: str = "",
        more: str = "",
    ) -> None:
        listed = ", ".join(f'"{stack}"' for stack in stacks)
        branch = branch or name
        self.write(
            f"manifests/{name}.toml",
            f'schema = 1\nbase = "{base}"\nbranch = "{branch}"\nstacks = [{listed}]\n{more}',
        )


def _toml(text: str) -> str:
    """The text as a TOML string."""
    shown = (
        char if char.isprintable() and char not in '"\\' else f"\\U{ord(char):08x}" for char in text
    )
    return '"' + "".join(shown) + '"'


# ---------------------------------------------------------------- both together


@dataclass(frozen=True)
class World:
    """A checkout of the engine at `v1.0.0`, and a library whose stack fuses its attention."""

    repo: Repo
    library: Library

    def words(self, verb: str, *more: str) -> list[str]:
        """The words of one call of the tool on this world."""
        target = ["--target", "v1.0.0"] if verb in ("apply", "check", "export", "verify") else []
        place = ["--repo", str(self.repo.path), "--root", str(self.library.root)]
        return [verb, *target, *place, *more]

    def at(self, path: Path) -> World:
        """The same library with another repository."""
        return World(Repo(path), self.library)


def make_world(folder: Path, *init: str) -> World:
    """Build the world that most tests start from; `init` are options of `git init`."""
    repo = Repo.make(folder / "repo", *init)
    repo.commit("Engine 1.0.0\n", ENGINE)
    repo.git("tag", "v1.0.0")
    upstream = Repo(folder / "upstream")
    shutil.copytree(repo.path, upstream.path)
    upstream.commit(f"{TITLE}\n\nIt is asked for in every step.\n", {"engine/attention.py": CACHED})
    upstream.commit("Add the cache\n", FUSED)
    library = Library.make(folder / "library")
    library.stack("cache", patches(upstream, "v1.0.0"))
    library.manifest("cache")
    return World(repo, library)
