"""A stack's folder: every file belongs, every key is known, every problem is told."""

from __future__ import annotations

import pytest

from backport.core.rendering import render_patch
from backport.core.stack_format import read_stack, uncanonical
from backport.core.stacks import Upstream, stack_digest
from tests.builders import diff, mail, patch, raw

TOML = '''\
schema = 1
title  = "[ROCm][Perf] Make it fast"
kind   = "upstream"
home   = "v0.28.0"
why    = """
First line.

# second, with a number sign
"""
parity = ["op"]
retire = "when it is in the base"

[upstream]
repo = "vllm-project/vllm"
pull = 47757
state = "merged"
relation = "cherry-pick"
commits = ["756fe16dce", "0123456789012345678901234567890123456789"]

[requires]
aiter = ">=0.1.19"
'''
ONE = mail("[PATCH 1/2] One", diff("a", "1\n", "2\n"))
TWO = mail("[PATCH 2/2] Two", diff("b", "1\n", "2\n"))


def files(**changed: bytes | str | None) -> dict[str, bytes]:
    """A whole folder; a name with `__` for the dot replaces or removes a file."""
    whole: dict[str, bytes | str | None] = {
        "stack.toml": TOML,
        "series": "one\ntwo\n",
        "one.patch": ONE,
        "two.patch": TWO,
    }
    whole.update({name.replace("__", "."): text for name, text in changed.items()})
    return {name: raw(text) for name, text in whole.items() if text is not None}


def problems(folder: dict[str, bytes], name: str = "s") -> list[str]:
    return read_stack(name, f"patches/{name}", folder)[1]


def toml(old: str, new: str) -> dict[str, bytes]:
    assert TOML.count(old) == 1
    return files(stack__toml=TOML.replace(old, new))


def test_a_whole_folder_is_read() -> None:
    stack, found = read_stack("s", "patches/s", files())
    assert found == []
    assert (stack.name, stack.title, stack.kind, stack.home) == (
        "s",
        "[ROCm][Perf] Make it fast",
        "upstream",
        "v0.28.0",
    )
    assert stack.why == "First line.\n\n# second, with a number sign"
    assert stack.parity == ("op",)
    assert stack.retire == "when it is in the base"
    assert stack.requires == {"aiter": ">=0.1.19"}
    assert stack.upstream == Upstream(
        "vllm-project/vllm",
        47757,
        "merged",
        "cherry-pick",
        ("756fe16dce", "0123456789012345678901234567890123456789"),
    )
    assert [(item.name, item.subject, item.source) for item in stack.patches] == [
        ("one", "One", "patches/s/one.patch"),
        ("two", "Two", "patches/s/two.patch"),
    ]
    assert stack.digest == stack_digest([("one", ONE), ("two", TWO)])


def test_a_fork_s_stack_needs_little() -> None:
    text = 'schema = 1\ntitle = "t"\nkind = "fork"\nhome = "v1"\nwhy = "w"\n'
    stack, found = read_stack("s", "patches/s", files(stack__toml=text))
    assert found == []
    assert stack.upstream == Upstream("", None, "open", "rewrite", ())


@pytest.mark.parametrize(
    "series",
    [
        "two\none\n",
        "two.patch\none.patch\n",
        "# order\n\n  two  # first\n\tone\n",
        "two\none",
        "two\r\none\r\n",
    ],
    ids=["names", "file names", "comments and blanks", "no final newline", "windows line ends"],
)
def test_the_series_gives_the_order(series: str) -> None:
    stack, found = read_stack("s", "patches/s", files(series=series))
    assert (found, [item.name for item in stack.patches]) == ([], ["two", "one"])


def test_the_digest_follows_content_and_order_alone() -> None:
    def digest(**changed: str | bytes) -> str:
        return read_stack("s", "patches/s", files(**changed))[0].digest

    assert digest() == digest(series="# x\none\ntwo\n") == digest(stack__toml=TOML + "\n")
    assert digest() != digest(series="two\none\n")
    assert digest() != digest(one__patch=ONE + b"\n")


def test_a_digest_tells_names_from_texts() -> None:
    assert stack_digest([("a", b"bc")]) != stack_digest([("ab", b"c")])
    assert stack_digest([("a", b""), ("b", b"")]) != stack_digest([("a", b"b\0000\0")])
    assert stack_digest([("a", b"x")]) != stack_digest([("b", b"x")])


