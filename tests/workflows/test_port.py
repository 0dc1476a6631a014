"""`port` carries a manifest to the next release; decisions are offered there, never used."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.repos import BRANCH, ENGINE, FUSED, Done, Shell, World

ATTENTION = "engine/attention.py"
NEXT = "manifests/me/v1.1.0.toml"


def release(world: World, files: dict[str, bytes | None]) -> None:
    """Upstream's next release, `v1.1.0`, with these files changed."""
    world.repo.commit("Engine 1.1.0\n", files)
    world.repo.git("tag", "v1.1.0")


def port(world: World, shell: Shell, *more: str) -> Done:
    return shell(*world.words("port"), "--from", "v1.0.0", "--to", "1.1.0", *more)


def written(world: World) -> str:
    path = world.library.root / NEXT
    return path.read_text() if path.exists() else ""


def hunk(world: World, patch: str, path: str) -> str:
    """The id of the only hunk of a patch in a file."""
    from backport.library import read

    stack = read(world.library.root)[0].stacks["cache"]
    (found,) = [str(i[0]) for i in stack.hunks() if i[0].patch == patch and i[0].path == path]
    return found


def reanchored(world: World, put: str) -> str:
    return (
        f'[[reanchor]]\nhunk = "{hunk(world, "p2", ATTENTION)}"\nput = "{put}"\n'
        f'reason = "last"\nwhen = {{ present = "{ATTENTION}::Attention.backward" }}\n'
    )


def test_a_release_that_takes_everything_gets_a_manifest_that_applies(
    world: World, shell: Shell
) -> None:
    release(world, {"README.md": b"# Engine 1.1\n"})
    done = port(world, shell)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "me/v1.0.0 -> me/v1.1.0 (0 hunks to decide)"
    assert lines[1] == "  cache: applied: 3 exact"
    assert lines[-1] == f"  {NEXT} is written"
    assert written(world) == (
        'schema = 1\nbase   = "v1.1.0"\nbranch = "me/v1.1.0"\nstacks = [\n  "cache",\n]\n'
    )
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    assert shell("apply", "--target", "me/v1.1.0", *place).code == 0
    expected = {**FUSED}
    assert world.repo.changed("me/v1.1.0", "v1.1.0") == expected


def test_nothing_is_overwritten_without_saying_so(world: World, shell: Shell) -> None:
    release(world, {"README.md": b"# Engine 1.1\n"})
    world.library.write(
        NEXT, "# mine\n" + 'schema = 1\nbase = "v1.1.0"\nbranch = "b"\nstacks = ["cache"]\n'
    )
    done = port(world, shell)
    assert (done.code, done.out) == (2, "")
    told = "exists; look at the report with --dry-run, or give --force to replace it"
    assert done.problems == [f"backport: error: {NEXT} {told}"]
    assert written(world).startswith("# mine\n")
    assert port(world, shell, "--dry-run").out.endswith(f"{NEXT} is not written (--dry-run)\n")
    assert written(world).startswith("# mine\n")
    assert port(world, shell, "--force").out.endswith(f"{NEXT} is replaced\n")
    assert "mine" not in written(world)


def test_a_part_does_not_take_the_place_of_a_whole(world: World, shell: Shell) -> None:
    release(world, {"README.md": b"# Engine 1.1\n"})
    other = world.library.root / "patches/other"
    shutil.copytree(world.library.root / "patches/cache", other)
    assert port(world, shell).code == 0
    path = world.library.root / NEXT
    path.write_text(path.read_text().replace('"cache",', '"other",\n  "cache",'))
    before = written(world)
    done = port(world, shell, "--stack", "cache", "--force")
    assert (done.code, written(world)) == (2, before)
    assert f"{NEXT} lists other too" in done.err


def test_a_stack_that_stands_on_another_names_it(world: World, shell: Shell) -> None:
    release(world, {"README.md": b"# Engine 1.1\n"})
    under = world.library.root / "patches/under"
    shutil.copytree(world.library.root / "patches/cache", under)
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text('after = ["under"]\n' + toml.read_text())
    manifest = world.library.root / "manifests/me/v1.0.0.toml"
    manifest.write_text(manifest.read_text().replace('["cache"]', '["under", "cache"]'))
    done = port(world, shell, "--stack", "cache")
    assert done.code == 2
    assert "cache stands on under; add --stack under" in done.err


