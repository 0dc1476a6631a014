"""A release changed the true place of a change whose text stood twice on the stack's home."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.repos import Done, Library, Repo, Shell

BODY = "        a = 1\n        b = 2\n        c = 3\n        out(i)\n        d = 4\n        e = 5\n"
LOOPS = f"def f(q, k):\n    for i in q:\n{BODY}    for i in k:\n{BODY}\n\ndef out(i, j=0): ...\n"
PROPERTY = (
    f"class A:\n    @property\n    def x(self):\n{BODY}\n    @x.setter\n    def x(self, i):\n{BODY}"
)
WHY = (
    "its lines stand 2 times in the text that it was made on",
    "A.x is defined 1 time here, and 2 times where the patch was made",
)
CUDA = f"void sparse() {{\n{BODY}}}\n\nvoid dense() {{\n{BODY}}}\n"


def applied(tmp_path: Path, shell: Shell, path: str, home: str, target: str) -> tuple[Done, Repo]:
    repo = Repo.make(tmp_path / "repo")
    repo.commit("Home\n", {path: home.encode()})
    repo.git("tag", "v1.0.0")
    upstream = Repo(tmp_path / "upstream")
    shutil.copytree(repo.path, upstream.path)
    upstream.commit("Change\n\nWhy.\n", {path: home.replace("out(i)", "out(i, 1)", 1).encode()})
    repo.commit("Release\n", {path: target.encode()})
    repo.git("tag", "v2.0.0")
    library = Library.make(tmp_path / "library")
    root = ["--root", str(library.root)]
    taken = ["--stack", "one", "--home", "v1.0.0", "--repo", str(upstream.path)]
    assert shell("import", "v1.0.0..HEAD", *taken, *root).code == 0
    library.manifest("one", name="me/v2.0.0", base="v2.0.0")
    words = ["apply", "--target", "v2.0.0", "--repo", str(repo.path), "--no-parity", "--no-audit"]
    return shell(*words, *root), repo


def result(repo: Repo, path: str) -> str:
    refs = repo.git("for-each-ref", "--format=%(refname)", "refs/heads").split()
    (branch,) = [ref for ref in refs if "main" not in ref and "master" not in ref]
    return repo.git("show", f"{branch}:{path}") + "\n"


@pytest.mark.parametrize(
    ("path", "home", "target"),
    [
        ("m.py", LOOPS, LOOPS.replace("b = 2", "b = 22", 1)),
        ("m.cu", CUDA, CUDA.replace("b = 2", "b = 22", 1)),
    ],
    ids=["two loops of a function", "two functions of a language without scopes"],
)
def test_it_goes_where_a_three_way_merge_puts_it(
    path: str, home: str, target: str, tmp_path: Path, shell: Shell
) -> None:
    done, repo = applied(tmp_path, shell, path, home, target)
    assert done.code == 0, done.out
    assert "rule three-way" in done.out
    assert result(repo, path) == target.replace("out(i)", "out(i, 1)", 1)


def test_a_result_at_the_look_alike_is_not_already_there(tmp_path: Path, shell: Shell) -> None:
    one, two = LOOPS.split("    for i in k:\n")
    target = (
        f"{one.replace('b = 2', 'b = 22')}    for i in k:\n{two.replace('out(i)', 'out(i, 1)')}"
    )
    done, repo = applied(tmp_path, shell, "m.py", LOOPS, target)
    assert done.code == 0, done.out
    assert result(repo, "m.py").count("out(i, 1)") == 2


@pytest.mark.parametrize(
    ("path", "home", "target"),
    [
        (
            "m.py",
            PROPERTY,
            "class A:\n    x = property(len)\n\n" + PROPERTY[PROPERTY.index("    @x") :],
        ),
        ("m.cu", CUDA, CUDA[CUDA.index("void dense") :]),
    ],
    ids=["a setter of the same name", "another function"],
)
def test_where_the_true_place_is_gone_a_person_decides(
    path: str, home: str, target: str, tmp_path: Path, shell: Shell
) -> None:
    done, _ = applied(tmp_path, shell, path, home, target)
    assert done.code == 1
    assert any(why in done.out for why in WHY)


def test_the_audit_alone_places_it_as_apply_does(tmp_path: Path, shell: Shell) -> None:
    _, repo = applied(tmp_path, shell, "m.py", LOOPS, LOOPS.replace("b = 2", "b = 22", 1))
    root = ["--root", str(tmp_path / "library")]
    done = shell("audit", "--target", "v2.0.0", "--repo", str(repo.path), *root)
    assert done.code == 0, done.out
