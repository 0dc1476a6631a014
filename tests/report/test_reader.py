"""The reader finds a repository as git does, and refuses what git refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from backport.checkout import Checkout
from backport.errors import EnvironmentProblem
from backport.reader import Reader
from tests.report.world import World


def test_it_reads_what_the_checkout_reads(shared_world: World) -> None:
    with Reader.open(shared_world.repo) as reader, Checkout.open(shared_world.repo) as checkout:
        assert reader.base("v1.0.0") == checkout.base("v1.0.0")
        commit = reader.base("v1.0.0")
        assert reader.tree(commit).paths() == checkout.tree(commit).paths()
        assert (reader.shown, reader.algorithm) == (checkout.shown, checkout.algorithm)
        assert reader.common_dir == checkout.common_dir.resolve()


def test_bare_repositories_and_worktrees(world: World, tmp_path: Path) -> None:
    world.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    with Reader.open(tmp_path / "bare.git") as reader:
        assert reader.shown == str(tmp_path / "bare.git")
        assert reader.commit_id("v1.0.0")
    world.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    with Reader.open(tmp_path / "tree") as reader:
        assert reader.shown == str(tmp_path / "tree")
        assert reader.common_dir == world.repo / ".git"
        assert reader.commit_id("v1.0.0")


def test_below_the_top_only_a_search_finds_it(shared_world: World) -> None:
    below = shared_world.repo / "pkg"
    with pytest.raises(EnvironmentProblem, match="not the top"):
        Reader.open(below)
    assert Reader.open(below, search=True).shown == str(shared_world.repo)


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_no_repository(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(EnvironmentProblem):
        Reader.open(tmp_path / name)


def test_a_missing_base_says_how_to_get_it(shared_world: World) -> None:
    with (
        Reader.open(shared_world.repo) as reader,
        pytest.raises(EnvironmentProblem, match="git fetch --tags"),
    ):
        reader.base("v7.0.0")
