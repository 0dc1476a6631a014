"""Files of the library are written together: what cannot be written takes nothing away."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backport.errors import EnvironmentProblem
from backport.workflows import port
from backport.writing import finish, write_files

OLD = {"m/v2.toml": b"names mine.patch", "m/v2/mine.patch": b"a person's"}
NEW: dict[str, bytes | None] = {
    "m/v2/other.patch": b"new",
    "m/v2.toml": b"names other.patch",
    "m/v2/mine.patch": None,
}


def content(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full once a manifest is to be written."""
    write = Path.write_bytes

    def written(path: Path, data: Any) -> int:
        if "toml" in path.name:
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", written)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "m/v2").mkdir(parents=True)
    for name, data in OLD.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_what_is_written_stands_and_what_is_stale_is_gone(root: Path) -> None:
    write_files(root, NEW)
    assert content(root) == {name: data for name, data in NEW.items() if data is not None}


def test_what_many_runs_write_at_once_is_all_there(tmp_path: Path) -> None:
    (tmp_path / "patches").mkdir()
    pids = []
    for number in range(4):
        pids.append(os.fork())
        if pids[-1] == 0:
            status = 1
            try:
                for turn in range(20):
                    write_files(tmp_path, {f"patches/s{number}/{turn}": b"x", "patches/all": b"y"})
                    finish(tmp_path)
                status = 0
            finally:
                os._exit(status)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * 4
    assert len(content(tmp_path)) == 4 * 20 + 1


def test_a_full_disk_leaves_every_old_file_and_no_part(root: Path, full: None) -> None:
    with pytest.raises(EnvironmentProblem, match=r"v2\.toml: cannot be written: No space left"):
        write_files(root, NEW)
    assert content(root) == OLD


def test_port_with_force_on_a_full_disk_keeps_a_person_s_patch(root: Path, full: None) -> None:
    manifest = SimpleNamespace(source="m/v2.toml")
    found: Any = SimpleNamespace(
        ported=SimpleNamespace(manifest=manifest), patches={"other.patch": b"new"}, text="new"
    )
    with pytest.raises(EnvironmentProblem):
        port.write(root, found, force=True)
    assert content(root) == OLD
