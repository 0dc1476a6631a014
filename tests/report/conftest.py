"""One world for all tests of this folder; none of them changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from backport.checkout import Checkout
from backport.core.reports import Report
from backport.library import load
from backport.workflows.apply import Options
from backport.workflows.checking import check_targets
from tests.report.world import SEALED, World, make_world, manifest_text


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the user's settings and this CI's own variables out."""
    for key, value in SEALED.items():
        monkeypatch.setenv(key, value)
    monkeypatch.setenv("BACKPORT_CACHE", str(tmp_path / "cache"))
    for key in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "BUILDKITE", "BACKPORT_ROOT"):
        monkeypatch.delenv(key, raising=False)


@pytest.fixture(scope="session")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = make_world(tmp_path_factory.mktemp("world"))
    world.manifest("team/v9.9.9", manifest_text("v9.9.9"))
    return world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world of the test's own."""
    return make_world(tmp_path)


@pytest.fixture(scope="session")
def report(shared_world: World) -> Report:
    """Clean, moved, conflict, contained, skipped and error in one report."""
    library = load(shared_world.root)
    with Checkout.open(shared_world.repo) as reader:
        manifests = list(library.manifests.values())
        return check_targets(library, manifests, reader, Options(write=False), jobs=1)
