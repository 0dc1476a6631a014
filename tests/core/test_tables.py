"""Reading TOML: every problem at once, each with file, line, key and mend."""

from __future__ import annotations

from typing import Any

import pytest

from backport.core.tables import Source, Table, key_text, nearest, parse_toml


def table(text: str) -> Table:
    values, source = parse_toml("f.toml", text)
    assert source.problems == []
    return Table(values, source)


def problems(text: str, *calls: tuple[Any, ...]) -> list[str]:
    """What is found when these methods are called with these arguments."""
    read = table(text)
    for method, *arguments in calls:
        getattr(read, method)(*arguments)
    return read.source.problems


def test_values_that_are_right_raise_no_problem() -> None:
    read = table(
        'a = "x"\nb = 3\nc = ["x", "y"]\nd = { e = "f" }\n[[g]]\nh = "1"\n[[g]]\nh = "2"\n'
    )
    assert read.text("a") == "x"
    assert read.number("b") == 3
    assert read.texts("c") == ("x", "y")
    assert read.table("d").text("e") == "f"
    assert [item.text("h") for item in read.tables("g")] == ["1", "2"]
    read.finish()
    assert read.source.problems == []


def test_what_may_be_missing_has_a_default() -> None:
    read = table("")
    assert read.text("a", default="x") == "x"
    assert read.number("a") is None
    assert read.texts("a") == ()
    assert read.tables("a") == []
    assert read.table("a").values == {}
    assert read.source.problems == []


def test_one_string_may_stand_for_a_list() -> None:
    assert table('a = "x"\n').texts("a", single=True) == ("x",)


PROBLEMS: dict[str, tuple[str, tuple[Any, ...], list[str]]] = {
    "a missing text": ("", ("text", "a"), ["f.toml: a: is missing"]),
    "an empty text": ('a = ""\n', ("text", "a"), ["f.toml:1: a: is empty"]),
    "a blank text": ('\na = " \\n"\n', ("text", "a"), ["f.toml:2: a: is empty"]),
    "a number for a text": (
        "a = 1\n",
        ("text", "a"),
        ["f.toml:1: a: must be a string, not a number"],
    ),
    "a list for a text": ("a = []\n", ("text", "a"), ["f.toml:1: a: must be a string, not a list"]),
    "a table for a text": (
        "[a]\n",
        ("text", "a"),
        ["f.toml:1: a: must be a string, not a table"],
    ),
    "a truth value for a text": (
        "a = true\n",
        ("text", "a"),
        ["f.toml:1: a: must be a string, not bool"],
    ),
    "a text that is no choice": (
        'a = "forks"\n',
        ("text", "a", None, ("upstream", "fork")),
        ["f.toml:1: a: 'forks' is not allowed; did you mean 'fork'?"],
    ),
    "a text like no choice": (
        'a = "xyz"\n',
        ("text", "a", None, ("upstream", "fork")),
        ["f.toml:1: a: 'xyz' is not allowed; known: upstream, fork"],
    ),
    "a text for a number": (
        'a = "1"\n',
        ("number", "a"),
        ["f.toml:1: a: must be a whole number, not a string"],
    ),
    "a truth value for a number": (
        "a = true\n",
        ("number", "a"),
        ["f.toml:1: a: must be a whole number, not bool"],
    ),
    "a fraction": (
        "a = 1.0\n",
        ("number", "a"),
        ["f.toml:1: a: must be a whole number, not float"],
    ),
    "a text for a list": ('a = "x"\n', ("texts", "a"), ["f.toml:1: a: must be a list of strings"]),
    "a list of other things": (
        'a = ["x", 1]\n',
        ("texts", "a"),
        ["f.toml:1: a: must be a list of strings"],
    ),
    "neither a text nor a list": (
        "a = 1\n",
        ("texts", "a", True),
        ["f.toml:1: a: must be a list of strings"],
    ),
    "a text for a table": (
        'a = "x"\n',
        ("table", "a"),
        ["f.toml:1: a: must be a table, not a string"],
    ),
    "a list for a table": (
        "a = [1]\n",
        ("table", "a"),
        ["f.toml:1: a: must be a table, not a list"],
    ),
    "a table for a list of tables": (
        "[a]\n",
        ("tables", "a"),
        ["f.toml:1: a: must be written as [[a]] tables"],
    ),
    "a list of something else": (
        "a = [1]\n",
        ("tables", "a"),
        ["f.toml:1: a: must be written as [[a]] tables"],
    ),
}


