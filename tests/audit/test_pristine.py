"""Releases as they are: every finding is one of those that a person has judged."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from backport.audit import Auditor
from backport.core.outcomes import Status
from backport.core.trees import Entry
from tests.audit.pristine import judged, said

pytestmark = pytest.mark.vllm

VERSIONS = ("0.28.0", "0.33.0")
FOLDERS = ("vllm/v1/attention/", "vllm/model_executor/layers/", "vllm/models/")
OTHERS = 25
MOST_FALSE = 10

Auditors = Callable[[str], Auditor]


def sample(pristine: Auditor, seed: str) -> list[str]:
    """Some files of the model code, the layers and the attention."""
    paths = sorted(p for p in pristine.base.paths() if p.startswith(FOLDERS) and p.endswith(".py"))
    return random.Random(seed).sample(paths, OTHERS)  # noqa: S311 - to be repeated


@pytest.mark.parametrize("version", VERSIONS)
def test_every_finding_was_judged(auditor: Auditors, version: str) -> None:
    pristine, listed = auditor(version), judged(version)
    paths = sorted({entry.path for entry in listed} | set(sample(pristine, version)))
    assert said(pristine, paths) == {entry.key for entry in listed}


@pytest.mark.parametrize("version", VERSIONS)
def test_few_of_them_are_false(version: str) -> None:
    false = [entry for entry in judged(version) if not entry.is_true]
    assert 0 < len(false) <= MOST_FALSE
    assert all(entry.reason for entry in judged(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_release_against_itself_has_no_finding(auditor: Auditors, version: str) -> None:
    pristine = auditor(version)
    paths = {entry.path for entry in judged(version)} | set(sample(pristine, version)[:5])
    changes: dict[str, Entry | None] = {}
    for path in paths:
        entry = pristine.base.entry(path)
        assert entry is not None
        changes[path] = Entry(entry.mode, b"#\n#\n" + entry.data)
    results = pristine.audit(changes)
    assert [f for result in results for f in result.findings] == []
    assert {r.status for r in results if r.status is not Status.NOT_RUN} == {Status.PASSED}
