"""`docs/guarantees.md`: every promise names a test, and every test that it names exists."""

from __future__ import annotations

import re

import pytest

from backport import library, sources
from backport.core import binary, hunk_parsing, mail, placing, tables
from tests.named import exists
from tests.repos import PROJECT

TEXT = (PROJECT / "docs/guarantees.md").read_text("utf-8")
NAMES = re.findall(r"`(tests/[\w/]+\.py::[\w:]+)`", TEXT)


def promises(text: str) -> list[str]:
    """The lines of the document that promise something: those of its lists, each in one."""
    parts = re.split(r"^(?=- |#|\n)", text, flags=re.MULTILINE)
    return [" ".join(part.split()) for part in parts if part.startswith("- ")]


@pytest.mark.parametrize("promise", promises(TEXT))
def test_every_promise_names_a_test(promise: str) -> None:
    assert re.search(r"`tests/[\w/]+\.py::\w+", promise), promise


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_every_test_that_is_named_exists(name: str) -> None:
    assert exists(name)


def test_a_promise_without_a_test_would_be_seen() -> None:
    assert promises("# A\n- one\n  more\n\ntext\n- two `tests/x.py::test_y`\n") == [
        "- one more",
        "- two `tests/x.py::test_y`",
    ]
    assert not exists("tests/test_guarantees.py::test_that_nobody_wrote")
    assert not exists("tests/no_such_file.py::test_x")


def test_the_limits_are_those_of_the_code() -> None:
    limits = [
        *(f"{size >> 20} MiB" for size in (library.MAX_PATCH, library.MAX_TOML, binary.MAX_SIZE)),
        *(f"{size >> 20} MiB" for size in (sources.MAX_ARCHIVE, sources.MAX_MEMBER)),
        *(f"{number:,}" for number in (hunk_parsing.MAX_HUNKS, mail.MAX_HEADER)),
        *(f"{number:,}" for number in (placing.MAX_PLACES, tables.MAX_LINE, tables.MAX_ENTRIES)),
    ]
    table = TEXT[TEXT.index("## Limits") :]
    assert [limit for limit in limits if limit not in table] == []
