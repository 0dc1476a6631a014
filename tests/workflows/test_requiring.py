"""What stacks require of other projects, against the pins of the patched tree."""

from __future__ import annotations

import pytest

from backport.audit.requirements import IMAGE
from backport.core.outcomes import CheckResult, Status
from backport.core.stacks import Stack
from backport.workflows.requiring import check_requires
from tests.audit.builders import files

DOCKER = 'ARG BASE=x\nARG AITER_BRANCH="v0.1.19"\nARG AITER_REPO="https://example.org/aiter"\n'


def required(pins: str, requirement: str) -> CheckResult:
    stack = Stack("fuse", "Fuse", "fork", "v1.0", "why", (), requires={"aiter": requirement})
    return check_requires(files({IMAGE: pins}), [stack])


@pytest.mark.parametrize(
    ("requirement", "status"),
    [
        (">=0.1.19", Status.PASSED),
        (">=0.1.19.post1", Status.FAILED),
        (">=0.1.20", Status.FAILED),
        ("<0.1.20, >=0.1", Status.PASSED),
        ("somewhat new", Status.NOT_RUN),
    ],
)
def test_a_requirement_against_the_pin(requirement: str, status: Status) -> None:
    result = required(DOCKER, requirement)
    assert result.status is status
    if status is Status.FAILED:
        assert [(f.path, f.line, f.symbol) for f in result.findings] == [(IMAGE, 2, "fuse")]


@pytest.mark.parametrize("pins", ['ARG AITER_BRANCH="main"\n', "ARG BASE=x\n"])
def test_a_pin_that_cannot_be_compared(pins: str) -> None:
    result = required(pins, ">=0.1.19")
    assert result.status is Status.NOT_RUN
    assert "aiter" in result.note
