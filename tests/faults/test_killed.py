"""A run that is killed at any step leaves everything as it was, or done; the next one is right."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from backport.library import read
from tests.faults.killing import killed_at, killed_at_each
from tests.repos import BRANCH, FUSED, Shell, World

LOCK = "manifests/me/v1.0.0.lock"


def forget(world: World) -> None:
    """Take away what a run has left: the branch, the lock, the cache."""
    if world.repo.tip():
        world.repo.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    (world.library.root / LOCK).unlink(missing_ok=True)
    shutil.rmtree(world.repo.path / ".git/backport", ignore_errors=True)


def test_apply_killed_at_every_step(world: World, shell: Shell) -> None:
    words = world.words("apply", "--lock", "--no-audit")
    assert shell(*words).code == 0
    right = world.repo.tip(), (world.library.root / LOCK).read_bytes()
    forget(world)
    before = world.repo.snapshot()
    killed = 0
    for _ in killed_at_each(words):
        killed += 1
        now = world.repo.snapshot()
        assert (now.head, now.index, now.files) == (before.head, before.index, before.files)
        assert world.repo.tip() in (None, right[0])
        lock = world.library.root / LOCK
        assert not lock.exists() or lock.read_bytes() == right[1]
        assert world.repo.is_sound()
        assert shell(*words).code == 0
        assert (world.repo.tip(), lock.read_bytes()) == right
        forget(world)
    assert killed >= 7  # four children of git, and the lock's file and its move


def test_an_older_branch_stays_until_the_new_one_is_whole(world: World, shell: Shell) -> None:
    assert shell(*world.words("apply")).code == 0
    old = world.repo.tip()
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text(toml.read_text().replace("Cache", "Keep"))
    tips = []
    for _ in killed_at_each(world.words("apply", "--no-audit")):
        tips.append(world.repo.tip())
        assert world.repo.is_sound()
    assert set(tips) <= {old, world.repo.tip()}
    assert tips[0] == old != world.repo.tip()


def test_check_killed_at_every_step_keeps_no_half_result(world: World, shell: Shell) -> None:
    words = world.words("check", "--jobs", "1")
    right = shell(*words).out
    forget(world)
    before = world.repo.snapshot()
    killed = 0
    for _ in killed_at_each(words):
        killed += 1
        assert world.repo.snapshot() == before
        assert shell(*words).out == right
        assert shell(*words).out == right  # from the cache
        forget(world)
    assert killed >= 6


FOLDERS = ("patches", "manifests")


def contents(world: World) -> list[dict[str, bytes]]:
    """Every file below `patches/` and below `manifests/`."""
    roots = [world.library.root / name for name in FOLDERS]
    return [
        {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }
        for root in roots
    ]


def imported(world: World, shell: Shell) -> list[str]:
    world.repo.git("checkout", "-q", "-b", "work")
    world.repo.commit("[ROCm] Cache the product\n", dict(FUSED))
    return ["import", "v1.0.0..work", "--stack", "mine", "--force"]


def imported_again(world: World, shell: Shell) -> list[str]:
    mails = [(world.library.root / f"patches/cache/p{n}.patch").read_bytes() for n in (1, 2)]
    world.library.stack("mine", mails)
    return imported(world, shell)


def ported(world: World, shell: Shell) -> list[str]:
    """A manifest that names a patch of its own, over one that named another."""
    hunk = next(
        line.split()[1]
        for line in shell(*world.words("check", "-v", "--no-audit")).out.splitlines()
        if "cache/p1:" in line
    )
    text = (world.library.root / "patches/cache/p1.patch").read_bytes()
    entry = '[[replace]]\nhunk = "{}"\npatch = "{}.patch"\nreason = "r"\n'
    entry += 'when = {{ present = "README.md" }}'
    for version, name in (("v1.0.0", "new"), ("v1.1.0", "old")):
        world.library.write(f"manifests/me/{version}/{name}.patch", text)
        more = entry.format(hunk, name)
        world.library.manifest("cache", name=f"me/{version}", base=version, more=more)
    world.repo.commit("Engine 1.1\n", {"README.md": b"# Engine 1.1\n"})
    world.repo.git("tag", "v1.1.0")
    return ["port", "--from", "v1.0.0", "--to", "1.1.0", "--force", "--no-audit"]


def amended(world: World, shell: Shell) -> list[str]:
    """A branch with a change for each of two patches."""
    assert shell(*world.words("apply")).code == 0
    world.repo.git("checkout", "-q", "--detach", BRANCH)
    attention = FUSED["engine/attention.py"].replace(b"self.cached(q, k)", b"self.cached(k, q)")
    world.repo.write({"engine/attention.py": attention, "engine/cache.py": b"Cache = dict\n"})
    world.repo.git("commit", "-qa", "--amend", "--no-edit")
    world.repo.git("branch", "-f", BRANCH, "HEAD")
    return ["refresh", "--target", "v1.0.0", "--into", "patch"]


@pytest.mark.parametrize(
    ("setting", "signum"),
    [
        *((setting, signal.SIGKILL) for setting in (imported, imported_again, ported, amended)),
        (amended, signal.SIGINT),
    ],
)
def test_the_library_is_as_it_was_or_done_whenever_a_run_is_stopped(
    setting: Callable[[World, Shell], list[str]], signum: int, world: World, shell: Shell
) -> None:
    words = [*setting(world, shell), *world.words("x")[1:]]
    old = contents(world)
    assert shell(*words).code == 0
    new = contents(world)
    assert sum(one != other for one, other in zip(old, new, strict=True)) == 1
    seen = []
    for step in range(1, 100):
        put_back(world, old)
        if not killed_at(step, words, signum):
            break
        if signum == signal.SIGKILL:
            read(world.library.root)  # as the next run does
            for left in world.library.root.glob("*/.backport.*"):
                shutil.rmtree(left)  # a draft that nobody decided on
        seen.append(contents(world))
    assert contents(world) == new
    assert [one for one in seen if one not in (old, new)] == []
    assert old in seen
    assert signum == signal.SIGINT or new in seen


def put_back(world: World, old: list[dict[str, bytes]]) -> None:
    for folder, files in zip(FOLDERS, old, strict=True):
        shutil.rmtree(world.library.root / folder)
        for name, data in files.items():
            world.library.write(f"{folder}/{name}", data)


def test_a_draft_that_was_never_decided_on_is_taken_away_by_the_next_run(
    world: World, shell: Shell
) -> None:
    words = [*amended(world, shell), *world.words("x")[1:]]
    draft = world.library.root / f"patches/.backport.{dead()}.part"
    draft.mkdir()
    assert shell(*words).code == 0
    assert not draft.exists()


def dead() -> int:
    """The number of a process that has ended."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def test_a_decided_draft_writes_nothing_outside_of_the_library(
    world: World, shell: Shell, tmp_path: Path
) -> None:
    (world.library.root / "patches/cache/out").symlink_to(tmp_path)
    world.library.write("patches/.backport.part/files/cache/out/mine", "theirs")
    world.library.write("patches/.backport.part/deleted", "")
    done = shell("lint", "--root", world.library.root)
    assert done.code == 2
    assert "outside of the library" in done.err
    assert not (tmp_path / "mine").exists()


def test_a_killed_run_with_checkout_is_put_right_by_the_next(world: World, shell: Shell) -> None:
    words = world.words("apply", "--checkout", "--no-audit")
    for _ in killed_at_each(words):
        assert shell(*words).code == 0
        assert world.repo.git("status", "--porcelain") == ""
        assert world.repo.changed("HEAD", "v1.0.0") == dict(FUSED)
        world.repo.git("checkout", "-q", "main")
        forget(world)
