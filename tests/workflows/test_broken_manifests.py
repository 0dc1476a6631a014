"""A manifest that is broken spoils its own target, and no other one's result."""

from __future__ import annotations

import json

import pytest

from tests.repos import Shell, World

GONE = """
[[drop]]
hunk   = "cache/p1:engine/attention.py#1@00000000"
reason = "it is not needed"
when   = { present = "README.md" }
"""
BROKEN = {
    "a hunk that is gone": ("me/v2.0.0.toml", 'schema = 1\nbase = "v1.0.0"\nbranch = "two"\n'
                            'stacks = ["cache"]\n' + GONE),
    "no TOML": ("me/v2.0.0.toml", "schema = \n"),
    "not to be read": ("me/v2.0.0.toml", "#" * 2_000_000),
}  # fmt: skip


@pytest.fixture(params=[*BROKEN.values()], ids=[*BROKEN])
def broken(request: pytest.FixtureRequest, world: World) -> World:
    name, text = request.param
    world.library.write(f"manifests/{name}", text)
    return world


def place(world: World) -> list[str]:
    return world.words("status")[1:]


def test_check_tells_it_and_every_other_target(broken: World, shell: Shell) -> None:
    done = shell("check", "--all", "--no-audit", "--no-parity", "--json", *place(broken))
    told = {one["target"]: one for one in json.loads(done.out)["targets"]}
    assert done.code == 2
    assert told["me/v1.0.0"]["verdict"] == "clean"
    assert told["me/v2.0.0"]["verdict"] == "error"
    assert "manifests/me/v2.0.0.toml" in told["me/v2.0.0"]["error"]


def test_status_and_show_tell_what_can_be_read(broken: World, shell: Shell) -> None:
    status = shell("status", *place(broken))
    assert status.code == 2
    assert "exact" in status.out
    assert "me/v1.0.0" in shell("show", "cache", *place(broken)).out


def test_alone_it_is_refused_by_its_own_lines(broken: World, shell: Shell) -> None:
    for words in (["check", "--no-parity"], ["apply"]):
        done = shell(*words, "--target", "me/v2.0.0", *place(broken))
        assert (done.code, done.out) == (2, "")
        assert "manifests/me/v2.0.0.toml" in done.problems[0]
        assert shell(*words, "--target", "me/v1.0.0", "--no-audit", *place(broken)).code == 0


def test_a_problem_of_a_stack_is_everybody_s(world: World, shell: Shell) -> None:
    world.library.write("patches/cache/stack.toml", "schema = 1\n")
    done = shell("check", "--all", *place(world))
    assert (done.code, done.out) == (2, "")


def test_two_manifests_with_one_branch_are_refused_and_name_each_other(
    world: World, shell: Shell
) -> None:
    one, two = "manifests/me/v1.0.0.toml", "manifests/you/v1.0.0.toml"
    world.library.manifest("cache", name="you/v1.0.0", branch="me/v1.0.0")
    linted = shell("lint", "--root", world.library.root)
    assert linted.code == 2
    told = "branch: 'me/v1.0.0' is that of {} too; give each its own"
    lines = [f"{one}: {told.format(two)}", f"{two}: {told.format(one)}"]
    assert [line for line in linted.problems if "branch" in line] == lines
    for target, line in zip(("me/v1.0.0", "you/v1.0.0"), lines, strict=True):
        done = shell("apply", "--target", target, *place(world))
        assert (done.code, done.problems) == (2, [f"backport: error: {line}"])
    assert world.repo.tip("me/v1.0.0") is None
