"""A git repository as the tool uses it; the only module that knows GitPython.

GitPython finds the repository and reads its configuration and work trees; objects
go through plain plumbing, because its object database starts a process per
object and its index runs hooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from git import Repo
from git.exc import GitError, InvalidGitRepositoryError, NoSuchPathError

from backport import plumbing
from backport.core.objects import (
    GitObject,
    Identity,
    parse_tree,
    render_pack,
    render_tree,
)
from backport.core.paths import decode, encode
from backport.core.trees import DIRECTORY, GITLINK, Entry
from backport.errors import EnvironmentProblem

ZERO = "0" * 40


class CommitTree:
    """The tree of one commit, read folder by folder as it is asked for."""

    def __init__(self, checkout: Checkout, tree: str) -> None:
        self._checkout = checkout
        self.id = tree
        self._folders: dict[str, dict[bytes, tuple[str, str]] | None] = {}

    def folder(self, path: str) -> dict[bytes, tuple[str, str]] | None:
        """The raw entries of a folder (the top is ""), or None where there is none."""
        if path not in self._folders:
            self._folders[path] = self._read_folder(path)
        return self._folders[path]

    def _read_folder(self, path: str) -> dict[bytes, tuple[str, str]] | None:
        if not path:
            return self._checkout.read_tree(self.id)
        found = self.locate(path)
        if found is None or found[0] != DIRECTORY:
            return None
        return self._checkout.read_tree(found[1])

    def locate(self, path: str) -> tuple[str, str] | None:
        """The (mode, object id) at `path`, or None."""
        above, _, name = path.rpartition("/")
        folder = self.folder(above)
        return None if folder is None else folder.get(encode(name))

    def entry(self, path: str) -> Entry | None:
        found = self.locate(path)
        if found is None:
            return None
        mode, object_id = found
        if mode in (DIRECTORY, GITLINK):
            return Entry(mode, b"")
        return Entry(mode, self._checkout.read_object(object_id))

    def paths(self) -> Mapping[str, str]:
        return dict(self._walk(""))

    def _walk(self, folder: str) -> Iterator[tuple[str, str]]:
        for name, (mode, object_id) in (self.folder(folder) or {}).items():
            path = f"{folder}/{decode(name)}" if folder else decode(name)
            if mode == DIRECTORY:
                yield from self._walk(path)
            else:
                yield path, object_id

    def with_changes(self, changes: Mapping[str, Entry | None]) -> tuple[str, list[GitObject]]:
        """The id of the tree with these changes, and the objects that it needs."""
        objects: list[GitObject] = []
        flat: dict[str, tuple[str, str] | None] = {}
        for path, entry in changes.items():
            flat[path] = None
            if entry is not None:
                blob = GitObject("blob", entry.data)
                objects.append(blob)
                flat[path] = (entry.mode, blob.id(self._checkout.algorithm))
        root = self._rebuild("", flat, objects)
        return root or self._empty(objects), objects

    def _empty(self, objects: list[GitObject]) -> str:
        empty = GitObject("tree", b"")
        objects.append(empty)
        return empty.id(self._checkout.algorithm)

    def _rebuild(
        self, folder: str, changes: Mapping[str, tuple[str, str] | None], objects: list[GitObject]
    ) -> str | None:
        """The id of one folder with its changes, or None where it has become empty."""
        entries = dict(self.folder(folder) or {})
        below: dict[str, dict[str, tuple[str, str] | None]] = {}
        for path, value in changes.items():
            name, slash, rest = path.partition("/")
            if slash:
                below.setdefault(name, {})[rest] = value
            elif value is None:
                entries.pop(encode(name), None)
            else:
                entries[encode(name)] = value
        for name, inside in below.items():
            child = self._rebuild(f"{folder}/{name}" if folder else name, inside, objects)
            if child is None:
                entries.pop(encode(name), None)
            else:
                entries[encode(name)] = (DIRECTORY, child)
        if not entries:
            return None
        made = render_tree(entries)
        objects.append(made)
        return made.id(self._checkout.algorithm)


class Checkout:
    """One repository: reads any commit's files, stores new commits, moves one branch."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.git_dir = Path(repo.git_dir)
        self.common_dir = Path(repo.common_dir)
        self.algorithm = self._object_format()
        self._reader: plumbing.ObjectReader | None = None

    @classmethod
    def open(cls, path: Path, search: bool = False) -> Checkout:
        """The repository at `path` itself, or with `search` at a folder above it.

        Raises EnvironmentProblem where there is none.
        """
        try:
            return cls(Repo(path, search_parent_directories=search))
        except NoSuchPathError:
            raise EnvironmentProblem(f"{path}: there is no such folder") from None
        except InvalidGitRepositoryError:
            raise EnvironmentProblem(
                f"{path}: is not the top of a git repository; give one with --repo"
            ) from None
        except (GitError, OSError, ValueError) as error:
            raise EnvironmentProblem(f"{path}: cannot be opened: {error}") from None

    def close(self) -> None:
        """End the child process that reads objects."""
        if self._reader:
            self._reader.close()
            self._reader = None
        self.repo.close()

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def shown(self) -> str:
        """The path that a person would `cd` to."""
        return str(self.repo.working_tree_dir or self.git_dir)

    # ------------------------------------------------------------ reading

    def _object_format(self) -> str:
        with self.repo.config_reader("repository") as config:
            return str(config.get_value("extensions", "objectformat", "sha1"))

    def _lookup(self, name: str) -> tuple[str, str, bytes] | None:
        if self._reader is None:
            self._reader = plumbing.ObjectReader(self.git_dir)
        return self._reader.read(name)

    def read_object(self, object_id: str) -> bytes:
        """The content of an object that must be there."""
        found = self._lookup(object_id)
        if found is None:
            raise EnvironmentProblem(
                f"{self.shown}: object {object_id} is missing ({self._thin()}); "
                "get it with `git fetch --refetch` or use a full clone"
            )
        return found[2]

    def read_tree(self, object_id: str) -> dict[bytes, tuple[str, str]]:
        return parse_tree(self.read_object(object_id), self.algorithm)

    def _thin(self) -> str:
        if (self.common_dir / "shallow").exists():
            return "this is a shallow clone"
        if any(self.common_dir.glob("objects/pack/*.promisor")):
            return "this is a partial clone"
        return "the repository is damaged"

    def commit_id(self, name: str) -> str | None:
        """The full id of the commit that a tag, branch or id names, tags first; None if none."""
        for asked in (f"refs/tags/{name}^{{commit}}", f"{name}^{{commit}}"):
            found = self._lookup(asked)
            if found and found[1] == "commit":
                return found[0]
        return None

    def base(self, name: str) -> str:
        """The commit to start from; raises EnvironmentProblem that says how to get it."""
        found = self.commit_id(name)
        if found:
            return found
        shallow = (self.common_dir / "shallow").exists()
        mend = "git fetch --unshallow --tags" if shallow else "git fetch --tags"
        kind = " (a shallow clone)" if shallow else ""
        raise EnvironmentProblem(
            f"{self.shown}{kind} has no commit {name}; get it with `{mend}`, "
            f"or `backport fetch {name.removeprefix('v')}` for the release archive"
        )

    def tree(self, commit: str) -> CommitTree:
        """The files of a commit."""
        return CommitTree(self, self._header(commit, "tree"))

    def _header(self, commit: str, key: str) -> str:
        head = self.read_object(commit).partition(b"\n\n")[0]
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            if name == key.encode():
                return decode(value)
        return ""

    def date(self, commit: str) -> str:
        """The committer date of a commit as git keeps it: seconds and zone."""
        return " ".join(self._header(commit, "committer").rsplit(" ", 2)[1:])

    def history(self, tip: str, base: str, limit: int = 1000) -> list[tuple[str, str]] | None:
        """The (id, message) of each commit from `tip` down to `base`, first parents only.

        None where `base` is not met within the limit.
        """
        found = []
        commit = tip
        while commit != base:
            if not commit or len(found) == limit:
                return None
            message = self.read_object(commit).partition(b"\n\n")[2]
            found.append((commit, decode(message)))
            commit = self._header(commit, "parent")
        return found

    # ------------------------------------------------------------ who and where

    def identity(self, date: str) -> Identity:
        """The committer, from the environment or git's configuration.

        Raises EnvironmentProblem with the commands that set it.
        """
        with self.repo.config_reader() as config:
            name, email = (
                os.environ.get(f"GIT_COMMITTER_{key.upper()}")
                or str(config.get_value("user", key, ""))
                for key in ("name", "email")
            )
        if not name or not email:
            raise EnvironmentProblem(
                "git does not know who commits; set it with "
                '`git config --global user.name "Your Name"` and '
                "`git config --global user.email you@example.com`"
            )
        return Identity(_plain(name), _plain(email), os.environ.get("GIT_COMMITTER_DATE") or date)

    def branch_tip(self, branch: str) -> str | None:
        found = self._lookup(f"refs/heads/{branch}")
        return found[0] if found else None

    def checked_out(self, branch: str) -> Path | None:
        """The work tree that has the branch checked out, or None."""
        wanted = f"ref: refs/heads/{branch}"
        heads = [self.common_dir / "HEAD", *sorted(self.common_dir.glob("worktrees/*/HEAD"))]
        for head in heads:
            bare = head.parent == self.common_dir and self.repo.bare
            if not bare and head.is_file() and head.read_text("utf-8").strip() == wanted:
                return self._work_tree(head.parent)
        return None

    def _work_tree(self, git_dir: Path) -> Path:
        link = git_dir / "gitdir"
        if link.is_file():
            return Path(link.read_text("utf-8").strip()).parent
        return Path(self.repo.working_tree_dir or self.common_dir)

    def dirty(self) -> list[str]:
        """The files with uncommitted changes in this work tree, as git lists them."""
        out = plumbing.run(
            self.git_dir, "status", "--porcelain=v1", "-z", "--untracked-files=no", cwd=self._top()
        )
        return [decode(item[3:]) for item in out.split(b"\0") if item[2:3] == b" "]

    def _top(self) -> Path:
        top = self.repo.working_tree_dir
        if top is None:
            raise EnvironmentProblem(f"{self.shown} is bare: it has no work tree to check out into")
        return Path(top)

    # ------------------------------------------------------------ writing

    def store(self, objects: Iterable[GitObject]) -> None:
        """Keep these objects; nothing refers to them yet."""
        plumbing.store_pack(self.git_dir, render_pack(objects, self.algorithm))

    def move_branch(self, branch: str, new: str, old: str | None, why: str) -> None:
        """Move the branch, only if it still is where it was."""
        zero = ZERO if self.algorithm == "sha1" else "0" * 64
        try:
            plumbing.move_ref(self.git_dir, f"refs/heads/{branch}", new, old or zero, why)
        except EnvironmentProblem as error:
            now = self._again(branch)
            if now == new:
                return
            if now != old:
                raise EnvironmentProblem(
                    f"branch {branch} moved while this ran (it is {now or 'gone'} now); "
                    "nothing was changed, run again"
                ) from None
            raise error

    def _again(self, branch: str) -> str | None:
        if self._reader:
            self._reader.close()
            self._reader = None
        return self.branch_tip(branch)

    def switch(self, commit: str) -> None:
        """Bring the work tree and index from HEAD to `commit`, or change nothing.

        Untracked and changed files in the way make git refuse before it touches any.
        """
        plumbing.run(self.git_dir, "read-tree", "-m", "-u", "HEAD", commit, cwd=self._top())

    def point_head(self, branch: str) -> None:
        """Make HEAD the branch."""
        plumbing.run(self.git_dir, "symbolic-ref", "HEAD", f"refs/heads/{branch}")


def _plain(text: str) -> str:
    """A name or address as git would write it into a commit."""
    return "".join(char for char in text if char not in "<>\n\0").strip()