def test_a_draft_spoils_its_own_target_only(world: World, shell: Shell) -> None:
    draft = world.library.root / NEXT
    draft.write_text('schema = 1\nbase = "v1.1.0"\nbranch = "x"\nstacks = ["cache", "gone"]\n')
    assert shell(*world.words("check"), "--no-audit").code == 0
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    done = shell("check", "--target", "me/v1.1.0", *place)
    assert done.code == 2
    assert "there is no stack" in done.err
    assert shell("check", "--all", *place).code == 2
    assert shell("lint", "--root", str(world.library.root)).code == 2


def test_a_parity_case_that_nobody_has_is_bad_input(world: World, shell: Shell) -> None:
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text('parity = ["router_gem"]\n' + toml.read_text())
    done = shell("lint", "--root", str(world.library.root))
    assert done.code == 2
    assert "there is no case 'router_gem'; did you mean 'router_gemm'?" in done.err


def test_the_case_of_a_file_has_its_name() -> None:
    pytest.importorskip("torch")
    from backport import library
    from backport.parity import cases

    assert sorted(cases.CASES) == sorted(path.stem for path in library.CASES.glob("[a-z]*.py"))


def test_what_a_person_must_decide_stands_in_the_manifest_as_comments(
    world: World, shell: Shell
) -> None:
    changed = ENGINE[ATTENTION].replace(b"return g * self.scale", b"return self.scale * g")
    release(world, {ATTENTION: changed})
    done = port(world, shell)
    assert done.code == 1
    assert "me/v1.0.0 -> me/v1.1.0 (1 hunk to decide)" in done.out
    line = 'absent = "engine/attention.py: return g * self.scale"'
    block = (
        f'[[reanchor]]\nhunk   = "{hunk(world, "p2", ATTENTION)}"\nput    = "before "\n'
        f'reason = ""\nwhen   = {{ {line} }}'
    )
    assert block.replace("\n", "\n# ") in written(world)
    assert block.replace("\n", "\n    ") in done.out
    checked = shell(
        "check", "--target", "me/v1.1.0", "--repo", world.repo.path, "--root", world.library.root
    )
    assert checked.code == 1
    assert "me/v1.1.0: conflict" in checked.out


def test_upstream_took_the_stack(world: World, shell: Shell) -> None:
    release(world, dict(FUSED))
    done = port(world, shell)
    assert done.code == 0
    assert "  cache: skipped: contained in v1.1.0" in done.out
    assert (
        '[[skip]]\nstack  = "cache"\nreason = "contained in v1.1.0"\n'
        'when   = { present = "engine/attention.py::Attention.cached" }\n'
    ) in written(world)


def test_the_report_for_machines_holds_the_same(world: World, shell: Shell) -> None:
    world.library.manifest("cache", more=reanchored(world, "last-in Attention"))
    release(world, {ATTENTION: b"other = 1\n"})
    done = port(world, shell, "--json", "--dry-run")
    told = json.loads(done.out)
    assert (done.code, told["from"], told["to"]) == (1, "me/v1.0.0", "me/v1.1.0")
    assert told["stacks"][0]["counts"] == {"conflict": 2, "exact": 1}
    (gone,) = told["gone"]
    assert gone["verb"] == "reanchor"
    assert "Attention.backward: it is not there" in gone["why"]
    (item,) = [item for item in told["undecided"] if item["before"]]
    assert item["before"]["lines"][2] == 'put    = "last-in Attention"'
    assert item["paste"][0] == "[[reanchor]]"


@pytest.mark.parametrize(
    ("to", "code", "problem"),
    [
        ("v1.0.0", 2, "v1.0.0 is the target to start from"),
        ("../x", 2, "'../x' is no release or target such as 0.29.0"),
        ("9.9.9", 3, "has no commit v9.9.9; get it with `git fetch --tags`"),
    ],
)
def test_a_release_that_is_none(
    to: str, code: int, problem: str, world: World, shell: Shell
) -> None:
    done = shell(*world.words("port"), "--from", "v1.0.0", "--to", to)
    assert (done.code, len(done.problems)) == (code, 1)
    assert problem in done.problems[0]


# ---------------------------------------------------------------- what was decided


def locked(world: World, shell: Shell, entry: str) -> None:
    """The decision is made for v1.0.0, and its target applied and locked."""
    world.library.manifest("cache", more=entry)
    assert shell(*world.words("apply", "--lock")).code == 0


def decisions(world: World) -> list[str]:
    folder = world.library.root / "patches/cache/resolutions"
    return sorted(path.name for path in folder.glob("*")) if folder.exists() else []


