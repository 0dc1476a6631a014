"""Checks that read text rather than names: markers, landings, reverts, requirements."""

from __future__ import annotations

import pytest

from backport.audit import Commit, Landing
from backport.audit.checks.reverted import reverts
from backport.core.outcomes import Status
from tests.audit.builders import results, said

MARKED = "a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"


def test_conflict_markers_in_any_text() -> None:
    assert said({}, {"docs/a.md": MARKED}) == [
        "docs/a.md:2 conflict-marker marker",
        "docs/a.md:6 conflict-marker marker",
    ]
    with_base = MARKED.replace("=======", "||||||| base\nx\n=======")
    assert len(said({}, {"a.txt": with_base})) == 3


@pytest.mark.parametrize(
    "text",
    ["Title\n=======\n\ntext\n", ">>>>>>> quoted mail\n", "x = '<<<<<<< ours'\n", "a <<<<<<<\n"],
)
def test_what_is_no_conflict(text: str) -> None:
    assert said({}, {"docs/a.md": text}) == []


def test_markers_that_were_there_before() -> None:
    assert said({"a.md": MARKED}, {"a.md": f"more\n{MARKED}"}) == []


SOURCE = """\
class A:
    def forward(self):
        return 1


class B:
    def forward(self):
        return 2


def helper():
    return 3
"""


def landed(section: str, line: int) -> list[str]:
    landings = (Landing("a.py", section, line),)
    return said({"a.py": SOURCE}, {"a.py": f"{SOURCE}# x\n"}, landings=landings)


def test_a_hunk_in_another_class() -> None:
    assert landed("class A:", 8) == ["a.py:8 other-scope A"]
    assert landed("def helper():", 3) == ["a.py:3 other-scope helper"]


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("class A:", 3),  # the class around
        ("    def forward(self):", 8),  # the method around
        ("class B:", 10),  # the last definition above, between two
        ("class Elsewhere:", 3),  # nothing of that name here
        ("import torch", 3),  # no definition
        ("", 3),
    ],
)
def test_a_hunk_where_it_belongs(section: str, line: int) -> None:
    assert landed(section, line) == []


def test_landings_that_nobody_gives() -> None:
    assert results({}, {"a.py": "x = 1\n"})["landing"].status is Status.NOT_RUN


CHANGE = Commit("a" * 40, "[ROCm][MLA] Fuse the decode write (#47757)", "")


def later(subject: str, body: str = "", commit: str = "b" * 40) -> Commit:
    return Commit(commit, subject, body)


REVERTS = {
    "by hash": later("Revert it", f"This reverts commit {'a' * 40}."),
    "by a short hash": later("Undo", f"This reverts commit {'a' * 12}."),
    "by subject": later('Revert "[ROCm][MLA] Fuse the decode write" (#48000)'),
    "by subject with its number": later('Revert "[ROCm][MLA] Fuse the decode write (#47757)"'),
    "by pull request": later("[Bugfix] Undo the fusion", "Reverts vllm-project/vllm#47757"),
    "with tags before it": later('[Revert] Revert "[ROCm][MLA] Fuse the decode write"'),
}


@pytest.mark.parametrize("commit", REVERTS.values(), ids=REVERTS.keys())
def test_a_change_that_was_taken_back(commit: Commit) -> None:
    assert list(reverts([CHANGE], [commit])) == [(CHANGE, commit)]


UNRELATED = {
    "another hash": later("Revert", f"This reverts commit {'c' * 40}."),
    "another subject": later('Revert "[ROCm][MLA] Fuse the prefill write"'),
    "a mention": later("Follow-up of #47757"),
}


@pytest.mark.parametrize("commit", UNRELATED.values(), ids=UNRELATED.keys())
def test_a_commit_that_takes_back_nothing(commit: Commit) -> None:
    assert list(reverts([CHANGE], [commit])) == []


def test_a_change_that_came_back() -> None:
    revert = later("Revert it", f"This reverts commit {'a' * 40}.")
    again = later('Reapply "[ROCm][MLA] Fuse the decode write"', commit="c" * 40)
    undone = later("Revert the revert", f"This reverts commit {'b' * 40}.", commit="c" * 40)
    assert list(reverts([CHANGE], [revert, again])) == []
    assert list(reverts([CHANGE], [revert, undone])) == []


def test_the_check_needs_a_history() -> None:
    change = {"a.py": "x = 1\n"}
    assert results({}, change)["reverted"].status is Status.NOT_RUN
    history = (REVERTS["by hash"],)
    result = results({}, change, carried=(CHANGE,), history=history)["reverted"]
    assert result.status is Status.FAILED
    assert result.findings[0].symbol == CHANGE.commit
    assert results({}, change, carried=(CHANGE,), history=())["reverted"].status is Status.PASSED


DOCKER = 'ARG BASE=x\nARG AITER_BRANCH="v0.1.19"\nARG AITER_REPO="https://example.org/aiter"\n'


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
    base = {"docker/Dockerfile.rocm_base": DOCKER}
    result = results(base, {"a.py": "x = 1\n"}, requires={"aiter": requirement})["requires"]
    assert result.status is status
    if status is Status.FAILED:
        assert result.findings[0].path == "docker/Dockerfile.rocm_base"
        assert result.findings[0].line == 2


def test_a_requirement_against_requirements_files() -> None:
    base = {"requirements/rocm.txt": "torch>=2\namd-aiter==0.1.20.post2  # pinned\n"}
    change = {"a.py": "x = 1\n"}
    assert results(base, change, requires={"aiter": ">=0.1.20"})["requires"].status is Status.PASSED
    assert results(base, change, requires={"aiter": ">=0.1.21"})["requires"].status is Status.FAILED


def test_a_pin_that_cannot_be_compared() -> None:
    base = {"Dockerfile": "ARG AITER_COMMIT=0dbd5388a523\n"}
    result = results(base, {"a.py": "x = 1\n"}, requires={"aiter": ">=0.1.19"})["requires"]
    assert result.status is Status.NOT_RUN
    assert "aiter" in result.note


def test_a_pin_that_the_stack_raises() -> None:
    base = {"docker/Dockerfile.rocm_base": DOCKER}
    change = {"docker/Dockerfile.rocm_base": DOCKER.replace("0.1.19", "0.1.21")}
    assert results(base, change, requires={"aiter": ">=0.1.20"})["requires"].status is Status.PASSED
