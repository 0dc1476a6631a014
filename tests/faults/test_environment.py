"""Disks that are full, folders that nobody may write, objects that are damaged, git that dies.

Every time: one line, exit 3, the repository as it was, and the next run right.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backport.errors import EnvironmentProblem
from backport.plumbing import ObjectReader
from tests.repos import BRANCH, FUSED, PROJECT, Repo, Shell, World


def run_with(world: World, before: Callable[[], None] | None = None) -> str:
    """The one line with which a run ends that may change nothing, in an environment of its own."""
    was = world.repo.snapshot()
    done = subprocess.run(
        [sys.executable, "-B", "-m", "backport", *world.words("apply", "--no-audit")],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=before,
    )
    assert (done.returncode, done.stdout) == (3, ""), done
    assert world.repo.snapshot() == was
    (line,) = done.stderr.splitlines()
    return line.removeprefix("backport: error: ")


def is_right(world: World, shell: Shell) -> None:
    assert shell(*world.words("apply")).code == 0
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)
    assert world.repo.is_sound()


def limited(size: int) -> Callable[[], None]:
    """No file may grow beyond this size, which is what a full disk looks like from inside."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("size", [0, 1, 100, 700])
def test_no_room_for_the_objects(size: int, world: World, shell: Shell) -> None:
    line = run_with(world, limited(size))
    assert line == "git index-pack was ended by SIGXFSZ (a limit on file sizes); run again"
    is_right(world, shell)


