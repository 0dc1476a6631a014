"""Checks that read text rather than names: markers, reverts."""

from __future__ import annotations

import pytest

from backport.audit import Commit
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


def test_a_change_that_came_back_and_was_taken_back_again() -> None:
    revert = later("Revert it", f"This reverts commit {'a' * 40}.")
    again = later('Reapply "[ROCm][MLA] Fuse the decode write" (#5)', commit="c" * 40)
    third = later("Undo it", f"This reverts commit {'c' * 40}.", commit="d" * 40)
    quoted = later('Revert "Reapply "[ROCm][MLA] Fuse the decode write"" (#6)', commit="d" * 40)
    number = later("Undo it", "Reverts #5", commit="d" * 40)
    other = later("Undo it", f"This reverts commit {'e' * 40}.", commit="d" * 40)
    fourth = later("And back", f"This reverts commit {'d' * 40}.", commit="f" * 40)
    for last in (third, quoted, number):
        assert list(reverts([CHANGE], [revert, again, last])) == [(CHANGE, last)]
        assert list(reverts([CHANGE], [revert, again, last, fourth])) == []
    assert list(reverts([CHANGE], [revert, again, other])) == []
    assert list(reverts([CHANGE], [again, other])) == []


def test_the_check_needs_a_history() -> None:
    change = {"a.py": "x = 1\n"}
    assert results({}, change)["reverted"].status is Status.NOT_RUN
    history = (REVERTS["by hash"],)
    result = results({}, change, carried=(CHANGE,), history=history)["reverted"]
    assert result.status is Status.FAILED
    assert result.findings[0].symbol == CHANGE.commit
    assert results({}, change, carried=(CHANGE,), history=())["reverted"].status is Status.PASSED
