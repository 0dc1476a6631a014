"""A tree booted in a process of its own: told apart are wrong, unavailable and right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from backport.core.outcomes import Status
from backport.core.trees import EXECUTABLE, Entry
from backport.parity.intree import boot
from tests.parity.worlds import Texts

FINE = boot.Booted({}, {}, 75, "torch.float8_e4m3fn")


def notes(found: boot.Booted, pristine: boot.Booted = FINE) -> list[tuple[Status, str]]:
    return [(m.status, m.note) for m in boot._judged("gfx950", found, pristine)]


def test_a_tree_that_cannot_boot_is_unavailable_and_never_passed() -> None:
    broken = boot.Booted({}, {}, 0, "", "packages are missing: regex")
    assert notes(broken) == [(Status.NOT_RUN, "unavailable: packages are missing: regex")]
    assert notes(FINE, broken)[0][0] is Status.NOT_RUN


def test_a_module_that_does_not_import_fails() -> None:
    found = boot.Booted({"vllm.a": "NameError: x"}, {}, 75, "")
    assert notes(found)[0] == (Status.FAILED, "vllm.a: NameError: x")


def test_what_the_pristine_tree_has_too_is_not_the_changes_fault() -> None:
    odd = boot.Booted({"vllm.a": "x"}, {"op": "op and fake differ in is_neox"}, 75, "")
    assert [status for status, _ in notes(odd, odd)] == [Status.PASSED, Status.PASSED]


def test_a_new_module_is_absent_from_the_pristine_tree() -> None:
    absent = boot.Booted({"vllm.a": "absent: No module named 'vllm.a'"}, {}, 75, "")
    found = boot.Booted({"vllm.a": "NameError: x"}, {}, 75, "")
    assert notes(found, absent)[0][0] is Status.FAILED


def test_an_op_that_differs_from_its_fake_fails() -> None:
    found = boot.Booted({}, {"op": "op and fake differ in positions"}, 75, "")
    assert notes(found)[1] == (Status.FAILED, "op: op and fake differ in positions")


def test_executable_python_files_are_written_too(tmp_path: Path) -> None:
    tree = Texts({"vllm/a.py": "A = 1\n", "csrc/b.py": "", "vllm/c.cu": ""})
    tree.files["vllm/envs.py"] = Entry(EXECUTABLE, b"B = 2\n")
    boot.write_package(tree, tmp_path)
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert written == {"vllm/a.py", "vllm/envs.py"}


def test_a_child_without_an_answer_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text("import sys; sys.exit('no such chip')")
    monkeypatch.setattr(boot, "CHILD", child)
    monkeypatch.setattr(boot, "NEEDED", ("json",))
    assert sys.executable
    assert boot.start(tmp_path, "gfx950", []).problem == "no such chip"
