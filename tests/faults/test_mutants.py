"""The mutants' own check: a survivor must be explained, and an explanation true."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.faults import mutants
from tests.faults.mutants import Mutant, stale
from tests.repos import PROJECT

FILE = "backport/core/merging_steps.py"
ONE, TWO = (Mutant(FILE, line, f"{line} -> 9", ast.Module([], [])) for line in (1, 2))


def test_a_killed_mutant_and_one_that_is_gone_need_no_explanation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {ONE.key: "why", TWO.key: "why", (FILE, "gone"): "why", ("other.py", "x"): "why"}
    monkeypatch.setattr(mutants, "EQUIVALENT", said)
    assert stale([ONE, TWO], [ONE, TWO], [ONE]) == [TWO.key, (FILE, "gone")]
    assert stale([ONE, TWO], [ONE], [ONE]) == [(FILE, "gone")]  # a sample says nothing of the rest


def test_every_explanation_is_of_a_mutant_and_a_number_is_shown_with_what_it_stands_in() -> None:
    for file in {file for file, _ in mutants.EQUIVALENT}:
        made = [mutant.key for mutant in mutants.mutants(file)]
        assert {key for key in mutants.EQUIVALENT if key[0] == file} <= {*made}
    assert [mutant.change for mutant in mutants.mutants(FILE)] == [
        "base: int = 0 -> base: int = 1",
        "ours: int = 0 -> ours: int = 1",
    ]


@pytest.mark.parametrize(
    ("tests", "code", "said"),
    [
        ("test_merging_symbols.py", 0, "2 mutants, 2 killed, 0 survived"),
        ("test_display.py", 1, "2 mutants, 0 killed, 2 survived, 0 of them explained"),
    ],
)
def test_a_survivor_that_nobody_explained_fails(tests: str, code: int, said: str) -> None:
    words = [sys.executable, "-m", "tests.faults.mutants", f"{FILE}:tests/core/{tests}"]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1].startswith(said)) == (code, True)


def test_tests_that_are_not_there_kill_nothing() -> None:
    words = [sys.executable, "-m", "tests.faults.mutants", f"{FILE}:tests/core/test_nothing.py"]
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "test_nothing.py: not green without a mutant: pytest ended with 4" in done.stderr
    assert mutants.survives(ONE, ["tests/core/test_nothing.py"])
