"""Packages of the npm registry, for what is validated by tools that are not written in Python."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from backport.sources import cache_dir

CACHE = cache_dir() / "npm"  # outside of any test's own cache
_QUIET = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--fetch-retries=0")
_SECONDS = 120


def package(name: str, version: str) -> Path:
    """The folder of a package, kept in the cache; the test is skipped where npm gives none."""
    folder = CACHE / f"{name}-{version}"
    if not folder.is_dir():
        _install(name, version, folder)
    return folder / "node_modules" / name


def node() -> str:
    """The interpreter; the test is skipped where there is none."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not on PATH")
    return found


def _install(name: str, version: str, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on PATH")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        words = [npm, "install", *_QUIET, "--prefix", scratch, f"{name}@{version}"]
        try:
            done = subprocess.run(words, capture_output=True, check=False, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm took longer than {_SECONDS} s to get {name}")
        if done.returncode:
            pytest.skip(f"npm cannot get {name} {version}")
        with suppress(OSError):  # another run was first
            shutil.copytree(scratch, f"{scratch}.whole")
            Path(f"{scratch}.whole").rename(folder)
