"""What the checkout layer does beyond what `apply` shows: new repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from backport.checkout import Checkout
from tests.repos import Repo


def test_a_new_repository_is_bare_and_has_its_settings(tmp_path: Path) -> None:
    Checkout.create(tmp_path / "new.git", {"gc.auto": "0", "core.logAllRefUpdates": "true"})
    made = Repo(tmp_path / "new.git")
    assert made.git("rev-parse", "--is-bare-repository") == "true"
    assert made.git("config", "--local", "gc.auto") == "0"
    assert made.git("config", "--local", "core.logAllRefUpdates") == "true"


def test_a_new_repository_leaves_the_one_that_git_dir_names_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Repo.make(tmp_path / "other")
    before = (other.path / ".git/config").read_bytes()
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    Checkout.create(tmp_path / "new.git", {"gc.auto": "0"})
    assert (tmp_path / "new.git/HEAD").is_file()
    assert (other.path / ".git/config").read_bytes() == before
