"""Paths: git's quoting both ways, and what must never be written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backport.core.paths import decode, encode, parents, quote, unquote, unsafe

QUOTED = {
    "a plain path": ("vllm/a.py", b"vllm/a.py"),
    "a space": ("a b/c", b"a b/c"),
    "brackets": ("E=1,block_shape=[128,128].json", b"E=1,block_shape=[128,128].json"),
    "a quote": ('quo"te', rb'"quo\"te"'),
    "a backslash": ("back\\slash", rb'"back\\slash"'),
    "a tab": ("tab\tx", rb'"tab\tx"'),
    "a newline": ("a\nb", rb'"a\nb"'),
    "every named control character": ("\a\b\t\n\v\f\r", rb'"\a\b\t\n\v\f\r"'),
    "another control character": ("a\x01b", rb'"a\001b"'),
    "letters beyond ASCII": ("café", rb'"caf\303\251"'),
    "bytes that are not UTF-8": ("caf\udce9", rb'"caf\351"'),
    "the delete character": ("a\x7f", rb'"a\177"'),
}


@pytest.mark.parametrize(("path", "quoted"), QUOTED.values(), ids=QUOTED.keys())
def test_a_path_is_quoted_as_git_does(path: str, quoted: bytes) -> None:
    assert quote(path) == quoted


@pytest.mark.parametrize(
    ("path", "quoted"),
    [pair for pair in QUOTED.values() if pair[1].startswith(b'"')],
    ids=[name for name, pair in QUOTED.items() if pair[1].startswith(b'"')],
)
def test_a_quoted_path_is_read_back(path: str, quoted: bytes) -> None:
    assert unquote(quoted) == (path, b"")


def test_what_follows_the_closing_quote_is_handed_back() -> None:
    assert unquote(rb'"a\"b" "c"') == ('a"b', b' "c"')


@pytest.mark.parametrize(
    "broken", [b'"never closed', rb'"a\qb"', rb'"a\77"', rb'"a\400"', b'"ends in a backslash\\']
)
def test_broken_quoting_is_an_error(broken: bytes) -> None:
    with pytest.raises(ValueError, match="not closed or holds an unknown escape"):
        unquote(broken)


@given(st.binary(min_size=1))
def test_any_path_survives_quoting(raw: bytes) -> None:
    quoted = quote(decode(raw))
    read = unquote(quoted)[0] if quoted.startswith(b'"') else decode(quoted)
    assert encode(read) == raw


@given(st.binary())
def test_any_bytes_survive_decoding(raw: bytes) -> None:
    assert encode(decode(raw)) == raw


UNSAFE = {
    "": "it is empty",
    "/etc/passwd": "it is absolute",
    "C:\\windows": "it is absolute",
    "c:/windows": "it is absolute",
    "a\0b": "it holds a NUL byte",
    "../escape.txt": "it has the component '..'",
    "pkg/../../escape.txt": "it has the component '..'",
    "pkg/..": "it has the component '..'",
    "./a": "it has the component '.'",
    "a//b": "it has the component ''",
    "a/": "it has the component ''",
    ".git": "the component '.git' names git's own folder",
    ".git/hooks/post-commit": "the component '.git' names git's own folder",
    "pkg/.git/config": "the component '.git' names git's own folder",
    ".GIT/config": "the component '.GIT' names git's own folder",
    ".Git": "the component '.Git' names git's own folder",
    "git~1/config": "the component 'git~1' names git's own folder",
    "GIT~1": "the component 'GIT~1' names git's own folder",
    ".git./config": "the component '.git.' names git's own folder",
    ".git /config": "the component '.git ' names git's own folder",
    ".git . ./config": "the component '.git . .' names git's own folder",
    ".git::$INDEX_ALLOCATION/x": "the component '.git::$INDEX_ALLOCATION' names git's own folder",
    ".git\\hooks": "the component '.git\\\\hooks' names git's own folder",
    "a\\.git": "the component 'a\\\\.git' names git's own folder",
    ".g\u200cit/config": "the component '.g\\u200cit' names git's own folder",
    "\ufeff.git": "the component '\\ufeff.git' names git's own folder",
}


@pytest.mark.parametrize(("path", "why"), UNSAFE.items())
def test_an_unsafe_path_is_refused_with_the_reason(path: str, why: str) -> None:
    assert unsafe(path) == why


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "vllm/model_executor/layers/attention/mla_attention.py",
        ".gitignore",
        ".gitattributes",
        ".github/workflows/x.yml",
        "git/config",
        "a.git/b",
        ".gitx",
        "git~10",
        "..a/b..",
        "...",
        "-dash.txt",
        "star*.txt",
        "back\\slash.txt",
        "a b/ b.txt",
        "a:b",
        "b",
    ],
)
def test_an_odd_path_that_harms_nobody_is_allowed(path: str) -> None:
    assert unsafe(path) is None


def test_the_folders_above_a_path_come_outermost_first() -> None:
    assert parents("a/b/c.py") == ["a", "a/b"]
    assert parents("c.py") == []
