"""Locks: the same run gives the same bytes, and every difference is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from backport.core.evaluating import evaluate
from backport.core.locks import compare_lock, lock_content, render_lock
from backport.core.manifests import Manifest
from backport.core.outcomes import CheckResult, Status
from backport.core.stacks import Stack
from tests.builders import DictTree, diff, git_blob_id, numbered, raw, stack, tree

HOME = numbered(1, 20)
TEN = HOME.replace("line 10\n", "ten\n")
CHANGE = stack(
    diff("f", HOME, TEN) + diff("new", None, "x\n") + diff("gone", "y\n", None), name="s"
)._replace(digest="0123456789ab")
MANIFEST = Manifest("o/v1", "v1", "o/v1", ("s",))
FILE = "manifests/o/v1.lock"
HUNK = CHANGE.hunks()[0][0]


def base(text: str = HOME) -> DictTree:
    return tree({"f": text, "gone": "y\n"})


def content(
    on: DictTree | None = None, change: Stack = CHANGE, commit: str = "c" * 40, top: str = "d" * 40
) -> dict[str, Any]:
    found = base() if on is None else on
    stacks = {"s": change}
    return lock_content(MANIFEST, stacks, evaluate(MANIFEST, stacks, found), found, commit, top)


def compare(then: dict[str, Any], now: dict[str, Any]) -> list[str]:
    found = compare_lock(FILE, render_lock(then), now)
    return messages(found)


def messages(found: CheckResult) -> list[str]:
    assert found.name == "lock"
    assert (found.status is Status.FAILED) == bool(found.findings)
    assert {finding.path for finding in found.findings} <= {FILE}
    return [finding.message for finding in found.findings]


def test_a_lock_holds_what_was_placed_where_and_what_came_of_it() -> None:
    ids = [str(found[0]) for found in CHANGE.hunks()]
    assert content() == {
        "schema": 1,
        "target": "o/v1",
        "base": {"name": "v1", "commit": "c" * 40},
        "tree": "d" * 40,
        "stacks": [
            {
                "name": "s",
                "digest": "0123456789ab",
                "outcome": "applied",
                "hunks": [
                    {"id": ids[0], "outcome": "exact", "line": 10},
                    {"id": ids[1], "outcome": "exact", "line": 1},
                    {"id": ids[2], "outcome": "exact", "line": 0},
                ],
            }
        ],
        "files": {
            "f": {"before": git_blob_id(raw(HOME)), "after": git_blob_id(raw(TEN))},
            "gone": {"before": git_blob_id(b"y\n"), "after": None},
            "new": {"before": None, "after": git_blob_id(b"x\n")},
        },
    }


def test_the_same_run_gives_the_same_bytes() -> None:
    text = render_lock(content())
    assert text == render_lock(content())
    assert text.endswith("}\n")
    assert json.loads(text) == content()


def test_names_beyond_ascii_stay_readable() -> None:
    assert "größe" in render_lock({"files": {"größe": {}}})


def test_a_run_that_is_the_same_passes() -> None:
    assert compare(content(), content()) == []


def test_a_hunk_that_moved_and_its_file_are_named() -> None:
    moved = "top\n" + HOME
    assert compare(content(), content(base(moved))) == [
        f"{HUNK} moved from line 10 to 11",
        f"{HUNK} was exact, is moved",
        f"f: the base has {git_blob_id(raw(moved))}, the lock was made on {git_blob_id(raw(HOME))}",
    ]


def test_a_stack_that_is_a_conflict_now_is_named() -> None:
    found = compare(content(), content(base("other\n")))
    assert "s: was applied, is conflict" in found
    assert f"{HUNK} was exact, is conflict" in found
    assert "f: was changed, and is not" in found


def test_patches_that_changed_are_named() -> None:
    other = CHANGE._replace(digest="ffffffffffff")
    assert compare(content(), content(change=other)) == [
        "s: the patches changed (0123456789ab -> ffffffffffff)"
    ]


def test_another_result_of_the_same_base_is_named() -> None:
    then = content()
    then["files"]["f"]["after"] = "e" * 40
    assert compare(then, content()) == [
        f"f: the result is {git_blob_id(raw(TEN))}, it was {'e' * 40}"
    ]


def test_a_file_that_was_not_changed_then_is_named() -> None:
    then = content()
    del then["files"]["f"]
    assert compare(then, content()) == ["f: is changed, and was not"]


def test_another_list_of_stacks_is_named() -> None:
    then = content()
    then["stacks"] = []
    assert compare(then, content()) == ["the list of stacks changed"]


def test_another_tree_is_named_on_the_same_base_only() -> None:
    now = content(top="e" * 40)
    assert compare(content(), now) == [f"the tree is {'e' * 40}, it was {'d' * 40}"]
    assert compare(content(commit="a" * 40), now) == []


def test_a_lock_of_another_schema_is_told() -> None:
    assert compare({"schema": 2}, content()) == ["has schema 2, this tool writes 1"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "3", "null", '"x"', "{}", '{"schema": 1}'),
        '{"schema": 1, "stacks": 3}',
        '{"schema": 1, "stacks": [3], "base": {}, "files": {}, "tree": ""}',
        '{"schema": 1, "stacks": [], "base": 3, "files": {}, "tree": ""}',
        '{"schema": 1, "stacks": [], "base": {"commit": ""}, "files": [], "tree": ""}',
        '{"schema": 1, "stacks": [], "base": {"commit": ""}, "files": {"f": 3}, "tree": ""}',
        "[" * 100_000,
    ],
)
def test_a_damaged_lock_is_told_with_the_mend(text: str) -> None:
    (message,) = messages(compare_lock(FILE, text, content()))
    assert message.startswith("is damaged (")
    assert message.endswith("); write it again with `backport apply --lock`")


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "a line": lambda lock: lock["stacks"][0]["hunks"][0].update(line=9),
    "an outcome": lambda lock: lock["stacks"][0]["hunks"][1].update(outcome="moved"),
    "a stack's outcome": lambda lock: lock["stacks"][0].update(outcome="already"),
    "a digest": lambda lock: lock["stacks"][0].update(digest="x"),
    "a stack's name": lambda lock: lock["stacks"][0].update(name="x"),
    "a blob before": lambda lock: lock["files"]["gone"].update(before="x"),
    "a blob after": lambda lock: lock["files"]["gone"].update(after="x"),
    "a missing file": lambda lock: lock["files"].pop("gone"),
    "another file": lambda lock: lock["files"].update(other={"before": None, "after": "x"}),
    "the tree": lambda lock: lock.update(tree="x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_no_difference_passes(change: Callable[[dict[str, Any]], None]) -> None:
    then = content()
    change(then)
    assert compare(then, content()) != []
