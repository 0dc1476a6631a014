"""The cached repository of releases: one root commit per release, tagged as upstream tags it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from backport import plumbing, sources
from backport.checkout import Checkout
from backport.core.paths import quote
from backport.core.trees import SYMLINK
from backport.errors import BadInput, EnvironmentProblem

_COMMITTER = b"committer Release archive <archive@localhost> %d +0000\n"


def repository() -> Path:
    """Where the cached releases live."""
    return sources.cache_dir() / f"{sources.PROJECT}.git"


def ensure(name: str, progress: sources.Progress) -> Path:
    """The cached repository with the release `name` in it, fetched when absent.

    The commit depends on nothing but the archive, so it has the same id on every
    machine. Raises BadInput where `name` is no release, EnvironmentProblem where
    the archive cannot be had.
    """
    version = sources.plain_version(name)
    if version is None:
        raise BadInput(f"{name!r} is not a release such as 0.28.0; give a repository with --repo")
    repo = repository()
    if not repo.exists():
        _make(repo)
    with Checkout.open(repo) as checkout:
        if checkout.commit_id(f"v{version}"):
            return repo
    path = sources.archive(version, progress)
    plumbing.fast_import(repo, _stream(version, path, progress))
    tag = f"refs/tags/v{version}"
    plumbing.run(repo, "update-ref", "--no-deref", "HEAD", tag)  # so that a clone has a work tree
    return repo


def _make(repo: Path) -> None:
    """Make the repository beside its place and move it there, so that it is never half made."""
    part = repo.with_name(f"{repo.name}.{os.getpid()}")
    try:
        repo.parent.mkdir(parents=True, exist_ok=True)
        Checkout.create(part, {"gc.auto": "0", "core.logAllRefUpdates": "true"})
        part.rename(repo)
    except OSError as error:
        if not repo.exists():
            raise EnvironmentProblem(f"{repo}: cannot be made: {error.strerror}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _stream(version: str, archive: Path, progress: sources.Progress) -> Iterator[bytes]:
    """The fast-import stream of one release."""
    files = []
    newest = 0
    for mark, member in enumerate(sources.members(archive), 1):
        newest = max(newest, member.modified)
        yield b"blob\nmark :%d\ndata %d\n" % (mark, len(member.data))
        yield member.data + b"\n"
        files.append(b"M %s :%d %s\n" % (member.mode.encode(), mark, _quoted(member.path)))
        if mark % 200 == 0 or member.mode == SYMLINK:
            progress(f"{sources.PROJECT} {version}: files", mark, 0)
    ref = f"refs/tags/v{version}".encode()
    message = f"{sources.PROJECT} {version}, from its release archive\n".encode()
    yield b"reset %s\ncommit %s\n" % (ref, ref) + _COMMITTER % newest
    yield b"data %d\n%s" % (len(message), message)
    yield from files
    yield b"\n"


def _quoted(path: str) -> bytes:
    name = quote(path)
    return name if name.startswith(b'"') else b'"' + name + b'"'
