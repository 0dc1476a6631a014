"""Where a repository's parts are, and what its configuration says: one child process in all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from backport import plumbing
from backport.core.paths import decode, encode
from backport.errors import EnvironmentProblem


class Place(NamedTuple):
    """A repository: its own git folder, the one it shares with linked work trees, its work tree."""

    git_dir: Path
    common_dir: Path
    top: Path | None
    config: Mapping[str, str]

    @property
    def shown(self) -> Path:
        """The path that a person would `cd` to."""
        return self.top or self.git_dir


def discover(path: Path, search: bool = False) -> Place:
    """The repository at `path` itself, or with `search` at a folder above it.

    Raises EnvironmentProblem where there is none, or where another user owns it.
    """
    if not path.is_dir():
        raise EnvironmentProblem(f"{path}: there is no such folder")
    start = path.resolve()
    for folder in (start, *start.parents) if search else (start,):
        git_dir = _git_dir(folder)
        if git_dir:
            return _place(folder, git_dir)
    raise EnvironmentProblem(f"{path}: is not the top of a git repository; give one with --repo")


def _git_dir(folder: Path) -> Path | None:
    """The git folder of a work tree's top (a folder or a file that names one), or a bare one."""
    link = folder / ".git"
    if link.is_file():
        named = link.read_text("utf-8", "surrogateescape").strip().removeprefix("gitdir: ")
        link = folder / named
    for found in (link, folder):
        if (found / "HEAD").is_file() and (_common(found) / "objects").is_dir():
            return found.resolve()
    return None


def _common(git_dir: Path) -> Path:
    """The folder with objects and refs; a linked work tree names it in `commondir`."""
    link = git_dir / "commondir"
    if link.is_file():
        return (git_dir / link.read_text("utf-8", "surrogateescape").strip()).resolve()
    return git_dir


def _place(folder: Path, git_dir: Path) -> Place:
    config, allowed = _config(git_dir)
    top = folder if git_dir != folder else folder.parent if folder.name == ".git" else None
    if config.get("core.bare") == "true" and git_dir == _common(git_dir):
        top = None
    elif config.get("core.worktree"):
        top = (git_dir / config["core.worktree"]).resolve()
    place = Place(git_dir, _common(git_dir), top, config)
    for part in (place.shown, folder / ".git", git_dir):
        _refuse_foreign_owner(part, place.shown, allowed)
    return place


def _config(git_dir: Path) -> tuple[dict[str, str], list[str]]:
    """The configuration, and the folders that the user (not the repository) calls safe."""
    out = plumbing.run(git_dir, "config", "--list", "-z", "--show-scope")
    parts = out.decode("utf-8", "surrogateescape").split("\0")
    config: dict[str, str] = {}
    allowed: list[str] = []
    for scope, item in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = item.partition("\n")
        config[key] = value
        if key == "safe.directory" and scope in ("system", "global", "command"):
            allowed.append(value)
    return config, allowed


def _refuse_foreign_owner(part: Path, shown: Path, allowed: list[str]) -> None:
    """Refuse a repository of which another user owns a part, unless `safe.directory` allows it.

    Git makes the same check, but not when it is told where the git folder is.
    """
    owner = part.lstat().st_uid if part.exists() else os.geteuid()
    if owner in (os.geteuid(), int(os.environ.get("SUDO_UID") or os.geteuid())):
        return
    if "*" in allowed or str(shown) in allowed:
        return
    raise EnvironmentProblem(
        f"{shown}: dubious ownership: {part} belongs to another user (uid {owner}); allow it with "
        f"`git config --global --add safe.directory {shown}`"
    )


# ---------------------------------------------------------------- who is on a branch


def work_tree_on(place: Place, branch: str) -> Path | None:
    """The work tree that is on the branch, or that a rebase or bisection will bring back to it."""
    if place.config.get("core.bare") != "true" and _is_on(place.common_dir, branch):
        return _main_work_tree(place)
    for git_dir in sorted(place.common_dir.glob("worktrees/*")):
        if _is_on(git_dir, branch):
            return Path(decode(_content(git_dir / "gitdir"))).parent
    return None


def _main_work_tree(place: Place) -> Path:
    if place.top and place.git_dir == place.common_dir:
        return place.top
    return place.common_dir.parent if place.common_dir.name == ".git" else place.common_dir


def _is_on(git_dir: Path, branch: str) -> bool:
    ref = encode(f"refs/heads/{branch}")
    return (
        _content(git_dir / "HEAD") == b"ref: " + ref
        or ref in (_content(git_dir / f"rebase-{kind}/head-name") for kind in ("merge", "apply"))
        or _content(git_dir / "BISECT_START") == encode(branch)
    )


def _content(path: Path) -> bytes:
    """A small file of a git folder without its last newline, empty where there is none."""
    return path.read_bytes().rstrip(b"\n") if path.is_file() else b""
