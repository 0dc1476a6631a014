"""What a target takes of other projects, against what the stack's home takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.repos import Library, Repo, Shell

OLD, NEW = b"kernels>=1.2\n", b"kernels>=1.4\n"
CODE = b"import kernels\n\n\ndef f(x):\n    return kernels.split(x)\n"


@pytest.fixture
def repo(tmp_path: Path, shell: Shell) -> Repo:
    """Two releases, and a library with one stack that was made on the second."""
    repo = Repo.make(tmp_path / "repo")
    repo.commit("Release\n", {"requirements.txt": OLD, "m.py": CODE})
    repo.git("tag", "v1.0.0")
    repo.commit("Home\n", {"requirements.txt": NEW})
    repo.git("tag", "v2.0.0")
    repo.commit("Fuse\n\nWhy.\n", {"m.py": CODE.replace(b"split", b"fused")})
    library = Library.make(tmp_path / "library")
    taken = ["--stack", "one", "--home", "v2.0.0", "--repo", str(repo.path)]
    assert shell("import", "v2.0.0..HEAD", *taken, "--root", str(library.root)).code == 0
    library.manifest("one", name="me/v1.0.0", base="v1.0.0")
    return repo


def checks(shell: Shell, repo: Repo, tmp_path: Path) -> dict[str, Any]:
    words = ["--target", "v1.0.0", "--repo", str(repo.path), "--root", str(tmp_path / "library")]
    done = shell("check", *words, "--no-parity", "--json")
    (target,) = json.loads(done.out)["targets"]
    return {check["name"]: check for check in target["checks"]}


def test_a_part_that_only_the_home_is_sure_to_have(
    repo: Repo, tmp_path: Path, shell: Shell
) -> None:
    found = checks(shell, repo, tmp_path)["dependencies"]
    assert found["status"] == "failed"
    ((path, line, symbol),) = [(f["path"], f["line"], f["symbol"]) for f in found["findings"]]
    assert (path, line, symbol) == ("m.py", 5, "kernels.fused")


def test_a_kept_result_is_of_the_home_that_was_at_hand(
    repo: Repo, tmp_path: Path, shell: Shell
) -> None:
    commit = repo.git("rev-parse", "v2.0.0")
    repo.git("tag", "-d", "v2.0.0")
    assert checks(shell, repo, tmp_path)["dependencies"]["status"] == "not_run"
    repo.git("tag", "v2.0.0", commit)
    assert checks(shell, repo, tmp_path)["dependencies"]["status"] == "failed"
