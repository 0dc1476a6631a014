"""The compile check gives the verdict of py_compile and leaves no trace."""

import py_compile
import sys
import warnings
from pathlib import Path

import pytest

from backport.audit.compiles import Fault, Version, blob_id, compile_check
from backport.core.outcomes import Status
from backport.core.trees import EXECUTABLE, REGULAR, SYMLINK, Entry

CONTENTS = {
    "empty file": b"",
    "plain function": b"def f():\n    return 1\n",
    "windows line ends": b"def f():\r\n    return 1\r\n",
    "no final newline": b"x = 1",
    "byte order mark": b"\xef\xbb\xbfx = 1\n",
    "declared latin-1": b"# coding: latin-1\nx = '\xe9'\n",
    "undeclared latin-1": b"x = '\xe9'\n",
    "unknown encoding": b"# coding: nowhere\nx = 1\n",
    "null byte": b"x = 1\0\n",
    "invalid escape warns only": b"x = '\\d'\n",
    "conflict marker": b"<<<<<<< ours\nx = 1\n=======\nx = 2\n>>>>>>> theirs\n",
    "return outside a function": b"return 1\n",
    "await outside a coroutine": b"def f():\n    await g()\n",
    "repeated parameter": b"def f(a, a):\n    pass\n",
    "unclosed bracket": b"x = (1,\n",
    "mixed tabs": b"if 1:\n\tx = 1\n        y = 2\n",
    "late future import": b"x = 1\nfrom __future__ import annotations\n",
    "brackets too deep": b"(" * 300 + b")" * 300,
}


def verdict(data: bytes, minimum: tuple[int, int] | None = None) -> Status:
    return compile_check({"a.py": Entry(REGULAR, data)}, minimum, memo={}).status


@pytest.mark.parametrize("data", CONTENTS.values(), ids=CONTENTS.keys())
def test_same_verdict_as_py_compile(data: bytes, tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            py_compile.compile(str(source), cfile=str(tmp_path / "out.pyc"), doraise=True)
        except py_compile.PyCompileError:
            expected = Status.FAILED
        else:
            expected = Status.PASSED
    assert verdict(data) is expected


def test_a_finding_has_line_and_column() -> None:
    result = compile_check({"pkg/a.py": Entry(EXECUTABLE, b"x = 1\ny = = 2\n")}, None)
    (finding,) = result.findings
    assert (finding.path, finding.line, finding.column) == ("pkg/a.py", 2, 5)
    assert finding.code == "syntax"
    assert finding.message == "invalid syntax"


def test_syntax_newer_than_the_minimum() -> None:
    newer = b"try:\n    f()\nexcept* ValueError:\n    pass\n"
    result = compile_check({"a.py": Entry(REGULAR, newer)}, (3, 10))
    assert [f.code for f in result.findings] == ["newer-syntax"]
    assert verdict(newer, (3, 11)) is Status.PASSED
    assert verdict(newer) is Status.PASSED


def test_a_newer_tree_is_not_blamed_for_an_older_interpreter() -> None:
    unknown = b"x = = 1\n"
    result = compile_check({"a.py": Entry(REGULAR, unknown)}, (3, sys.version_info[1] + 1))
    assert result.status is Status.NOT_RUN
    assert "the tree wants Python 3." in result.note


def test_only_python_sources_are_compiled() -> None:
    broken = b"= =\n"
    changes = {
        "notes.md": Entry(REGULAR, broken),
        "link.py": Entry(SYMLINK, b"../elsewhere.py"),
        "gone.py": None,
    }
    assert compile_check(changes, None).status is Status.PASSED


def test_equal_contents_are_judged_once() -> None:
    memo: dict[tuple[str, Version | None], tuple[Fault, ...]] = {}
    same = Entry(REGULAR, b"x = 1\n")
    compile_check({"a.py": same, "b.py": same}, None, memo=memo)
    assert list(memo) == [(blob_id(b"x = 1\n"), None)]


def test_blob_id_is_the_one_of_git() -> None:
    assert blob_id(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert verdict(b"x = '\\d'\nassert (1, 2)\n") is Status.PASSED
    assert capfd.readouterr() == ("", "")
