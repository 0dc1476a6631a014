"""A run that is killed at any step leaves everything as it was, or done; the next one is right."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("force", [False, True], ids=["a new stack", "again"])
def test_import_killed_at_every_step_leaves_the_stack_or_none(
    force: bool, world: World, shell: Shell
) -> None:
    world.repo.git("checkout", "-q", "-b", "work")
    world.repo.commit("[ROCm] Cache the product\n", dict(FUSED))
    folder = world.library.root / "patches/mine"
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    words = ["import", "v1.0.0..work", "--stack", "mine", *place, "--force"]
    if force:
        world.library.stack("mine", [(world.library.root / "patches/cache/p1.patch").read_bytes()])
    old = contents(folder)
    killed = 0
    step = 1
    while killed_at(step, words):
        step += 1
        killed += 1
        found = contents(folder)
        if found != old and len(found) != 3:  # between the two moves; the next run knows
            assert (found, contents(folder.with_name(".mine.old"))) == ({}, old)
        assert shell(*words).code == 0
        new = contents(folder)
        assert list(new) == ["cache-the-product.patch", "series", "stack.toml"]
        assert not list(folder.parent.glob(".*"))
        shutil.rmtree(folder)
        for name, data in old.items():
            world.library.write(f"patches/mine/{name}", data)
    assert killed >= 5


def contents(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_killed_run_with_checkout_is_put_right_by_the_next(world: World, shell: Shell) -> None:
    words = world.words("apply", "--checkout", "--no-audit")
    for _ in killed_at_each(words):
        assert shell(*words).code == 0
        assert world.repo.git("status", "--porcelain") == ""
        assert world.repo.changed("HEAD", "v1.0.0") == dict(FUSED)
        world.repo.git("checkout", "-q", "main")
        forget(world)
