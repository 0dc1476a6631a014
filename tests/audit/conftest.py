"""Auditors of real releases, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from backport.audit import Auditor
from tests.audit import releases


@pytest.fixture(scope="session")
def auditor(released: Path) -> Callable[[str], Auditor]:
    """The auditor of a release, from the cache that the user's own runs share."""

    def of(version: str) -> Auditor:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("BACKPORT_CACHE", str(released.parent))
            return releases.auditor(version)

    return of
