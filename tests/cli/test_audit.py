"""`backport audit`: findings as lines with their place, and what history says."""

from __future__ import annotations

import json

from tests.repos import FUSED, TITLE, Repo, Shell, World, patches

PULL = '\n[upstream]\nrepo = "one/engine"\npull = 7\nstate = "merged"\n'


def audited(shell: Shell, world: World, *more: str) -> tuple[int, str]:
    done = shell(*world.words("audit", "--target", "v1.0.0", *more))
    assert done.problems == []
    return done.code, done.out


def break_stack(world: World) -> None:
    """A first patch that leaves out an argument; the second one as it was."""
    clone = Repo(world.repo.path.parent / "wrong")
    world.repo.git("clone", "-q", str(world.repo.path), str(clone.path))
    wrong = FUSED["engine/attention.py"].replace(b"self.cached(q, k)", b"self.cached(q)")
    clone.commit(f"{TITLE}\n", {"engine/attention.py": wrong})
    clone.commit("Add the cache\n", {"engine/cache.py": FUSED["engine/cache.py"]})
    world.library.stack("cache", patches(clone, "v1.0.0"))


def test_a_clean_target(shell: Shell, world: World) -> None:
    code, out = audited(shell, world)
    assert code == 0
    assert out.startswith("me/v1.0.0: clean")
    assert "reverted: not run" in out


def test_a_finding_is_a_line_that_begins_with_its_place(shell: Shell, world: World) -> None:
    break_stack(world)
    code, out = audited(shell, world)
    assert code == 1
    first = "engine/attention.py:9:19: error: `Attention.cached` is called without `k`"
    assert out.startswith(f"{first} [missing-argument]\n")
    assert "\nme/v1.0.0: failed" in out
    assert audited(shell, world, "--quiet") == (1, f"{first} [missing-argument]\n")


def test_the_same_as_json(shell: Shell, world: World) -> None:
    break_stack(world)
    code, out = audited(shell, world, "--json")
    content = json.loads(out)
    assert (code, content["exit_code"]) == (1, 1)
    findings = [f for check in content["targets"][0]["checks"] for f in check["findings"]]
    assert [(f["code"], f["symbol"]) for f in findings] == [
        ("missing-argument", "Attention.cached(k)")
    ]


def test_a_change_that_the_project_took_back(shell: Shell, world: World) -> None:
    stack = world.library.root / "patches/cache/stack.toml"
    stack.write_text(stack.read_text() + PULL)
    code, out = audited(shell, world)
    assert (code, "reverted" in out) == (0, False)
    world.repo.commit("Docs\n\nAs #7 says.\n", {"README.md": b"# More\n"})
    assert audited(shell, world)[0] == 0
    world.repo.commit(f'Revert "{TITLE} (#7)" (#9)\n\nIt was slow.\n', {"README.md": b"# Less\n"})
    code, out = audited(shell, world)
    assert code == 1
    assert f"error: `{TITLE} (#7)` was reverted by " in out
    world.repo.commit(f'Reapply "{TITLE} (#7)" (#10)\n', {"README.md": b"# More\n"})
    assert audited(shell, world)[0] == 0


def test_an_unknown_code_and_a_missing_target_are_bad_input(shell: Shell) -> None:
    assert shell("audit").code == 2
    done = shell("audit", "--explain", "fake-differ")
    assert done.code == 2
    assert "fake-differs" in done.err


def test_a_code_explains_itself(shell: Shell) -> None:
    done = shell("audit", "--explain", "fake-differs")
    assert done.code == 0
    assert done.out.startswith("fake-differs: the fake of a custom op takes other arguments")
    assert "\nmend: " in done.out
