"""The table on disk: equal to one freshly built, whatever happened to the file."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backport.audit import worker
from backport.audit.building import table_of
from backport.audit.codec import decode, encode
from backport.audit.extract import extract
from backport.audit.index import index_of
from backport.audit.records import UNREADABLE
from backport.audit.store import Stored
from backport.audit.table import Table
from backport.core.trees import REGULAR, SYMLINK, Entry
from tests.audit.builders import Files, files

SOURCE = '''
"""A bit of everything."""
import a.b as c
from . import sibling
from .x import *

__all__ = ["A", "f"]


class A(c.Base, metaclass=c.Meta):
    """A class."""

    size: int = 1
    __slots__ = ("slot",)

    class Inner:
        pass

    def __init__(self, first: c.X | None, *rest, key="k", **more):
        self.first = first
        made = c.Thing(1)
        self.made = made
        more["x"].loose = c.Thing()

    @property
    def twice(self) -> "list[int]":
        return [1]


async def f(x, /, y=2, *, z: "A"):
    return x, y


if c:
    other: int
'''
TREE = {f"pkg/m{n}.py": SOURCE.replace("A(", f"A{n}(") for n in range(70)} | {
    "csrc/ops.cpp": 'TORCH_LIBRARY(_C, m) {\n  m.def("norm(Tensor x) -> Tensor");\n}\n',
    "README.md": "text\n",
}


def same(one: Stored, other: Stored) -> bool:
    mine, theirs = (
        {path: stored.record(number) for number, path in enumerate(stored.blobs)}
        for stored in (one, other)
    )
    return mine == theirs and one.index == other.index


def test_a_record_survives_its_bytes() -> None:
    record = extract(SOURCE.encode())
    assert decode(encode(record)) == record
    assert decode(encode(UNREADABLE)) == UNREADABLE


def test_a_record_of_what_does_not_parse() -> None:
    for data in (b"def f(:\n", b"\0", b"# coding: nowhere\n", b"x = '\xff'\n"):
        assert extract(data) == UNREADABLE


def test_the_cache_gives_what_building_gives(tmp_path: Path) -> None:
    built = table_of(files(TREE), None, 1)
    first, second = (table_of(files(TREE), tmp_path, 1) for _ in range(2))
    assert same(built, first)
    assert same(built, second)
    assert [path.suffix for path in tmp_path.iterdir()] == [".table"]


def test_children_read_what_one_process_reads(tmp_path: Path) -> None:
    assert same(table_of(files(TREE), None, 1), table_of(files(TREE), None, 3))


def test_a_child_that_fails_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert same(table_of(files(TREE), None, 2), table_of(files(TREE), None, 1))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert same(table_of(files(TREE), None, 2), table_of(files(TREE), None, 1))


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other version", "text", "folder"])
def test_a_damaged_cache_is_built_again(tmp_path: Path, damage: str) -> None:
    good = table_of(files(TREE), tmp_path, 1)
    (path,) = tmp_path.iterdir()
    data = path.read_bytes()
    broken = {
        "empty": b"",
        "cut": data[: len(data) // 2],
        "flipped": data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
        "other version": data.replace(b"backport-audit", b"backport-other", 1),
        "text": b"not a table\n",
    }
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(broken[damage])
    assert same(good, table_of(files(TREE), tmp_path, 1))
    assert damage == "folder" or path.read_bytes() == data


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    assert same(table_of(files(TREE), file / "cache", 1), table_of(files(TREE), None, 1))


def test_runs_at_once_share_one_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: table_of(files(TREE), tmp_path, 1), range(8)))
    assert all(same(found[0], other) for other in found)
    assert [path.suffix for path in tmp_path.iterdir()] == [".table"]


def test_what_another_tree_has_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table_of(files(TREE), tmp_path, 1)
    changed = TREE | {"pkg/m1.py": "x = 1\n", "pkg/new.py": TREE["pkg/m2.py"]}
    read: list[bytes] = []
    reading = worker.read

    def recorded(native: bool, data: bytes) -> worker.Reading:
        read.append(data)
        return reading(native, data)

    monkeypatch.setattr(worker, "read", recorded)
    taken = table_of(files(changed), tmp_path, 1)
    assert read == [b"x = 1\n"]
    assert same(taken, table_of(files(changed), None, 1))


def test_a_patched_table_is_the_table_of_the_patched_tree() -> None:
    change: dict[str, str | None] = {
        "pkg/m1.py": "class A(B):\n    def g(self):\n        self.h = 1\n        x.loose = 2\n",
        "pkg/m2.py": None,
        "pkg/new.py": SOURCE,
        "csrc/ops.cpp": 'TORCH_LIBRARY(_C, m) {\n  m.def("cast(Tensor x) -> Tensor");\n}\n',
    }
    entries = {p: None if t is None else Entry(REGULAR, t.encode()) for p, t in change.items()}
    base = Table.of(table_of(files(TREE), None, 1), files(TREE).paths())
    patched = base.patched(entries)
    after = files(TREE | change)
    fresh = Table.of(table_of(after, None, 1), after.paths())
    assert {p: patched.record(p) for p in after.paths()} == {
        p: fresh.record(p) for p in after.paths()
    }
    assert patched.record("pkg/m2.py") is None
    assert patched.index.defined == fresh.index.defined
    assert patched.index.registrations == fresh.index.registrations
    for word in ("loose", "Inner", "absent"):
        assert sorted(patched.mentioning(word)) == sorted(fresh.mentioning(word))
    for name in ("B", "Base"):
        assert sorted(patched.extending(name)) == sorted(fresh.extending(name))
    assert index_of({}).defined == {}


def test_a_link_has_no_source_of_its_own() -> None:
    class Linked(Files):
        def entry(self, path: str) -> Entry | None:
            entry = super().entry(path)
            return Entry(SYMLINK, entry.data) if entry and path == "link.py" else entry

    stored = table_of(Linked({"link.py": "a.py", "a.py": "x = 1\n"}), None, 1)
    assert stored.record(0) == UNREADABLE
    assert "x" in stored.record(1).names


def test_the_audit_does_not_import_what_it_does_not_need() -> None:
    code = (
        "import sys, backport.audit; "
        "print([m for m in ('click', 'rich', 'git', 'torch', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
