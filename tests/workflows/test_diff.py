"""`diff` puts the same stacks on two targets side by side."""

from __future__ import annotations

import json

import pytest

from backport.library import read
from tests.repos import ENGINE, Done, Shell, World

ATTENTION = "engine/attention.py"


@pytest.fixture
def two(world: World) -> World:
    """A second target on a later release."""
    world.repo.commit(
        "Engine 2\n", {"README.md": b"# 2\n", ATTENTION: b"# 2\n" + ENGINE[ATTENTION]}
    )
    world.repo.git("tag", "v2.0.0")
    target(world)
    return world


def target(world: World, more: str = "") -> None:
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0", branch="me/v2.0.0", more=more)


def hunk(world: World, path: str) -> str:
    stack = read(world.library.root)[0].stacks["cache"]
    return next(str(i[0]) for i in stack.hunks() if i[0].patch == "p2" and i[0].path == path)


def diff(world: World, shell: Shell, *more: str) -> Done:
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    return shell("diff", "v1.0.0", "me/v2.0.0", *place, *more)


def test_a_stack_that_only_moved_is_the_same(two: World, shell: Shell) -> None:
    done = diff(two, shell)
    assert (done.code, done.out) == (0, "cache: the same on both (applied)\n")


def test_a_hunk_that_is_left_out_and_its_lines_are_shown(two: World, shell: Shell) -> None:
    dropped = hunk(two, "engine/cache.py")
    target(
        two, f'[[drop]]\nhunk = "{dropped}"\nreason = "no"\nwhen = {{ present = "README.md: 2" }}\n'
    )
    done = diff(two, shell)
    assert done.code == 0
    assert done.out.splitlines() == [
        "cache: applied on me/v1.0.0, applied on me/v2.0.0",
        f"  {dropped}",
        "    me/v1.0.0: exact at line 1",
        "    me/v2.0.0: dropped: no",
        "  @@",
        "   +        return q * k",
        "  -## engine/cache.py (new)",
        "  -+class Cache(dict):",
        "  -+    pass",
    ]


def test_a_stack_that_one_target_skips(two: World, shell: Shell) -> None:
    target(two, '[[skip]]\nstack = "cache"\nreason = "no"\nwhen = { present = "README.md: 2" }\n')
    lines = diff(two, shell).out.splitlines()
    assert lines[0] == "cache: applied on me/v1.0.0, skipped (no) on me/v2.0.0"
    assert "  -+class Cache(dict):" in lines


def test_the_same_for_machines(two: World, shell: Shell) -> None:
    target(two, '[[skip]]\nstack = "cache"\nreason = "no"\nwhen = { present = "README.md: 2" }\n')
    told = json.loads(diff(two, shell, "--json").out)
    assert told["targets"] == ["me/v1.0.0", "me/v2.0.0"]
    (stack,) = told["stacks"]
    assert (stack["same"], stack["outcomes"]) == (False, ["applied", "skipped"])


def test_a_stack_that_neither_has_is_one_line(two: World, shell: Shell) -> None:
    done = diff(two, shell, "--stack", "other")
    assert (done.code, done.problems) == (
        2,
        ["backport: error: there is no stack 'other'; known: cache"],
    )
