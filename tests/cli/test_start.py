"""How the tool starts: what it imports, how many children it needs, how it finds its library."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repos import BRANCH, ENGINE, FUSED, PROJECT, Library, Repo, Shell, World, child, finished

HEAVY = ("git", "rich", "torch", "unearth", "httpx2", "email", "asyncio")


def imported(*words: str) -> set[str]:
    """Which of the heavy packages a run of the command line has imported at its end.

    A stand-in for torch notes that somebody tried to import it, installed or not.
    """
    script = (
        "import sys\n"
        "from backport.cli import run\n"
        f"code = run({[*words]!r})\n"
        f"found = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "sys.stderr.write('imported: ' + ' '.join(found))\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{_stand_ins()}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.rpartition("imported: ")[2].split())


def _stand_ins() -> Path:
    folder = Path(os.environ["HOME"]) / "stand-ins"
    folder.mkdir(exist_ok=True)
    (folder / "torch.py").write_text("")
    return folder


@pytest.mark.parametrize(
    "words",
    [("--help",), ("--version",), ("apply", "--help"), ("check", "--help"), ("fetch", "--help")],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(words: tuple[str, ...]) -> None:
    assert imported(*words) == set()


@pytest.mark.parametrize("verb", ["apply", "check"])
def test_applying_imports_neither_torch_nor_rich_nor_git(verb: str, world: World) -> None:
    assert imported(*world.words(verb, "-q")) == set()


def test_lint_imports_nothing_heavy(tmp_path: Path) -> None:
    empty = Library.make(tmp_path / "empty")
    assert imported("lint", "--root", str(empty.root)) == set()


# ---------------------------------------------------------------- children


def many_patches(world: World, count: int) -> None:
    """Make a stack of so many patches, each of which changes another line of one file."""
    lines = [b"line %d\n" % number for number in range(count * 10)]
    world.repo.commit("Lines\n", {"lines.txt": b"".join(lines)})
    world.repo.git("tag", "-f", "v1.0.0")
    mails = []
    for number in range(count):
        at = number * 10 + 5
        context = [b" " + line for line in lines[at - 3 : at + 4]]
        context[3:4] = [b"-" + lines[at], b"+changed %d\n" % number]
        mails.append(
            b"From: A <a@example.com>\nSubject: [PATCH] Change %d\n\n---\n" % number
            + b"diff --git a/lines.txt b/lines.txt\n--- a/lines.txt\n+++ b/lines.txt\n"
            + b"@@ -%d,7 +%d,7 @@\n" % (at - 2, at - 2)
            + b"".join(context)
        )
    for path in (world.library.root / "patches/cache").iterdir():
        path.unlink()
    world.library.stack("cache", mails)


@pytest.mark.parametrize("count", [1, 10, 100])
def test_apply_starts_at_most_four_git_children_whatever_the_number_of_patches(
    count: int, world: World, tmp_path: Path
) -> None:
    many_patches(world, count)
    calls = tmp_path / "calls"
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f"#!/bin/sh\necho \"$*\" >> '{calls}'\nexec '{shutil.which('git')}' \"$@\"\n"
    )
    wrapper.chmod(0o755)
    path = {"PATH": f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"}
    done = finished(child(*world.words("apply"), env=path))
    assert (done.code, done.err) == (0, "")
    assert world.repo.files(BRANCH)["lines.txt"].count(b"changed") == count
    assert len(calls.read_text().splitlines()) <= 4


# ---------------------------------------------------------------- ways to call it


def test_the_module_can_be_run(world: World) -> None:
    done = finished(child(*world.words("apply")))
    assert (done.code, done.err) == (0, "")
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)


def test_the_version_is_told(shell: Shell) -> None:
    done = shell("--version")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("backport, version ")


@pytest.mark.parametrize(("verb", "code"), [("check", 0), ("apply", 0), ("show", 2)])
def test_a_reader_that_goes_away_early_changes_nothing(verb: str, code: int, world: World) -> None:
    process = child(*world.words(verb, "-v" if code == 0 else "no such stack"))
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert len(err.splitlines()) == (code != 0)
    assert (world.repo.tip() is not None) == (verb == "apply")


def test_nobody_listens_at_all(world: World) -> None:
    process = child(*world.words("show", "no such stack"))
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    assert process.wait(timeout=60) == 2


def closed(world: World, redirect: str) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "backport", *world.words("apply")]
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    line = f"exec {shlex.join(words)} {redirect}"
    return subprocess.run(["sh", "-c", line], capture_output=True, check=False, env=env)


def test_a_standard_output_that_is_closed_from_the_start(world: World) -> None:
    done = closed(world, ">&-")
    assert (done.returncode, done.stderr) == (0, b"")
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)


def test_a_standard_output_that_is_full_is_one_line(world: World) -> None:
    done = closed(world, ">/dev/full")
    assert done.returncode == 3
    assert done.stderr == b"backport: error: No space left on device\n"
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)  # the work was done before


def test_output_in_a_locale_without_unicode(world: World) -> None:
    toml = world.library.root / "patches/cache/stack.toml"
    toml.write_text(toml.read_text().replace("Cache the product", "Größer 漢字"))
    place = ("--repo", str(world.repo.path), "--root", str(world.library.root))
    env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = finished(child("show", "cache", *place, env=env))
    assert done.code == 0
    assert "Traceback" not in done.err


# ---------------------------------------------------------------- where the library is


def known(shell: Shell, *words: str) -> str:
    """What the library that is found says of the stacks that it knows."""
    done = shell("show", "x", *words)
    assert done.code == 2
    (line,) = done.problems
    return line.partition("; ")[2]


@pytest.fixture
def empty(tmp_path: Path) -> Library:
    """A library that can be told from the world's: it holds nothing."""
    return Library.make(tmp_path / "empty")


