"""Text from patches on a screen: everything is seen, nothing acts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.display import visible

SHOWN = {
    "[ROCm][Perf] list[int] [/x] [kimik3]": "[ROCm][Perf] list[int] [/x] [kimik3]",
    "Größe 李雷 é": "Größe 李雷 é",
    "two\nlines": "two\nlines",
    "\x1b[2J\x1b]0;pwned\x07": "\\x1b[2J\\x1b]0;pwned\\x07",
    "good\rEVIL": "good\\x0dEVIL",
    "a\tb\x00\x7f\x9b": "a\\x09b\\x00\\x7f\\x9b",
    "access \u202e\u2066 txt.exe": "access \\u202e\\u2066 txt.exe",
    "zero\u200bwidth\ufeff": "zero\\u200bwidth\\ufeff",
    "line\u2028paragraph\u2029": "line\\u2028paragraph\\u2029",
    "caf\udce9": "caf\\xe9",
    "\ud800": "\\ud800",
    "\U000e0041": "\\ue0041",
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.items())
def test_what_would_act_on_a_terminal_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_whatever_is_shown_can_be_printed(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert not any(ord(char) < 32 and char != "\n" for char in shown)
    assert not {"\x7f", "\x9b", "\u202e", "\u2066", "\u2028"} & set(shown)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_text_that_is_harmless_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
