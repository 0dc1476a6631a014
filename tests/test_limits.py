"""Bombs and mountains: what is too much is refused in one line, and never hangs.

Each input runs in a process of its own with a limit on its memory, and its time at a
processor is measured: waiting for others does not count.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import diff, mail, numbered
from tests.repos import PROJECT, World

MEMORY = 1 << 30  # bytes of address space, the interpreter included
SECONDS = 20  # at a processor; on a machine of its own each takes less than three

Made = Callable[[], dict[str, bytes]]


def hunks(count: int, context: int = 3) -> bytes:
    """A diff of `count` hunks that stand one line further down on the target."""
    out = [b"diff --git a/f b/f\n--- a/f\n+++ b/f\n"]
    for number in range(count):
        at = number * 8 + 1
        lines = [b"line %d\n" % (at + n) for n in range(7)]
        marked = [b" " + line for line in lines]
        marked[context : context + 1] = [b"-" + lines[context], b"+new\n"]
        out.append(b"@@ -%d,7 +%d,7 @@\n%s" % (at, at, b"".join(marked)))
    return b"".join(out)


def one_hunk(count: int) -> bytes:
    old = b"".join(b"-line %d\n" % n for n in range(1, count + 1))
    return b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,%d +1,%d @@\n%s%s" % (
        count,
        count,
        old,
        old.replace(b"\n", b"x\n").replace(b"-line", b"+line"),
    )


def stack(patch: bytes) -> dict[str, bytes]:
    return {"patches/cache/p1.patch": patch, "patches/cache/series": b"p1\n"}


def manifest(text: bytes) -> dict[str, bytes]:
    head = b'schema = 1\nbase = "v1.0.0"\nbranch = "b"\nstacks = ["cache"]\n'
    return {"manifests/me/v1.0.0.toml": head + text}


NESTED = b"x = " + b"[\n" * 200_000
ENTRY = b'[[accept]]\ncode = "c"\npath = "p"\nsymbol = "s"\nreason = "r"\n'
A = b"     a\n"
SCOPED = b"--- a/m.py\n+++ b/m.py\n@@ -9,6 +9,7 @@ f7\n" + A * 3 + b"+    b\n" + A * 3
INPUTS: dict[str, tuple[Made, int, str]] = {
    "a hunk of 200,000 lines": (lambda: stack(one_hunk(200_000)), 0, "1 hunk"),
    "2,000 hunks that moved": (lambda: stack(hunks(2_000)), 0, "2000 hunks (2000 moved)"),
    "100,000 hunks": (lambda: stack(hunks(100_000)), 2, "f has more than 2,000 hunks"),
    "lines that stand 20,000 times": (
        lambda: stack(SCOPED),
        1,
        "its lines stand at more than 1,000 places",
    ),
    "a header of a million letters": (
        lambda: stack(mail("[PATCH] " + "[" * 10**6, diff("f", "a\n", "b\n"))),
        2,
        "the header 'subject' is longer than 16,384 bytes",
    ),
    "a header of a million blanks": (
        lambda: stack(mail("x", diff("f", "a\n", "b\n"), author=" " * 10**6 + "x")),
        2,
        "the header 'from' is longer than 16,384 bytes",
    ),
    "a header of many lines": (
        lambda: stack(mail("x", b"", headers="".join("X: y\n" + " z\n" * 10**5))),
        2,
        "the header 'x' is longer than 16,384 bytes",
    ),
    "deep TOML": (lambda: manifest(NESTED), 2, "not TOML"),
    "TOML of one long key": (
        lambda: manifest(b".".join([b"a"] * 200_000) + b" = 1\n"),
        2,
        ":5: a line of 400,003 letters",
    ),
    "60,000 unknown keys": (
        lambda: manifest(b"".join(b"k%d = 1\n" % n for n in range(60_000))),
        2,
        "has more problems; mend these first",
    ),
    "10,000 entries": (lambda: manifest(ENTRY * 10_000), 2, "over the limit of 1,000"),
    "a manifest of 2 MiB": (lambda: manifest(b"#" * (2 << 20)), 2, "over the limit of 1,048,576"),
    "a series of 100,000 names": (
        lambda: {"patches/cache/series": b"".join(b"q%d\n" % n for n in range(100_000))},
        2,
        "there is no q0.patch",
    ),
    "Python of 100,000 parentheses": (
        lambda: stack(diff("deep.py", None, "(" * 100_000 + "\n")),
        1,
        "deep.py:1",
    ),
    "Python of 100,000 signs": (
        lambda: stack(diff("deep.py", None, "x = " + "-" * 100_000 + "1\n")),
        1,
        "deep.py",
    ),
    "a binary file that says 10 GiB": (
        lambda: stack(
            b"diff --git a/b b/b\nnew file mode 100644\nindex 0000000..1111111\n"
            b"GIT binary patch\nliteral 10737418240\nzcmZ\n\n"
        ),
        2,
        "over the limit of 67,108,864",
    ),
}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


@pytest.fixture
def mountain(world: World) -> World:
    """A world whose release has a long file, and one in which everything looks alike."""
    alike = b"".join(b"def f%d():\n" % n + b"    a\n" * 50 for n in range(400))
    world.repo.commit("Long\n", {"f": b"top\n" + numbered(1, 16_100).encode(), "m.py": alike})
    world.repo.git("tag", "-f", "v1.0.0")
    return world


@pytest.mark.parametrize(("made", "code", "said"), INPUTS.values(), ids=INPUTS.keys())
def test_huge_input_is_read_or_refused_in_bounded_time_and_memory(
    made: Made, code: int, said: str, mountain: World
) -> None:
    for name, data in made().items():
        if name.endswith(".patch"):
            for old in (mountain.library.root / "patches/cache").glob("*.patch"):
                old.unlink()
        mountain.library.write(name, data)
    if said == "1 hunk":  # without context it belongs to a whole file
        mountain.repo.commit("Whole\n", {"f": numbered(1, 200_000).encode()})
        mountain.repo.git("tag", "-f", "v1.0.0")
    done = subprocess.run(
        [sys.executable, "-m", "backport", *mountain.words("check", "--no-cache", "--jobs", "1")],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
    )
    text = done.stdout + done.stderr
    assert done.returncode == code, text[:2000]
    assert said in text, text[:2000]
    assert "Traceback" not in text
    assert len(text) < 100_000


def test_a_gibibyte_is_not_even_read(world: World, tmp_path: Path) -> None:
    with (world.library.root / "patches/cache/p1.patch").open("wb") as file:
        file.truncate(1 << 30)
    done = subprocess.run(
        [sys.executable, "-m", "backport", *world.words("check")],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY // 2, MEMORY // 2)),
    )
    assert done.returncode == 2
    assert "is 1,073,741,824 bytes, over the limit of 268,435,456" in done.stderr