WORLDS = "known: cache"
EMPTY = "none is known"


def test_the_library_is_the_nearest_parent_that_holds_one(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.library.root / "patches/cache")
    assert known(shell) == WORLDS


def test_the_variable_goes_before_the_parents(
    world: World, empty: Library, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.library.root)
    monkeypatch.setenv("BACKPORT_ROOT", str(empty.root))
    assert known(shell) == EMPTY


def test_the_option_goes_before_the_variable(
    world: World, empty: Library, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BACKPORT_ROOT", str(empty.root))
    assert known(shell, "--root", str(world.library.root)) == WORLDS


def test_a_variable_that_names_no_library_is_an_error(
    world: World, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.library.root)
    monkeypatch.setenv("BACKPORT_ROOT", str(tmp_path))
    done = shell("lint")
    assert done.code == 2
    assert done.problems == [
        f"backport: error: {tmp_path}: holds no patches/ and manifests/ folders"
    ]


# ---------------------------------------------------------------- which repository


def vllm_checkout(world: World) -> Repo:
    """Make the world's checkout look like one of the project."""
    world.repo.commit("Named\n", {"vllm/__init__.py": b"", **ENGINE})
    world.repo.git("tag", "-f", "v1.0.0")
    return world.repo


@pytest.mark.parametrize("folder", [".", "vllm"])
def test_without_repo_the_checkout_around_the_current_folder_is_taken(
    folder: str, world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = vllm_checkout(world)
    monkeypatch.chdir(repo.path / folder)
    done = shell("apply", "--target", "v1.0.0", "--root", str(world.library.root))
    assert (done.code, done.err) == (0, "")
    assert repo.changed(BRANCH, "v1.0.0") == dict(FUSED)


def test_a_checkout_of_something_else_is_not_taken(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.library.manifest("cache", base="main")
    monkeypatch.chdir(world.repo.path)
    done = shell("apply", "--target", "v1.0.0", "--root", str(world.library.root))
    assert done.code == 2
    assert done.problems == [
        "backport: error: 'main' is not a release such as 0.28.0; give a repository with --repo"
    ]
    assert world.repo.tip() is None


def test_a_relative_repository_path(
    world: World, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world.repo.path.parent)
    done = shell("apply", "--target", "v1.0.0", "--repo", "repo", "--root", "library")
    assert (done.code, done.err) == (0, "")
    assert world.repo.changed(BRANCH, "v1.0.0") == dict(FUSED)