@pytest.fixture
def full_disk(world: World, tmp_path: Path) -> Iterator[World]:
    """The world's repository on a disk that is full to the last byte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk here")
    try:
        shutil.copytree(world.repo.path, disk / "repo", symlinks=True)
        Repo(disk / "repo").git("update-index", "-q", "--refresh")
        fill = disk / "filler"
        with fill.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        yield world.at(disk / "repo")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk(full_disk: World, shell: Shell) -> None:
    assert "No space left on device" in run_with(full_disk)
    (full_disk.repo.path.parent / "filler").unlink()
    is_right(full_disk, shell)


@pytest.fixture
def read_only(world: World) -> Iterator[World]:
    """The world with a repository that nobody may write, root included."""
    path = str(world.repo.path)
    if os.geteuid():
        subprocess.run(["chmod", "-R", "a-w", path], check=True)
        yield world
        subprocess.run(["chmod", "-R", "u+w", path], check=True)
        return
    if subprocess.run(["mount", "--bind", path, path], capture_output=True, check=False).returncode:
        pytest.skip("root writes everywhere, and may not mount here")
    subprocess.run(["mount", "-o", "remount,bind,ro", path], check=True)
    yield world
    subprocess.run(["umount", path], check=False, capture_output=True)


def test_a_read_only_repository(read_only: World) -> None:
    line = run_with(read_only)
    assert line.startswith("git index-pack failed: ")
    assert "Read-only file system" in line or "ermission denied" in line


def test_a_check_of_a_read_only_repository_needs_nothing(read_only: World, shell: Shell) -> None:
    assert shell(*read_only.words("check", "--no-audit")).code == 0


def test_a_library_that_nobody_may_write_gets_no_half_lock(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, target: Path) -> Path:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "replace", refused)
    folder = world.library.root / "manifests/me"
    done = shell(*world.words("apply", "--lock", "--no-audit"))
    assert done.code == 3
    assert "v1.0.0.lock: cannot be written: Read-only file system" in done.problems[0]
    assert [path.name for path in folder.iterdir()] == ["v1.0.0.toml"]


def refs(repo: Repo) -> dict[str, bytes]:
    """HEAD and all refs as files, where git itself can no longer list them."""
    names = ("HEAD", "packed-refs")
    files = [repo.common / name for name in names] + [*(repo.common / "refs").rglob("*")]
    return {str(path): path.read_bytes() for path in files if path.is_file()}


@pytest.mark.parametrize("at", [0.3, 0.6, 0.95])
def test_a_damaged_pack(at: float, world: World, shell: Shell) -> None:
    world.repo.git("gc", "-q")
    (pack,) = (world.repo.common / "objects/pack").glob("*.pack")
    whole = pack.read_bytes()
    pack.chmod(0o644)
    place = int(len(whole) * at)
    pack.write_bytes(whole[:place] + bytes(64) + whole[place + 64 :])
    was = refs(world.repo)
    done = shell(*world.words("apply", "--no-audit"))
    assert done.code in (0, 3)  # 0: nothing that is needed was hit
    assert len(done.problems) == (done.code == 3)
    if done.code == 3:
        assert refs(world.repo) == was
    pack.write_bytes(whole)
    is_right(world, shell)


def test_a_pack_without_its_index(world: World, shell: Shell) -> None:
    world.repo.git("gc", "-q")
    (index,) = (world.repo.common / "objects/pack").glob("*.idx")
    whole = index.read_bytes()
    index.unlink()
    was = refs(world.repo)
    done = shell(*world.words("apply", "--no-audit"))
    assert (done.code, len(done.problems)) == (3, 1)
    assert refs(world.repo) == was
    index.write_bytes(whole)
    is_right(world, shell)


DYING = '#!/bin/sh\ncase "$*" in *" {verb} "*) kill -KILL $$;; esac\nexec \'{git}\' "$@"\n'


@pytest.mark.parametrize("verb", ["config", "cat-file", "index-pack", "update-ref"])
def test_git_that_dies_at_its_work(
    verb: str, world: World, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(DYING.format(verb=verb, git=git))
    (tmp_path / "bin/git").chmod(0o755)
    was = world.repo.snapshot()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
        done = shell(*world.words("apply", "--no-audit"))
    (line,) = done.problems
    assert (done.code, done.out) == (3, "")
    assert line.startswith(f"backport: error: git {verb} was ended by SIGKILL")
    assert world.repo.snapshot() == was
    is_right(world, shell)


def test_a_reader_that_died_before_it_was_asked_is_closed_in_peace(world: World) -> None:
    reader = ObjectReader(world.repo.path / ".git")
    reader._child.kill()
    reader._child.wait()
    with pytest.raises(EnvironmentProblem, match="git cat-file was ended by SIGKILL"):
        reader.read("HEAD")
    reader.close()
    reader.close()


def test_a_lock_that_a_killed_git_left_says_how_to_go_on(world: World, shell: Shell) -> None:
    lock = world.repo.path / f".git/refs/heads/{BRANCH}.lock"
    lock.parent.mkdir()
    lock.touch()
    done = shell(*world.words("apply", "--no-audit"))
    (line,) = done.problems
    assert done.code == 3
    assert line.endswith("one was killed there: delete that file.")
    lock.unlink()
    is_right(world, shell)


@pytest.fixture
def foreign(world: World) -> World:
    """A world whose repository has an extension that this git does not know."""
    world.repo.git("config", "core.repositoryFormatVersion", "1")
    world.repo.git("config", "extensions.fromTheFuture", "true")
    return world


REFUSED = "git cat-file failed: fatal: unknown repository extension found: fromthefuture"


def test_a_repository_that_git_refuses_is_told_with_what_git_does_not_know(foreign: World) -> None:
    git_dir = foreign.repo.path / ".git"
    reader = ObjectReader(git_dir)
    reader._child.wait()  # so that it has gone before anything is asked
    with pytest.raises(EnvironmentProblem, match=REFUSED):
        reader.read("HEAD")
    reader.close()


def test_a_pipe_that_breaks_is_told(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(ObjectReader, "read", broken)
    done = shell(*world.words("apply", "--no-audit"))
    problem = "backport: error: a process that this one started ended early"
    assert (done.code, done.problems) == (3, [problem])


@pytest.mark.parametrize("verb", ["export", "show", "check", "status"])
def test_output_that_a_full_disk_cannot_take_is_no_success(verb: str, world: World) -> None:
    full = Path("/dev/full")
    with full.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "backport", *world.words(verb, *["cache"] * (verb == "show"))],
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (3, "backport: error: No space left on device\n")


def test_standard_input_that_is_closed_is_empty(world: World) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "backport", *world.words("import", "-", "--stack", "mine")],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.close(0),
    )
    problem = "backport: error: standard input:1: this is not a patch: it is empty\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", problem)
