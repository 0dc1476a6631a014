"""A git repository as the tool uses it; the only module that knows GitPython.

GitPython answers for work trees and makes repositories. It is imported when one of
these is asked for, since importing it costs as much as applying ten patches; and
objects go through plain plumbing, because its object database starts a process per
object and its index runs hooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from backport import plumbing
from backport.commit_tree import CommitTree
from backport.core.mailing import keep_line_ends
from backport.core.objects import (
    GitObject,
    Identity,
    commit_text,
    parse_tree,
    render_pack,
)
from backport.core.patches import Author
from backport.core.paths import decode
from backport.discovery import Place, discover, work_tree_on
from backport.errors import EnvironmentProblem

ZERO = "0" * 40
_NO_INDEX_WRITE = {"GIT_OPTIONAL_LOCKS": "0"}
_UNFINISHED = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_START", "bisection"),
)


class Commit(NamedTuple):
    """A commit as `import` reads it: who, when, why, and its diff against its one parent."""

    id: str
    parents: tuple[str, ...]
    author: Author
    message: str
    diff: bytes


class Checkout:
    """One repository: reads any commit's files, stores new commits, moves one branch."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.git_dir = place.git_dir
        self.common_dir = place.common_dir
        self.algorithm = place.config.get("extensions.objectformat", "sha1")
        self._reader: plumbing.ObjectReader | None = None

    @classmethod
    def open(cls, path: Path, search: bool = False) -> Checkout:
        """The repository at `path` itself, or with `search` at a folder above it.

        Raises EnvironmentProblem where there is none.
        """
        return cls(discover(path, search))

    @staticmethod
    def create(path: Path, settings: Mapping[str, str]) -> None:
        """Make a bare repository with these settings, such as `{"gc.auto": "0"}`."""
        from git import Repo

        with plumbing.sealed(), Repo.init(path, bare=True) as repo, repo.config_writer() as config:
            for key, value in settings.items():
                config.set_value(*key.split(".", 1), value)

    def again(self) -> Checkout:
        """The same repository with a reading child of its own, for another process."""
        return Checkout(self.place)

    def close(self) -> None:
        """End the child process that reads objects."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def shown(self) -> str:
        """The path that a person would `cd` to."""
        return str(self.place.shown)

    # ------------------------------------------------------------ reading

    def lookup(self, name: str) -> tuple[str, str, bytes] | None:
        """The (id, kind, content) of what any name of git's names, or None."""
        if self._reader is None:
            self._reader = plumbing.ObjectReader(self.git_dir)
        return self._reader.read(name)

    def read_object(self, object_id: str) -> bytes:
        """The content of an object that must be there."""
        found = self.lookup(object_id)
        if found is None:
            from backport.missing import missing

            raise missing(self, object_id)
        return found[2]

    def read_objects(self, object_ids: Sequence[str]) -> list[bytes | None]:
        """The contents of many objects at once; None for one that is missing."""
        if self._reader is None:
            self._reader = plumbing.ObjectReader(self.git_dir)
        return [found[2] if found else None for found in self._reader.read_many(object_ids)]

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
        if found:
            return found
        from backport.missing import no_commit

        raise no_commit(self, name)

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

    def author(self, commit: str) -> Identity:
        """Who wrote a commit, and when."""
        who, _, date = self._header(commit, "author").rpartition("> ")
        name, _, email = who.rpartition(" <")
        return Identity(name, email, date)

    def is_as_made(self, commit: str) -> bool:
        """True where author and committer are one at one time: so this tool makes commits."""
        return self._header(commit, "author") == self._header(commit, "committer")

    def history(self, tip: str, base: str, limit: int = 1000) -> list[tuple[str, str]] | None:
        """The (id, message) of each commit from `tip` down to `base`, first parents only.

        None where `base` is not met within the limit.
        """
        found: list[tuple[str, str]] = []
        commit = tip
        while commit != base:
            if not commit or len(found) == limit:
                return None
            found.append((commit, self.message(commit)))
            commit = self.parent(commit)
        return found

    def message(self, commit: str) -> str:
        """A commit's message."""
        return commit_text(self.read_object(commit))[1]

    def parent(self, commit: str) -> str:
        """The first parent of a commit, "" of a root."""
        return self._header(commit, "parent")

    def commits(self, start: str, end: str, first_parent: bool = False) -> list[Commit]:
        """Every commit after `start` up to `end`, oldest first, with its diff.

        With `first_parent` the other sides of merges are passed over, and a merge's diff
        is what it brought. Raises EnvironmentProblem where a name is unknown.
        """
        for name in (start, end):
            self.base(name)
        words = ("rev-list", "--reverse", "--topo-order", *["--first-parent"] * first_parent)
        out = plumbing.run(self.git_dir, *words, f"{start}..{end}", "--")
        return [self._commit(line) for line in out.decode().split()]

    def _commit(self, commit: str) -> Commit:
        from backport.git_diffs import commit_diff

        head, message = commit_text(self.read_object(commit))
        lines = head.split("\n")
        parents = tuple(line[7:] for line in lines if line.startswith("parent "))
        author = next(line[7:] for line in lines if line.startswith("author "))
        who, seconds, zone = author.rsplit(" ", 2)
        name, _, email = who.partition(" <")
        diff = commit_diff(self.git_dir, commit, next(iter(parents), None))
        written = Author(name, email.rstrip(">"), f"{seconds} {zone}")
        return Commit(commit, parents, written, message, diff)

    # ------------------------------------------------------------ who and where

    def identity(self, date: str) -> Identity:
        """The committer, from the environment or git's configuration.

        Raises EnvironmentProblem with the commands that set it.
        """
        name, email = (
            os.environ.get(f"GIT_COMMITTER_{key.upper()}") or self._setting(key)
            for key in ("name", "email")
        )
        if not name or not email:
            raise EnvironmentProblem(
                "git does not know who commits; set it with "
                '`git config --global user.name "Your Name"` and '
                "`git config --global user.email you@example.com`"
            )
        wanted = os.environ.get("GIT_COMMITTER_DATE")
        when = plumbing.moment(self.git_dir, wanted) if wanted else date
        return Identity(_plain(name), _plain(email), when)

    def _setting(self, key: str) -> str:
        config = self.place.config
        return config.get(f"committer.{key}") or config.get(f"user.{key}", "")

    def branch_tip(self, branch: str) -> str | None:
        found = self.lookup(f"refs/heads/{branch}")
        return found[0] if found else None

    def checked_out(self, branch: str) -> Path | None:
        """The work tree that is on the branch, or that a rebase or bisection will bring back to it.

        None where there is none.
        """
        return work_tree_on(self.place, branch)

    def dirty(self) -> list[str]:
        """The tracked files of this work tree that differ from HEAD, in it or in the index."""
        words = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames")
        out = plumbing.run(self.git_dir, *words, cwd=self._top(), extra=_NO_INDEX_WRITE)
        return [decode(item[3:]) for item in out.split(b"\0") if item]

    def is_at(self, commit: str) -> bool:
        """True where the index and the tracked files of this work tree are exactly the commit's."""
        if self.lookup(commit) is None:
            return False
        words = ("diff", "--name-only", "--no-ext-diff", "--no-renames", commit)
        return not any(
            plumbing.run(self.git_dir, *words, *more, cwd=self._top(), extra=_NO_INDEX_WRITE)
            for more in ((), ("--cached",))
        )

    def unfinished(self) -> str:
        """What this work tree is in the middle of, such as a rebase; "" where it is not."""
        return next((word for name, word in _UNFINISHED if (self.git_dir / name).exists()), "")

    def _top(self) -> Path:
        if self.place.top is None:
            raise EnvironmentProblem(f"{self.shown} is bare: it has no work tree to check out into")
        return self.place.top

    # ------------------------------------------------------------ writing

    def store(self, objects: Iterable[GitObject]) -> None:
        """Keep these objects; nothing refers to them yet."""
        plumbing.store_pack(self.git_dir, render_pack(objects, self.algorithm))

    def mbox(self, objects: Iterable[GitObject], base: str, tip: str) -> bytes:
        """The commits from `base` to `tip` as mails; their objects are not kept."""
        from backport.git_diffs import mails

        pack = render_pack(objects, self.algorithm)
        with plumbing.scratch_objects(self.common_dir.resolve() / "objects") as extra:
            plumbing.store_pack(self.git_dir, pack, extra)
            mbox = mails(self.git_dir, base, tip, extra)
        return keep_line_ends(mbox)

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
