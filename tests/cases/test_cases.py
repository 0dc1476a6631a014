"""Small failures of real life, each with the word for what is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import mechanical, semantic
from tests.cases.scene import CASES, Play, make_scene
from tests.repos import Shell

assert mechanical
assert semantic  # both fill the table


@pytest.mark.parametrize(("play", "word"), CASES)
def test_case(play: Play, word: str, tmp_path: Path, shell: Shell) -> None:
    found = play(make_scene(tmp_path, shell))
    assert found.word == word, found.text


def names() -> set[str]:
    """The names of the cases, without their variants and words."""
    return {str(param.id).split(" ")[0] for param in CASES}  # type: ignore[attr-defined]


def test_every_case_is_there() -> None:
    assert len(names()) == 48
    assert len([name for name in names() if name.startswith("m")]) == 32
