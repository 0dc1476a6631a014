"""A conflict says where the symbol that its hunk belongs to is now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.repos import Library, Repo, Shell, World, patches

BODY = "    start = 0\n    for size in sizes:\n        start += size\n    return start\n"
BASE = f"def split(sizes):\n{BODY}"
NOW = {
    "another name": (
        {"a.py": f"def cut(sizes):\n{BODY.replace('start += size', 'start -= size')}"},
        "split is not there, and cut at line 1 has 3 of its 5 lines",
    ),
    "a method": (
        {
            "a.py": "class A:\n    def _split(self):\n"
            + "".join(f"    {x}" for x in BODY.splitlines(True))
        },
        "split is not there, and A._split at line 2 has 4 of its 5 lines",
    ),
    "another file": (
        {"a.py": "x = 1\n", "pkg/b.py": f"import os\n\n\n{BASE}", "c.txt": BASE},
        "split is not there; that name is defined at pkg/b.py:4",
    ),
    "many files": (
        {"a.py": "x = 1\n", **{f"b{number}.py": BASE for number in range(5)}},
        "that name is defined at b0.py:1, b1.py:1, b2.py:1 and 2 more",
    ),
    "nowhere": (
        {"a.py": "x = 1\n"},
        "split is not there, and nothing in the file looks like it",
    ),
}


@pytest.mark.parametrize("verb", ["check", "port"])
@pytest.mark.parametrize(("now", "expected"), NOW.values(), ids=NOW)
def test_where_the_symbol_is(
    now: dict[str, str], expected: str, verb: str, tmp_path: Path, shell: Shell
) -> None:
    repo = Repo.make(tmp_path / "repo")
    repo.commit("One\n", {"a.py": BASE.encode()})
    repo.git("tag", "v1.0.0")
    upstream = Repo(tmp_path / "upstream")
    shutil.copytree(repo.path, upstream.path)
    changed = BASE.replace("start += size", "start += 2 * size")
    upstream.commit("Double\n\nIt is needed.\n", {"a.py": changed.encode()})
    repo.commit("Two\n", {path: text.encode() for path, text in now.items()})
    repo.git("tag", "v2.0.0")
    library = Library.make(tmp_path / "library")
    taken = ["--stack", "two", "--home", "v1.0.0", "--repo", str(upstream.path)]
    root = ["--root", str(library.root)]
    assert shell("import", "v1.0.0..HEAD", *taken, *root).code == 0
    library.manifest("two", name="me/v1.0.0", base="v1.0.0")
    library.manifest("two", name="me/v2.0.0", base="v2.0.0")
    place = ["--repo", str(repo.path), *root, "--no-audit"]
    words = {
        "check": ["check", "--target", "v2.0.0", "--no-parity"],
        "port": ["port", "--from", "me/v1.0.0", "--to", "you/v2.0.0", "--dry-run"],
    }
    done = shell(*words[verb], *place)
    assert done.code == 1
    assert expected in done.out


@pytest.mark.parametrize("absent", [True, False])
def test_a_home_that_is_not_there_is_named_with_its_mend(
    absent: bool, world: World, tmp_path: Path, shell: Shell
) -> None:
    other = Repo.make(tmp_path / "other") if absent else world.repo
    other.commit("Two\n", {"engine/attention.py": b"class Attention:\n    pass\n"})
    other.git("tag", "v2.0.0")
    world.library.manifest("cache", name="me/v2.0.0", base="v2.0.0")
    place = ["--repo", str(other.path), "--root", str(world.library.root)]
    out = shell("check", "--target", "v2.0.0", *place).out
    why = (
        "nothing could be merged: its home v1.0.0 is not in this repository; "
        "get it with `git fetch --tags` or `backport fetch 1.0.0`"
    )
    assert (why in out) is absent
    assert "[conflict]" in out


def test_what_a_stack_below_defines_is_there(tmp_path: Path, shell: Shell) -> None:
    repo = Repo.make(tmp_path / "repo")
    repo.commit("One\n", {"a.py": b"import os\n"})
    repo.git("tag", "v1.0.0")
    upstream = Repo(tmp_path / "upstream")
    shutil.copytree(repo.path, upstream.path)
    made = b"import os\n\n\nclass Foo:\n    def run(self):\n        x = 1\n        return x\n"
    upstream.commit("Foo\n", {"a.py": made})
    upstream.git("tag", "foo")
    upstream.commit("Zero\n", {"a.py": made.replace(b"x = 1", b"x = 0")})
    upstream.git("tag", "zero")
    upstream.commit("Two\n", {"a.py": made.replace(b"x = 1", b"x = 2")})
    library = Library.make(tmp_path / "library")
    library.stack("low", patches(upstream, "v1.0.0", "foo"))
    (mail,) = patches(upstream, "zero")
    library.stack("top", [mail.replace(b"@@ import os\n", b"@@ Foo.run\n")])
    assert b"@@ Foo.run" in (library.root / "patches/top/p1.patch").read_bytes()
    library.manifest("low", "top")
    place = ["--repo", str(repo.path), "--root", str(library.root), "--no-audit", "--no-parity"]
    done = shell("check", "--target", "v1.0.0", *place)
    assert "top: conflict" in done.out
    assert "is not there" not in done.out
