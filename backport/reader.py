"""A repository that is only read, without GitPython, whose import costs more than a cached check.

Git itself is asked where the repository is, so that its own refusals (another
user's folder, a damaged repository) hold here too.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from backport import plumbing
from backport.commit_tree import CommitTree
from backport.core.objects import parse_tree
from backport.core.paths import decode
from backport.errors import EnvironmentProblem


class Location(NamedTuple):
    """Where a repository is: its own and its shared git folder, and the path a person knows."""

    git_dir: Path
    common_dir: Path
    shown: str
    algorithm: str


class Reader:
    """Reads any commit's files; the child that does it starts with the first question."""

    def __init__(self, location: Location) -> None:
        self.git_dir = location.git_dir
        self.common_dir = location.common_dir
        self.shown = location.shown
        self.algorithm = location.algorithm
        self._location = location
        self._objects: plumbing.ObjectReader | None = None

    @classmethod
    def open(cls, path: Path, search: bool = False) -> Reader:
        """The repository at `path` itself, or with `search` at a folder above it.

        Raises EnvironmentProblem where there is none.
        """
        return cls(locate(path, search))

    def again(self) -> Reader:
        """The same repository with a child of its own, for another process."""
        return Reader(self._location)

    def close(self) -> None:
        """End the child; harmless when called twice."""
        if self._objects:
            self._objects.close()
            self._objects = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lookup(self, name: str) -> tuple[str, str, bytes] | None:
        """The (id, kind, content) of an object, or None where there is none of that name."""
        if self._objects is None:
            self._objects = plumbing.ObjectReader(self.git_dir)
        return self._objects.read(name)

    def read_object(self, object_id: str) -> bytes:
        """The content of an object that must be there."""
        found = self.lookup(object_id)
        if found is None:
            raise EnvironmentProblem(
                f"{self.shown}: object {object_id} is missing ({thin(self.common_dir)}); "
                "get it with `git fetch --refetch` or use a full clone"
            )
        return found[2]

    def read_tree(self, object_id: str) -> dict[bytes, tuple[str, str]]:
        return parse_tree(self.read_object(object_id), self.algorithm)

    def commit_id(self, name: str) -> str | None:
        """The full id of the commit that a tag, branch or id names, tags first; None if none."""
        for asked in (f"refs/tags/{name}^{{commit}}", f"{name}^{{commit}}"):
            found = self.lookup(asked)
            if found and found[1] == "commit":
                return found[0]
        return None

    def base(self, name: str) -> str:
        """The commit to start from; raises EnvironmentProblem that says how to get it."""
        found = self.commit_id(name)
        if found is None:
            raise no_commit(self.common_dir, self.shown, name)
        return found

    def tree(self, commit: str) -> CommitTree:
        """The files of a commit."""
        head = self.read_object(commit).partition(b"\n")[0]
        return CommitTree(self, decode(head.removeprefix(b"tree ")))


def thin(common_dir: Path) -> str:
    """Why a repository may lack objects."""
    if (common_dir / "shallow").exists():
        return "this is a shallow clone"
    if any(common_dir.glob("objects/pack/*.promisor")):
        return "this is a partial clone"
    return "the repository is damaged"


def no_commit(common_dir: Path, shown: str, name: str) -> EnvironmentProblem:
    """The problem of a base that is not there, with the command that gets it."""
    shallow = (common_dir / "shallow").exists()
    mend = "git fetch --unshallow --tags" if shallow else "git fetch --tags"
    kind = " (a shallow clone)" if shallow else ""
    return EnvironmentProblem(
        f"{shown}{kind} has no commit {name}; get it with `{mend}`, "
        f"or `backport fetch {name.removeprefix('v')}` for the release archive"
    )


def locate(path: Path, search: bool = False) -> Location:
    """Where the repository at `path` (with `search`: at or above it) is, as git says it.

    Raises EnvironmentProblem where git finds none or refuses it.
    """
    if not path.is_dir():
        raise EnvironmentProblem(f"{path}: there is no such folder")
    asked = ("--show-object-format", "--git-dir", "--git-common-dir", "--is-bare-repository")
    lines = _ask(path, "rev-parse", *asked, "--show-cdup").split("\n")
    algorithm, git_dir, common_dir, bare, up = (*lines, "", "", "", "", "")[:5]
    folder = (path / git_dir).resolve()
    top = folder if bare == "true" else (path / (up or ".")).resolve()
    if not search and top != path.resolve():
        raise EnvironmentProblem(
            f"{path}: is not the top of a git repository; give one with --repo"
        )
    return Location(folder, (path / common_dir).resolve(), str(top), algorithm)


def _ask(path: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(path), *words],
            capture_output=True,
            check=False,
            env=plumbing.clean_environment(),
        )
    except FileNotFoundError:
        raise EnvironmentProblem("git is not installed, or not on PATH") from None
    if done.returncode:
        problem = plumbing.explain(done.stderr, words[0]).partition(": ")[2]
        if "not a git repository" in problem:
            problem = "is not the top of a git repository; give one with --repo"
        raise EnvironmentProblem(f"{path}: {problem}")
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")
