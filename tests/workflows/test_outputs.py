"""Where results are written: a path that cannot be one is told before any work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.repos import Shell, World


@pytest.fixture
def words(world: World) -> dict[str, list[str]]:
    place = world.words("scan")[1:]
    return {
        "check": [*world.words("check", "--no-audit", "--no-parity"), "--out", "json={}"],
        "export": [*world.words("export"), "-o", "{}"],
        "scan": ["scan", "--all", "--range", "v1.0.0..main", *place, "--out", "html={}"],
    }


@pytest.mark.parametrize("verb", ["check", "export", "scan"])
def test_a_path_that_is_no_file_s_is_one_line(
    verb: str, words: dict[str, list[str]], tmp_path: Path, shell: Shell
) -> None:
    folder = "is a folder; give the name of a file in it"
    missing = tmp_path / "none" / "lower" / "out"
    paths = {".": folder, "/": folder, "..": folder, f"{tmp_path}/new/": folder}
    paths[str(missing)] = f"there is no folder {tmp_path}/none; make it with"
    for path, told in paths.items():
        done = shell(*(word.format(path) for word in words[verb]))
        assert (done.code, done.out, len(done.problems)) == (2, "", 1)
        assert f"{path}: {told}" in done.problems[0]
    assert not (tmp_path / "none").exists()
    assert shell(*(word.format(tmp_path / "made" / "out") for word in words[verb])).code == 0
    assert (tmp_path / "made" / "out").is_file()