@pytest.mark.parametrize(("text", "call", "expected"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_a_value_that_is_wrong_is_told(
    text: str, call: tuple[Any, ...], expected: list[str]
) -> None:
    assert problems(text, call) == expected


def test_a_key_that_nobody_asked_for_is_told_with_the_nearest() -> None:
    assert problems('titel = "x"\nzzz = 1\n', ("text", "title", ""), ("finish",)) == [
        "f.toml:1: titel: is not a key here; did you mean 'title'?",
        "f.toml:2: zzz: is not a key here; known: title",
    ]


def test_every_problem_is_told() -> None:
    text = "a = 1\nb = 2\n"
    assert len(problems(text, ("text", "a"), ("text", "b"), ("text", "c"))) == 3


NOT_TOML = {  # the words that follow are Python's own
    "a = \n": "f.toml:1:5: not TOML: ",
    "x = 1\na b = 1\n": "f.toml:2:3: not TOML: ",
    "a = 1\na = 2\n": "f.toml:2:6: not TOML: ",
    'a = "x\n': "f.toml:1:7: not TOML: ",
    "a = [": "f.toml:1: not TOML: ",
    "a = 1\nb = [\n  2,\n\n": "f.toml:3: not TOML: ",
}


@pytest.mark.parametrize(("text", "problem"), NOT_TOML.items())
def test_what_is_not_toml_is_told_with_line_and_column(text: str, problem: str) -> None:
    values, source = parse_toml("f.toml", text)
    assert values == {}
    assert source.problems[0].startswith(problem)


def test_brackets_too_deep_are_not_toml() -> None:
    assert "not TOML" in parse_toml("f.toml", "a = " + "[" * 5000)[1].problems[0]


# ---------------------------------------------------------------- lines

TEXT = """\
# reason = "in a comment"
schema = 1
"quoted" = 2
  indented = 3

[[drop]]
hunk = "a"
reason = "one"

[[ drop ]]
reason = "two"
when = { absent = "x" }

[[skip]]
reason = "three"

[upstream]
repo = "r"
"""

LINES: dict[str, tuple[tuple[str | int, ...], int]] = {
    "a key": (("schema",), 2),
    "a quoted key": (("quoted",), 3),
    "an indented key": (("indented",), 4),
    "a table": (("upstream",), 17),
    "a key of a table": (("upstream", "repo"), 18),
    "the first of several tables": (("drop", 0), 6),
    "the second": (("drop", 1), 10),
    "a key of the first": (("drop", 0, "reason"), 8),
    "a key of the second": (("drop", 1, "reason"), 11),
    "a key of another list": (("skip", 0, "reason"), 15),
    "a key in an inline table": (("drop", 1, "when", "absent"), 12),
    "a key that the table lacks": (("drop", 1, "hunk"), 10),
    "a key that only another table has": (("upstream", "hunk"), 17),
    "a key that only tables have": (("reason",), 0),
    "a key that nothing has": (("missing",), 0),
}


@pytest.mark.parametrize(("keys", "line"), LINES.values(), ids=LINES.keys())
def test_the_line_of_a_key_is_found(keys: tuple[str | int, ...], line: int) -> None:
    assert Source("f", TEXT).line_of(keys) == line


def test_a_key_path_counts_from_one() -> None:
    assert key_text(("drop", 0, "when", "absent")) == "drop[1].when.absent"
    assert key_text(()) == ""


def test_the_nearest_word_is_named_or_all_are_listed() -> None:
    assert nearest("drp", ["drop", "skip"]) == "did you mean 'drop'?"
    assert nearest("xyz", ["drop", "skip"]) == "known: drop, skip"
    assert nearest("xyz", []) == "none is known"
