"""Where results are written: a path that cannot be one is told before any work."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repos import PROJECT, Shell, World


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


@pytest.mark.parametrize("verb", ["check", "export", "scan"])
@pytest.mark.parametrize("kind", ["pipe", "link", "socket"])
def test_what_nobody_may_ever_read_is_not_waited_for(
    kind: str,
    verb: str,
    words: dict[str, list[str]],
    tmp_path: Path,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # the whole name of a socket may be too long
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("socket")
    else:
        os.mkfifo("pipe")
        Path("link").symlink_to("pipe")
    done = shell(*(word.format(kind) for word in words[verb]))
    told = (
        f"backport: error: {kind}: is a pipe, socket or device, and no regular file; give the "
        "name of a file, or `>(command)` in a shell"
    )
    assert (done.code, done.out, done.problems) == (2, "", [told])


@pytest.mark.parametrize(
    "how",
    [
        "{} -o >(cat > got); code=$?; wait $!; exit $code",
        "{} -o /dev/stdout | cat > got; exit ${{PIPESTATUS[0]}}",
        "{} -o /dev/stdout > got",
        "{} -o /dev/fd/3 3> got",
        "{} -o /dev/null; : > got",
        "{} -o /dev/stdout | :; code=${{PIPESTATUS[0]}}; : > got; exit $code",
    ],
)
def test_what_a_shell_opens_is_written(how: str, world: World, tmp_path: Path) -> None:
    def bash(words: str) -> subprocess.CompletedProcess[bytes]:
        env = {**os.environ, "PYTHONPATH": str(PROJECT)}
        return subprocess.run(
            ["bash", "-c", words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            timeout=60,
            check=False,
        )

    tool = shlex.join([sys.executable, "-m", "backport", *world.words("export")])
    done = bash(how.format(tool))
    assert (done.returncode, done.stderr) == (0, b"")
    expected = b"" if ": > got" in how else bash(tool).stdout
    assert (tmp_path / "got").read_bytes() == expected