def test_a_decision_is_offered_by_check_and_port_and_used_by_neither(
    world: World, shell: Shell
) -> None:
    locked(world, shell, reanchored(world, "last-in Attention"))
    assert len(decisions(world)) == 1
    changed = ENGINE[ATTENTION].replace(b"return g * self.scale", b"return self.scale * g")
    release(world, {ATTENTION: changed})
    world.library.manifest("cache", name="me/v1.1.0", base="v1.1.0", branch="me/v1.1.0")
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    check = shell("check", "--target", "me/v1.1.0", *place)
    assert check.code == 1
    offer = check.out[check.out.index("decided for me/v1.0.0 (other text), and would fit here:") :]
    assert 'put    = "last-in Attention"' in offer
    assert 'reason = "last"' in offer
    assert "take it, then read it: backport check --target me/v1.1.0 --accept '" in offer
    told = json.loads(shell("check", "--target", "me/v1.1.0", *place, "--json").out)
    hunks = told["targets"][0]["stacks"][0]["hunks"]
    (offered,) = [item["offers"] for item in hunks if "offers" in item]
    assert (offered[0]["made"], offered[0]["match"]) == ("me/v1.0.0", "other text")
    (world.library.root / "manifests/me/v1.0.0.toml").unlink()
    (world.library.root / "manifests/me/v1.0.0.lock").unlink()
    world.library.manifest("cache")
    (world.library.root / NEXT).unlink()
    ported = port(world, shell)
    assert ported.code == 1
    assert "decided for me/v1.0.0" in ported.out
    assert world.repo.tip("me/v1.1.0") is None


def test_an_offer_is_taken_by_the_target_that_it_was_decided_for(
    world: World, shell: Shell
) -> None:
    locked(world, shell, reanchored(world, "last-in Attention"))
    changed = ENGINE[ATTENTION].replace(b"return g * self.scale", b"return self.scale * g")
    release(world, {ATTENTION: changed})
    world.library.manifest("cache", name="me/v1.1.0", base="v1.1.0", branch="me/v1.1.0")
    manifest = world.library.root / "manifests/me/v1.1.0.toml"
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    words = ("check", "--target", "me/v1.1.0", *place, "--accept")
    told = json.loads(shell(*words[:-1], "--json").out)["targets"][0]["stacks"][0]["hunks"]
    (hunk,) = [item["id"] for item in told if "offers" in item]
    before = manifest.read_text()
    refused = shell(*words, f"{hunk}=me/v9")
    assert (refused.code, len(refused.problems)) == (2, 1)
    assert "nothing that was decided for me/v9 is offered for this hunk" in refused.problems[0]
    assert manifest.read_text() == before
    taken = shell(*words, f"{hunk}=me/v1.0.0")
    assert "an entry in manifests/me/v1.1.0.toml, as it was decided there" in taken.err
    assert "# as it was decided for me/v1.0.0 (other text)\n[[reanchor]]" in manifest.read_text()
    assert shell(*words[:-1]).code == 0


def test_a_decision_that_would_not_fit_is_not_offered(world: World, shell: Shell) -> None:
    locked(world, shell, reanchored(world, "last-in Attention"))
    other = ENGINE[ATTENTION].replace(b"class Attention", b"class Other")
    release(world, {ATTENTION: other.replace(b"return g * self.scale", b"return self.scale * g")})
    world.library.manifest("cache")
    done = port(world, shell)
    assert done.code == 1
    assert "decided for" not in done.out


def test_a_decision_whose_evidence_does_not_hold_is_not_offered(world: World, shell: Shell) -> None:
    entry = reanchored(world, "last-in Attention").partition("when")[0]
    locked(world, shell, f'{entry}when = {{ absent = "{ATTENTION}: limit = 4" }}\n')
    changed = ENGINE[ATTENTION].replace(b"return g * self.scale", b"return self.scale * g")
    release(world, {ATTENTION: changed + b"\n\nlimit = 4\n"})
    world.library.manifest("cache")
    done = port(world, shell)
    assert done.code == 1
    assert "1 hunk to decide" in done.out
    assert "decided for" not in done.out


def test_a_decision_that_is_taken_back_is_forgotten(world: World, shell: Shell) -> None:
    locked(world, shell, reanchored(world, "last-in Attention"))
    locked(world, shell, "")
    assert decisions(world) == []
    assert world.repo.tip(BRANCH)


def test_a_file_of_decisions_that_is_damaged_is_told_by_lint(world: World, shell: Shell) -> None:
    world.library.write("patches/cache/resolutions/x.toml", "schema = 1\n[[resolution]]\n")
    done = shell("lint", "--root", world.library.root)
    assert done.code == 2
    assert (
        "patches/cache/resolutions/x.toml:2: resolution[1].hunk: is missing" in done.out + done.err
    )