SERIES = {
    "twice": ("one\ntwo\none\n", ["patches/s/series:3: one is listed twice (first in line 1)"]),
    "missing": (
        "one\ntow\n",
        [
            "patches/s/series:2: there is no tow.patch; did you mean 'two'?",
            "patches/s/two.patch: is not listed in series; add or delete it",
        ],
    ),
    "not listed": (
        "two\n",
        ["patches/s/one.patch: is not listed in series; add or delete it"],
    ),
    "a path": (
        "one\ntwo\n../one\n",
        ["patches/s/series:3: there is no ../one.patch; did you mean 'one'?"],
    ),
}


@pytest.mark.parametrize(("series", "expected"), SERIES.values(), ids=SERIES.keys())
def test_each_patch_file_is_listed_once(series: str, expected: list[str]) -> None:
    assert problems(files(series=series)) == expected


def test_a_stack_without_patches_is_none() -> None:
    empty = files(series="# none\n", one__patch=None, two__patch=None)
    assert problems(empty) == ["patches/s/series: lists no patch"]


def test_missing_files_are_told() -> None:
    assert problems(files(series=None)) == [
        "patches/s/series: is missing; list the patch names in it, one a line"
    ]
    assert problems(files(stack__toml=None)) == ["patches/s/stack.toml: is missing"]


@pytest.mark.parametrize("name", ["Upper", "two words", "-dash", ".dot", "größe", "a/b", "a:b", ""])
def test_a_name_that_ids_cannot_hold_is_refused(name: str) -> None:
    problem = f"patches/{name}: a stack's name is lower-case words joined by dashes"
    assert problem in problems(files(), name)


def test_a_patch_name_that_ids_cannot_hold_is_refused() -> None:
    folder = files(series="one\nTwo\n", two__patch=None) | {"Two.patch": TWO}
    assert "patches/s/series:2: a patch's name is lower-case words joined by dashes" in problems(
        folder
    )


UPSTREAM = "patches/s/stack.toml:"
CHERRY_PICK = "did you mean 'cherry-pick'?"
EXPRESSION = (
    "is a revision expression, or no name at all; give a tag or a commit id, "
    "which mean the same tomorrow"
)
KEYS = {
    "an unknown key": (
        'parity = ["op"]',
        'paritys = ["op"]',
        ["patches/s/stack.toml:10: paritys: is not a key here; did you mean 'parity'?"],
    ),
    "an unknown key of upstream": (
        "pull = 47757",
        "pulls = 47757",
        ["patches/s/stack.toml:15: upstream.pulls: is not a key here; did you mean 'pull'?"],
    ),
    "another schema": ("schema = 1", "schema = 2", ["patches/s/stack.toml:1: schema: must be 1"]),
    "no schema": ("schema = 1\n", "", ["patches/s/stack.toml: schema: must be 1"]),
    "an unknown kind": (
        '"upstream"\nhome',
        '"bug-fix"\nhome',
        ["patches/s/stack.toml:3: kind: 'bug-fix' is not allowed; did you mean 'bugfix'?"],
    ),
    "an unknown state": (
        '"merged"',
        '"xyz"',
        [UPSTREAM + "16: upstream.state: 'xyz' is not allowed; known: open, merged, closed"],
    ),
    "an unknown relation": (
        '"cherry-pick"',
        '"cherrypick"',
        [UPSTREAM + "17: upstream.relation: 'cherrypick' is not allowed; " + CHERRY_PICK],
    ),
    "a title of two lines": (
        '"[ROCm][Perf] Make it fast"',
        '"[ROCm]\\nMake it fast"',
        ["patches/s/stack.toml:2: title: must be one line"],
    ),
    "an empty title": (
        '"[ROCm][Perf] Make it fast"',
        '" "',
        ["patches/s/stack.toml:2: title: is empty"],
    ),
    "a home that moves": (
        '"v0.28.0"\n',
        '"v0.28.0~0"\n',
        [f"patches/s/stack.toml:4: home: 'v0.28.0~0' {EXPRESSION}"],
    ),
    "no home": ('home   = "v0.28.0"\n', "", ["patches/s/stack.toml: home: is missing"]),
    "no commit id": (
        '"756fe16dce"',
        '"756fe"',
        ["patches/s/stack.toml:18: upstream.commits: '756fe' is not a commit id"],
    ),
    "a requirement that is no range": (
        '">=0.1.19"',
        '">=0.1.19,>>2"',
        [
            (
                "patches/s/stack.toml:21: requires.aiter: '>=0.1.19,>>2' is no range of versions, "
                "such as '>=0.1.19,<0.2'"
            )
        ],
    ),
    "a requirement that is no text": (
        '">=0.1.19"',
        "19",
        ["patches/s/stack.toml:21: requires.aiter: must be a string, not a number"],
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), KEYS.values(), ids=KEYS.keys())
def test_a_wrong_key_is_told_where_it_stands(old: str, new: str, expected: list[str]) -> None:
    assert problems(toml(old, new)) == expected


