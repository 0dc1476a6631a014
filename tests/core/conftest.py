"""What the tests of the core share: nothing of the user's reaches them, and no run differs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_COMMON = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _COMMON, max_examples=60, derandomize=True)
settings.register_profile("deep", _COMMON, max_examples=3000)  # by hand, to search further
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

Git = Callable[..., bytes]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git in an empty repository, away from every configuration of the user's."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LC_ALL", "C")
    folder = tmp_path / "repository"
    folder.mkdir()

    def call(*words: str, feed: bytes = b"") -> bytes:
        done = subprocess.run(
            ["git", *words], input=feed, cwd=folder, capture_output=True, check=True
        )
        return done.stdout

    call("init", "-q")
    return call
