"""What is shown: JSON for machines, plain lines, a table on a terminal, and nothing unsafe."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.repos import BRANCH, PROJECT, Shell, World, make_world, patches

HOSTILE = "esc \x1b[31m cr \r bidi \u202e zero\u200bwidth [kimik3] list[int] [/?#] [bold]x[/bold]"

Json = dict[str, Any]


def report(world: World, shell: Shell, verb: str, *more: str) -> Json:
    done = shell(*world.words(verb, "--json", *more))
    assert done.err == ""
    loaded: Json = json.loads(done.out)
    return loaded


# ---------------------------------------------------------------- JSON


def test_the_json_of_apply_has_every_promised_key(world: World, shell: Shell) -> None:
    found = report(world, shell, "apply")
    assert found["schema"] == 1
    (target,) = found["targets"]
    assert target["target"] == "me/v1.0.0"
    assert target["base"] == world.repo.git("rev-parse", "v1.0.0^{commit}")
    assert target["branch"] == BRANCH
    assert target["verdict"] == "clean"
    assert target["tree"] == world.repo.git("rev-parse", f"{BRANCH}^{{tree}}")
    (stack,) = target["stacks"]
    assert (stack["name"], stack["outcome"]) == ("cache", "applied")
    assert stack["commit"] == world.repo.tip()
    first = stack["hunks"][0]
    assert first["id"].startswith("cache/p1:engine/attention.py#1@")
    promised = {"path": "engine/attention.py", "outcome": "exact", "line": 9, "offset": 0}
    assert {key: first[key] for key in promised} == promised
    assert first["reason"] is None
    checks = {check["name"]: check for check in target["checks"]}
    assert checks["compile"]["status"] == "passed"
    assert checks["compile"]["findings"] == []


def test_check_gives_the_json_of_apply_without_commits(world: World, shell: Shell) -> None:
    checked = report(world, shell, "check")
    applied = report(world, shell, "apply")
    applied["targets"][0]["did"] = checked["targets"][0]["did"]
    for stack in applied["targets"][0]["stacks"]:
        assert stack["commit"] is not None
        stack["commit"] = None
    assert applied == checked


EARLY: dict[str, tuple[Callable[[World], object], list[str], int]] = {
    "wrong usage": (lambda world: None, ["apply", "--nothing"], 2),
    "a target that is not there": (lambda world: None, ["check", "--target", "v9"], 2),
    "a damaged library": (
        lambda world: world.library.write("patches/cache/p1.patch", "no"),
        ["apply", "--target", "v1.0.0"],
        2,
    ),
    "a repository without the base": (
        lambda world: world.repo.git("tag", "-d", "v1.0.0"),
        ["apply", "--target", "v1.0.0"],
        3,
    ),
}


@pytest.mark.parametrize(("spoil", "words", "code"), EARLY.values(), ids=EARLY.keys())
def test_a_run_that_ends_early_tells_a_machine_why(
    spoil: Callable[[World], object], words: list[str], code: int, world: World, shell: Shell
) -> None:
    spoil(world)
    done = shell(*words, *world.words("x")[1:], "--json")
    found: Json = json.loads(done.out)
    assert (done.code, found["exit_code"], found["targets"]) == (code, code, [])
    assert [f"backport: error: {line}" for line in found["problems"]] == done.problems


def test_a_conflict_in_json(world: World, shell: Shell) -> None:
    world.repo.commit("Turned\n", {"engine/attention.py": b"class Attention:\n    pass\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    (target,) = report(world, shell, "apply")["targets"]
    assert (target["verdict"], target["tree"]) == ("conflict", None)
    (stack,) = target["stacks"]
    assert (stack["outcome"], stack["commit"]) == ("conflict", None)
    assert [hunk["outcome"] for hunk in stack["hunks"]] == ["conflict", "conflict", "exact"]
    assert (stack["hunks"][0]["line"], stack["hunks"][0]["offset"]) == (0, 0)


def test_a_moved_a_dropped_and_a_skipped_thing_in_json(world: World, shell: Shell) -> None:
    base = (world.repo.path / "engine/attention.py").read_bytes()
    world.repo.commit("Longer\n", {"engine/attention.py": b"# one\n# two\n" + base})
    world.repo.git("tag", "-f", "v1.0.0")
    world.library.stack("other", [(world.library.root / "patches/cache/p2.patch").read_bytes()])
    hunks = report(world, shell, "check")["targets"][0]["stacks"][0]["hunks"]
    world.library.manifest(
        "cache",
        "other",
        more=f'[[drop]]\nhunk = "{hunks[2]["id"]}"\nreason = "not wanted"\n'
        'when = { absent = "engine/cache.py" }\n'
        '[[skip]]\nstack = "other"\nreason = "contained"\nwhen = { present = "README.md" }\n',
    )
    first, second = report(world, shell, "apply")["targets"][0]["stacks"]
    moved, dropped = first["hunks"][0], first["hunks"][2]
    assert (moved["outcome"], moved["line"], moved["offset"]) == ("moved", 11, 2)
    assert (dropped["outcome"], dropped["reason"]) == ("dropped", "not wanted")
    assert (second["outcome"], second["commit"], second["hunks"]) == ("skipped", None, [])


def test_a_finding_in_json(world: World, shell: Shell) -> None:
    world.repo.commit("Broken\n", {"engine/ops.py": b"def gather(:\n"})
    for path in (world.library.root / "patches/cache").glob("*.patch"):
        path.unlink()
    world.library.stack("cache", patches(world.repo, "v1.0.0"))
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    (target,) = report(world, shell, "check")["targets"]
    checks = {check["name"]: check for check in target["checks"]}
    assert (target["verdict"], checks["compile"]["status"]) == ("failed", "failed")
    (finding,) = checks["compile"]["findings"]
    promised = {
        "path": "engine/ops.py",
        "line": 1,
        "column": 12,
        "severity": "error",
        "code": "syntax",
        "message": "invalid syntax",
    }
    assert {key: finding[key] for key in promised} == promised


def test_every_target_of_check_all_is_in_the_json_even_one_without_its_base(
    world: World, shell: Shell
) -> None:
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0", branch="me/v2.0.0")
    place = world.words("x")[1:]
    done = shell("check", "--all", "--json", *place)
    assert (done.code, done.err) == (3, "")
    targets = json.loads(done.out)["targets"]
    assert [target["verdict"] for target in targets] == ["clean", "error"]
    assert "has no commit v2.0.0" in targets[1]["error"]


def test_json_is_ascii_and_one_value_whatever_paths_are_called(world: World, shell: Shell) -> None:
    name = "caf\udce9 \x1b[31m \u202e.txt"
    world.repo.commit("Odd\n", {name: b"x\n"})
    world.library.stack("cache", patches(world.repo, "v1.0.0"))
    (world.library.root / "patches/cache/p2.patch").unlink()
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    done = shell(*world.words("check", "--json"))
    assert done.out.isascii()
    assert "\x1b" not in done.out
    assert json.loads(done.out)["targets"][0]["stacks"][0]["hunks"][0]["path"] == name


# ---------------------------------------------------------------- plain text


def test_plain_text_is_told_where_there_is_no_terminal(world: World, shell: Shell) -> None:
    done = shell(*world.words("apply"))
    commit, base = world.repo.tip() or "", world.repo.git("rev-parse", "v1.0.0^{commit}")
    tree = world.repo.git("rev-parse", f"{BRANCH}^{{tree}}")
    assert done.out.splitlines()[:3] == [
        f"me/v1.0.0: clean (base {base[:12]}, tree {tree[:12]})",
        f"  cache: applied: 3 hunks (3 exact), commit {commit[:12]}",
        "  reverted: not run (`backport audit` looks for later history in a clone)",
    ]
    assert done.out.splitlines()[-1] == f"  branch {BRANCH} made in {world.repo.path}"


def test_quiet_tells_only_problems(world: World, shell: Shell) -> None:
    done = shell(*world.words("apply", "-q"))
    assert (done.code, done.out, done.err) == (0, "", "")
    world.repo.commit("Turned\n", {"engine/attention.py": b"class Attention:\n    pass\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    hunk = "cache/p1:engine/attention.py#1@"
    drop = '[[drop]]\nhunk = "{}"\nreason = "r"\nwhen = {{ present = "README.md" }}\n'
    (named,) = re.findall(f"{hunk}[0-9a-f]+", shell(*world.words("check", "-v")).out)[:1]
    world.library.manifest("cache", more=drop.format(named))
    assert f"dropped {hunk}" in shell(*world.words("check")).out
    done = shell(*world.words("check", "-q"))
    first, *rest = done.out.splitlines()
    assert done.code == 1
    assert first.startswith("me/v1.0.0: conflict")
    assert rest[0].startswith("  patches/cache/p2.patch:")
    assert not [line for line in rest if "dropped" in line or "not run" in line]


def test_quiet_tells_a_check_that_failed(world: World, shell: Shell) -> None:
    more = '[[accept]]\ncode = "x"\npath = "p"\nsymbol = "s"\nreason = "r"\n'
    world.library.manifest("cache", more=more)
    lines = shell(*world.words("check", "-q")).out.splitlines()
    assert lines[0].startswith("me/v1.0.0: failed")
    assert "[stale-accept]" in "".join(lines)
    assert not [line for line in lines if "applied" in line or "passed" in line]


def test_a_lock_is_told_to_depend_on_the_target(world: World, shell: Shell) -> None:
    lock = world.library.root / "manifests/me/v1.0.0.lock"
    world.repo.commit("Turned\n", {"engine/attention.py": b"class Attention:\n    pass\n"})
    world.repo.git("tag", "-f", "v1.0.0")
    note = "is written by this run, where the target is clean"
    assert note in shell(*world.words("apply", "--lock")).out
    assert not lock.exists()
    assert note not in shell(*world.words("apply", "--lock", "--dry-run")).out


def test_verbose_tells_every_hunk(world: World, shell: Shell) -> None:
    plain = shell(*world.words("check")).out
    verbose = shell(*world.words("check", "-v")).out
    assert "engine/cache.py#1@" not in plain
    assert verbose.count("    exact cache/p") == 3


def three_targets(world: World) -> str:
    """Two targets that are clean and, between them, one in conflict; the line of a clean one."""
    world.repo.commit("Turned\n", {"engine/attention.py": b"class Attention:\n    pass\n"})
    world.repo.git("tag", "v1.1.0")
    world.library.manifest("cache", name="me/v1.1.0", base="v1.1.0")
    world.library.manifest("cache", name="me/v1.2.0", branch="me/v1.2.0")
    base = world.repo.git("rev-parse", "v1.0.0^{commit}")
    return f": clean (base {base[:12]}, tree "


def test_of_several_targets_a_clean_one_takes_a_line_and_the_sum_is_told(
    world: World, shell: Shell
) -> None:
    clean = three_targets(world)
    words = ("check", "--all", "--no-audit", *world.words("x")[1:])
    lines = shell(*words).out.splitlines()
    assert lines[0].startswith(f"me/v1.0.0{clean}")
    assert re.search(r"\): stacks: 1 applied; not run: .*parity, lock$", lines[0])
    assert lines[1] == ""
    assert lines[2].startswith("me/v1.1.0: conflict (base ")
    assert "    [[reanchor]]" in lines
    assert lines[-3] == ""
    assert lines[-2].startswith(f"me/v1.2.0{clean}")
    assert lines[-1] == "3 targets: 2 clean, 1 conflict"


def test_of_several_targets_all_is_told_where_it_is_asked_for(world: World, shell: Shell) -> None:
    three_targets(world)
    words = ("check", "--all", "--no-audit", *world.words("x")[1:])
    verbose = shell(*words, "-v").out
    assert verbose.count("    exact cache/p") == 7
    assert verbose.endswith("\n\n3 targets: 2 clean, 1 conflict\n")
    quiet = shell(*words, "-q").out
    assert "clean" not in quiet
    assert quiet.startswith("me/v1.1.0: conflict")


# ---------------------------------------------------------------- a terminal


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, sealed: Path) -> World:
    """A world whose title, subjects, paths and reasons try to drive the terminal."""
    world = make_world(tmp_path_factory.mktemp("hostile"))
    world.repo.commit(f"{HOSTILE}\n\nBody\n", {f"{HOSTILE.replace('/', '_')}.txt": b"x\n"})
    mails = patches(world.repo, "v1.0.0")
    world.repo.git("reset", "-q", "--hard", "v1.0.0")
    for path in (world.library.root / "patches/cache").iterdir():
        path.unlink()
    world.library.stack("cache", mails, HOSTILE, f"Why {HOSTILE}")
    return world


def on_a_terminal(*words: str) -> str:
    """What a run shows on a terminal of its own, which is 80 columns wide."""
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "backport", *words],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm-256color", "COLUMNS": "80"},
    )
    os.close(terminal)
    shown = b""
    while select.select([screen], [], [], 60)[0]:
        try:
            piece = os.read(screen, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    assert process.wait(60) == 0
    return shown.decode()


_ALLOWED = re.compile(r"\x1b\[[0-9;]*m|\r?\x1b\[(?:2K|1A|\?25[hl])|\r+(?=\n)")


def styled(text: str) -> str:
    """The text without what the tool may send: colours, weights, and a progress bar's erasing."""
    return _ALLOWED.sub("", text).lstrip("\r")