def test_an_upstream_stack_names_where_it_comes_from() -> None:
    text = TOML.replace("pull = 47757\n", "").split("commits =")[0]
    (problem,) = problems(files(stack__toml=text))
    assert problem == (
        "patches/s/stack.toml:13: upstream: "
        "names neither a pull request nor commits (kind is upstream)"
    )


BREAKING = [
    "---",
    "--- a/f",
    "----",
    "diff -u a b",
    "diff --git a/f b/f",
    "Index: f",
    "From: Dev",
    "From 1234",
]


@pytest.mark.parametrize("line", BREAKING)
def test_a_line_that_would_end_the_mailed_message_is_refused(line: str) -> None:
    (problem,) = problems(toml("First line.", f"First line.\n{line}"))
    assert problem == (
        f"patches/s/stack.toml:5: why: the line {line!r} "
        "would end the message when mailed; reword it"
    )


@pytest.mark.parametrize("line", ["Subject: hi", "Date: now", "date:\tnow", "[PATCH] ready"])
def test_a_first_line_that_git_am_takes_for_a_header_is_refused(line: str) -> None:
    (problem,) = problems(toml("First line.", line))
    told = f"the line {line!r} would be a header of the mail; reword it"
    assert problem == f"patches/s/stack.toml:5: why: {told}"
    assert problems(toml("First line.", f"First line.\n{line}")) == []


@pytest.mark.parametrize(
    "line", ["Subject:hi", "Dates: two", "PATCH", "[patch] x", "Subject matter: x"]
)
def test_a_first_line_that_is_like_a_header_is_text(line: str) -> None:
    assert problems(toml("First line.", line)) == []


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("title", "[ROCm]"),
        ("home", "v0.28.0"),
        ("why", "First"),
        ("retire", "when"),
        ("aiter", ">="),
    ],
)
def test_a_nul_character_is_told_at_its_key(key: str, text: str) -> None:
    found = problems(toml(text, text + "\\u0000"))
    assert f"{key}: holds a NUL character, which no commit can hold" in found[0]


def test_a_nul_character_in_a_list_is_told_once() -> None:
    (problem,) = problems(toml('parity = ["op"]', 'parity = ["op", "a\\u0000"]'))
    assert ": parity: holds a NUL character" in problem


@pytest.mark.parametrize(
    "line", ["- a bullet", "-- two", "# one", " --- indented", "From", "different"]
)
def test_other_lines_of_the_message_are_allowed(line: str) -> None:
    assert problems(toml("First line.", f"First line.\n{line}")) == []


def test_a_damaged_patch_is_told_at_its_line() -> None:
    damaged = ONE.replace(b"@@ -1 +1 @@", b"@@ -1,2 +1 @@")
    early = "a hunk 1 ends early: its counts ask for 1 more old and 0 more new lines"
    assert problems(files(one__patch=damaged, two__patch=b"")) == [
        f"patches/s/one.patch:13: {early}",
        "patches/s/two.patch:1: this is not a patch: it is empty",
    ]


def test_a_file_that_is_not_toml_is_told_with_the_patches_problems() -> None:
    found = problems(files(stack__toml="title = \n", one__patch=b"{}"))
    assert [line.split(": ")[0] for line in found] == [
        "patches/s/stack.toml:1:9",
        "patches/s/one.patch:1",
    ]


def test_all_problems_of_a_folder_are_told_at_once() -> None:
    found = problems(
        files(
            stack__toml=TOML.replace("schema = 1", "schema = 2").replace('"merged"', '"x"')
            + "z = 1\n",
            series="one\none\nthree\n",
            one__patch=b"<html>",
        )
    )
    assert [line.partition(": ")[2].partition(" ")[0] for line in found] == [
        "one",  # listed twice
        "there",  # is no three.patch
        "is",  # two.patch is not listed
        "this",  # is not a patch
        "schema:",
        "upstream.state:",
        "requires.z:",
    ]


def test_a_patch_in_another_form_than_the_tool_s_is_told() -> None:
    change = patch("one", diff("a", "1\n", "2\n", index=True), subject="One")
    folder = files(one__patch=render_patch(change))
    stack, found = read_stack("s", "patches/s", folder)
    assert found == []
    (problem,) = uncanonical("patches/s", stack, folder)
    assert problem == (
        "patches/s/two.patch: is not in canonical form; "
        "write it with `backport import` instead of by hand"
    )
