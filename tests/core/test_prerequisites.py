"""Who wrote the lines that a patch needs and a target lacks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backport.core.prerequisites import Version, lacking, owners, removers


def version(commit: str, before: str, after: str) -> Version:
    return Version(
        commit, f"Make {commit}", [c.encode() for c in before], [c.encode() for c in after]
    )


HISTORY = [version("new", "abcX", "abYcX"), version("old", "abc", "abcX")]

OWNED = {
    "a line of the newest commit": ([2], {"new": "Make new"}),
    "a line of an older one, moved since": ([4], {"old": "Make old"}),
    "lines of both, newest first": ([2, 4], {"new": "Make new", "old": "Make old"}),
    "a line that was there before": ([0, 3], {}),
    "no line": ([], {}),
}


@pytest.mark.parametrize(("lines", "found"), OWNED.values(), ids=OWNED)
def test_lines_are_traced_to_who_wrote_them(lines: list[int], found: dict[str, str]) -> None:
    assert owners(lines, HISTORY) == found


REMOVED = {
    "a line that the first commit took away": ([1], {"cut": "Make cut"}),
    "one that a later commit took away, moved by then": ([3], {"later": "Make later"}),
    "lines of both, oldest first": ([3, 1], {"cut": "Make cut", "later": "Make later"}),
    "a line that is still there": ([0, 2], {}),
    "no line": ([], {}),
}


@pytest.mark.parametrize(("lines", "found"), REMOVED.values(), ids=REMOVED)
def test_lines_are_traced_to_who_took_them_away(lines: list[int], found: dict[str, str]) -> None:
    history = [version("cut", "abcd", "acd"), version("later", "acd", "aXc")]
    assert list(removers(lines, history).items()) == list(found.items())


def test_history_is_read_no_further_than_needed() -> None:
    def endless() -> Iterator[Version]:
        yield HISTORY[0]
        raise AssertionError("read too far")

    assert owners([2], endless()) == {"new": "Make new"}


def test_only_lines_that_the_target_lacks_are_asked_for() -> None:
    base = [b"a\n", b"b\n", b"\n", b"c\n"]
    assert lacking(base, [b"a\n", b"c\n"], 0, 4) == [1]
    assert lacking(base, [b"a\n", b"c\n"], 2, 4) == []