def test_a_terminal_gets_a_table(world: World) -> None:
    shown = on_a_terminal(*world.words("apply"))
    lines = [line.split() for line in styled(shown).splitlines()]
    commit = world.repo.git("rev-parse", BRANCH)
    assert ["stack", "outcome", "exact", "commit"] in lines
    assert ["cache", "applied", "3", commit[:12]] in lines
    assert "\x1b[1;32mme/v1.0.0: clean" in shown


def test_several_targets_on_a_terminal(world: World) -> None:
    world.library.manifest("cache", name="me/v1.2.0", branch="me/v1.2.0")
    words = ("check", "--all", "--no-audit", *world.words("x")[1:])
    first, second, last = styled(on_a_terminal(*words)).splitlines()[-3:]
    assert first.startswith("me/v1.0.0: clean (")
    assert second.startswith("me/v1.2.0: clean (")
    assert last == "2 targets: 2 clean"


@pytest.mark.parametrize("verb", ["apply", "check", "show"])
def test_hostile_text_reaches_no_terminal(verb: str, hostile: World) -> None:
    place = hostile.words("x")[1:]
    words = ["show", "cache", *place] if verb == "show" else hostile.words(verb, "-v")
    shown = styled(on_a_terminal(*words))
    for control in ("\x1b", "\r", "\u202e", "\u200b"):
        assert control not in shown
    joined = shown.replace("\n", "")
    assert "esc \\x1b[31m cr \\x0d bidi \\u202e zero\\u200bwidth" in joined
    assert "[kimik3] list[int]" in joined
    assert "[bold]x[" in joined


@pytest.mark.parametrize("verb", ["apply", "check", "show", "status"])
def test_hostile_text_reaches_no_pipe(verb: str, hostile: World, shell: Shell) -> None:
    place = hostile.words("x")[1:]
    words = {"show": ["show", "cache", *place], "status": ["status", *place]}
    done = shell(*words.get(verb, hostile.words(verb, "-v")))
    assert done.code == 0
    for control in ("\x1b", "\r", "\u202e", "\u200b"):
        assert control not in done.out + done.err


def test_a_hostile_problem_reaches_no_terminal(world: World, shell: Shell) -> None:
    world.library.write("patches/cache/\x1b[31m\u202e.patch", b"x")
    done = shell(*world.words("apply"))
    assert done.code == 2
    (line,) = done.problems
    shown = "patches/cache/\\x1b[31m\\u202e.patch"
    assert line == f"backport: error: {shown}: is not listed in series; add or delete it"
