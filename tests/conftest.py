"""What every test gets: git sealed from the user's settings, and a fresh world to work on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backport import releases, sources
from tests.repos import Library, Repo, Shell, World, make_world

RELEASES = ("v0.28.0", "v0.29.0", "v0.30.0")
_CACHE = sources.cache_dir()  # the user's own, before the tests get a home of theirs

_SETTINGS = """\
[user]
\tname = Test Person
\temail = test@example.com
[init]
\tdefaultBranch = main
\ttemplateDir = {template}
[core]
	fsync = none
[gc]
\tauto = 0
"""


@pytest.fixture(scope="session", autouse=True)
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of the tests' own: no setting of the user or the machine reaches git or the tool."""
    home = tmp_path_factory.mktemp("home")
    (home / "template").mkdir()
    (home / ".gitconfig").write_text(_SETTINGS.format(template=home / "template"))
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("GIT_", "BACKPORT_")) or name == "EMAIL":
                patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("TZ", "UTC")
        yield home


@pytest.fixture
def shell(capfd: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capfd)


@pytest.fixture(scope="session")
def first_world(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(first_world: World, tmp_path: Path) -> World:
    """A copy of the first world that a test may change."""
    folder = tmp_path / "world"
    shutil.copytree(first_world.repo.path.parent, folder)
    repo = Repo(folder / "repo")
    repo.git("update-index", "-q", "--refresh")
    return World(repo, Library(folder / "library"))


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a text the whole of the user's git settings, for this test."""

    def set_to(text: str) -> None:
        home = tmp_path / "own home"
        home.mkdir()
        (home / ".gitconfig").write_text(text)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))

    return set_to


@pytest.fixture(scope="session")
def released(sealed: Path) -> Path:
    """The repository of cached releases, with those that the tests use; downloaded when absent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKPORT_CACHE", str(_CACHE))
        for release in RELEASES:
            repo = releases.ensure(release, lambda what, done, total: None)
    return repo
