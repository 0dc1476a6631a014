"""A git repository as the tool uses it; the only module that knows GitPython.

GitPython finds the repository and reads its configuration and work trees; objects
go through plain plumbing, because its object database starts a process per
object and its index runs hooks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from git import Repo
from git.exc import GitError, InvalidGitRepositoryError, NoSuchPathError

from backport import plumbing
from backport.commit_tree import CommitTree
from backport.core.objects import (
    GitObject,
    Identity,
    parse_tree,
    render_pack,
)
from backport.core.patches import Author
from backport.core.paths import decode
from backport.errors import EnvironmentProblem

ZERO = "0" * 40
_PLAIN_DIFF = (
    "--binary",
    "--full-index",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=histogram",
    "-O/dev/null",
)
_MAIL_FORMAT = (
    *_PLAIN_DIFF,
    "--stdout",
    "--no-renames",
    "--zero-commit",
    "--no-signature",
    "--no-stat",
    "--no-numbered",
    "--no-attach",
    "--no-thread",
    "--no-cover-letter",
    "--no-base",
    "--no-signoff",
    "--no-notes",
    "--subject-prefix=PATCH",
    "--encode-email-headers",
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as `import` reads it: who, when, why, and its diff against its one parent."""

    id: str
    parents: tuple[str, ...]
    author: Author
    message: str
    diff: bytes


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
            repo = Repo(path, search_parent_directories=search)
            _refuse_foreign_owner(repo)
            return cls(repo)
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
        found: list[tuple[str, str]] = []
        commit = tip
        while commit != base:
            if not commit or len(found) == limit:
                return None
            message = self.read_object(commit).partition(b"\n\n")[2]
            found.append((commit, decode(message)))
            commit = self._header(commit, "parent")
        return found

    def commits(self, start: str, end: str) -> list[Commit]:
        """Every commit after `start` up to `end`, oldest first, with its diff.

        Raises EnvironmentProblem where a name is unknown.
        """
        for name in (start, end):
            self.base(name)
        out = plumbing.run(
            self.git_dir, "rev-list", "--reverse", "--topo-order", f"{start}..{end}", "--"
        )
        return [self._commit(line) for line in out.decode().split()]

    def _commit(self, commit: str) -> Commit:
        head, _, message = self.read_object(commit).partition(b"\n\n")
        lines = decode(head).split("\n")
        parents = tuple(line[7:] for line in lines if line.startswith("parent "))
        author = next(line[7:] for line in lines if line.startswith("author "))
        who, seconds, zone = author.rsplit(" ", 2)
        name, _, email = who.partition(" <")
        diff = plumbing.run(
            self.git_dir, "diff-tree", "-p", "-M", *_PLAIN_DIFF, "--root", "--no-commit-id", commit
        )
        written = Author(name, email.rstrip(">"), f"{seconds} {zone}")
        return Commit(commit, parents, written, decode(message), diff)

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

    def mbox(self, objects: Iterable[GitObject], base: str, tip: str) -> bytes:
        """The commits from `base` to `tip` as mails; their objects are not kept."""
        pack = render_pack(objects, self.algorithm)
        with plumbing.scratch_objects(self.common_dir.resolve() / "objects") as extra:
            plumbing.store_pack(self.git_dir, pack, extra)
            return plumbing.run(
                self.git_dir, "format-patch", *_MAIL_FORMAT, f"{base}..{tip}", extra=extra
            )

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


def _refuse_foreign_owner(repo: Repo) -> None:
    """Refuse a repository of another user unless `safe.directory` allows it.

    Git makes the same check, but not when it is told where the git folder is.
    """
    top = Path(repo.working_tree_dir or repo.git_dir).resolve()
    owner = top.stat().st_uid
    if owner in (os.geteuid(), int(os.environ.get("SUDO_UID") or os.geteuid())):
        return
    allowed: list[str] = []
    for level in ("system", "global"):
        with repo.config_reader(level) as config:
            allowed += map(str, config.get_values("safe", "directory", ""))
    if "*" in allowed or str(top) in allowed:
        return
    raise EnvironmentProblem(
        f"{top}: dubious ownership: it belongs to another user (uid {owner}); allow it with "
        f"`git config --global --add safe.directory {top}`"
    )


def _plain(text: str) -> str:
    """A name or address as git would write it into a commit."""
    return "".join(char for char in text if char not in "<>\n\0").strip()
