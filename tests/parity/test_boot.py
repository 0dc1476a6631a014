"""A tree booted in a process of its own: told apart are wrong, unavailable and right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backport.core.outcomes import Status
from backport.core.stacks import Stack
from backport.core.trees import EXECUTABLE, Entry
from backport.parity.intree import boot, carried, children, collected
from backport.parity.report import as_content, as_lines
from backport.parity.values import Carried, Error, Figure, Measurement, ParityResult
from backport.parity.wire import content, measurement
from tests.parity.worlds import Texts

FINE = boot.Booted(ops=75)


def notes(found: boot.Booted, pristine: boot.Booted = FINE) -> list[tuple[Status, str]]:
    return [(m.status, m.note) for m in boot.judged("gfx950", found, pristine)]


def test_a_tree_that_cannot_boot_is_unavailable_and_never_passed() -> None:
    broken = boot.Booted(problem="packages are missing: regex")
    assert notes(broken) == [(Status.NOT_RUN, "unavailable: packages are missing: regex")]
    assert notes(FINE, broken)[0][0] is Status.NOT_RUN


def test_a_module_that_does_not_import_fails() -> None:
    found = boot.Booted({"vllm.a": "NameError: x"})
    assert notes(found)[0] == (Status.FAILED, "vllm.a: NameError: x")


def test_what_the_pristine_tree_has_too_is_not_the_changes_fault() -> None:
    odd = boot.Booted({"vllm.a": "x"}, {"op": "op and fake differ in is_neox"})
    assert [status for status, _ in notes(odd, odd)] == [Status.PASSED, Status.PASSED]


def test_a_new_module_is_absent_from_the_pristine_tree() -> None:
    absent = boot.Booted({"vllm.a": "absent: No module named 'vllm.a'"})
    found = boot.Booted({"vllm.a": "NameError: x"})
    assert notes(found, absent)[0][0] is Status.FAILED


def test_an_op_that_differs_from_its_fake_fails() -> None:
    found = boot.Booted({}, {"op": "op and fake differ in positions"})
    assert notes(found)[1] == (Status.FAILED, "op: op and fake differ in positions")


@pytest.mark.parametrize(
    ("pristine", "status"),
    [
        pytest.param({"layer": "ab12"}, Status.PASSED, id="the same"),
        pytest.param({"layer": "cd34"}, Status.FAILED, id="another"),
        pytest.param({}, Status.FAILED, id="not run in the pristine tree"),
        pytest.param({"layer": "broken: x"}, Status.NOT_RUN, id="breaks in the pristine tree"),
    ],
)
def test_a_closed_gate_leaves_what_the_pristine_tree_leaves(
    pristine: dict[str, str], status: Status
) -> None:
    found = boot.Booted(closed={"layer": "ab12"})
    assert notes(found, boot.Booted(closed=pristine))[2][0] is status


def test_a_closed_layer_that_breaks_does_not_equal_itself() -> None:
    same = boot.Booted(closed={"layer": "broken: x"})
    assert notes(same, same)[2][0] is Status.NOT_RUN


def test_executable_python_files_are_written_too(tmp_path: Path) -> None:
    tree = Texts({"vllm/a.py": "A = 1\n", "csrc/b.py": "", "vllm/c.cu": ""})
    tree.files["vllm/envs.py"] = Entry(EXECUTABLE, b"B = 2\n")
    boot.write_package(tree, tmp_path)
    written = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert written == {"vllm/a.py", "vllm/envs.py"}


def test_what_tests_and_compiled_ops_need_is_written_too(tmp_path: Path) -> None:
    wanted = {"tests/conftest.py", "csrc/torch_bindings.cpp", "pyproject.toml"}
    boot.write_package(
        Texts(dict.fromkeys({*wanted, "docs/conf.py", "tests/a.json"}, "")), tmp_path
    )
    assert {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()} == wanted


def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> dict[str, Any]:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "child.py").write_text(program)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    request = {"tree": str(tmp_path / "tree"), "chip": "gfx950"}
    return children.ask("child", request, ("json",))


def test_a_child_reads_its_request_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import os, sys; open(sys.argv[2], 'w').write(open(sys.argv[1]).read())"
    assert child(tmp_path, monkeypatch, program)["chip"] == "gfx950"


def test_a_child_sees_nothing_of_an_outer_pytest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import os, sys; open(sys.argv[2], 'w').write(str(len(os.environ['PYTEST_ADDOPTS'])))"
    with pytest.raises(children.Unavailable, match="PYTEST_ADDOPTS"):
        child(tmp_path, monkeypatch, program)


def test_a_child_without_an_answer_is_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(children.Unavailable, match="no such chip"):
        child(tmp_path, monkeypatch, "import sys; sys.exit('no such chip')")


def test_missing_packages_are_named(tmp_path: Path) -> None:
    with pytest.raises(children.Unavailable, match="no_such_package"):
        children.ask("child", {"tree": str(tmp_path)}, ("json", "no_such_package"))


def test_the_constraints_keep_the_large_packages_out() -> None:
    text = Path(boot.__file__).with_name("constraints.txt").read_text()
    kept_out = {line.strip() for line in text.splitlines() if line.endswith("<0")}
    assert kept_out == {"triton<0", "vllm<0"}


def test_a_measurement_survives_the_way_between_processes() -> None:
    figure = Figure("q", "bfloat16", Error(float("inf"), 0.5), Error(0.1, 0.1), False, "a step")
    made = Measurement("s", "c", "layer", "T=1", Status.FAILED, True, (figure,), 2, "why")
    assert measurement(json.loads(json.dumps(content(made)))) == made


# ---------------------------------------------------------------- carried tests


def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> dict[str, Any]:
    """What the child records of these files, run by a pytest of its own."""
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    tests = [f"{name}.py" for name in files if name.startswith("test_")]
    program = (
        "import json, sys, types\n"
        "lazy = types.SimpleNamespace()\n"
        "from backport.parity.intree import collected\n"
        f"told = collected.run({tests!r})\n"
        "open(sys.argv[2], 'w').write(json.dumps(told))\n"
    )
    (tmp_path / "child.py").write_text(program)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\nmarkers = ['skip_global_cleanup']\n"
    )
    request = {"tree": str(tmp_path), "chip": "gfx950"}
    return children.ask("child", request, ("pytest", "torch"))


def test_every_carried_test_is_counted_with_what_became_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ran(
        tmp_path,
        monkeypatch,
        test_mixed=(
            "import pytest, torch\n"
            "def test_right(): pass\n"
            "def test_wrong(): assert 1 == 2\n"
            "def test_gpu(): torch.zeros(1, device='cuda')\n"
            "@pytest.mark.skipif(True, reason='needs ROCm')\n"
            "def test_rocm(): pass\n"
        ),
        test_whole="import pytest\npytest.skip('needs AITER', allow_module_level=True)\n",
        test_broken="import no_such_module\n",
        test_empty="",
    )
    assert told["conftest"]
    mixed = told["files"]["test_mixed.py"]
    assert (mixed["collected"], mixed["passed"]) == (4, 1)
    assert list(mixed["failed"]) == ["test_mixed.py::test_wrong"]
    assert set(mixed["not_run"].values()) == {"needs ROCm", collected.NO_GPU}
    assert list(told["files"]["test_whole.py"]["not_run"].values()) == ["needs AITER"]
    assert "no_such_module" in told["files"]["test_broken.py"]["problem"]
    rows = {path: carried._row("s", path, row, True) for path, row in told["files"].items()}
    assert {path: row.status for path, row in rows.items()} == {
        "test_mixed.py": Status.FAILED,
        "test_whole.py": Status.NOT_RUN,
        "test_broken.py": Status.FAILED,
        "test_empty.py": Status.FAILED,
    }


def test_a_conftest_that_does_not_import_is_left_out_and_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = ran(
        tmp_path,
        monkeypatch,
        conftest="import no_such_module\n",
        test_right="def test_right(): pass\n",
    )
    assert not told["conftest"]
    assert told["files"]["test_right.py"]["passed"] == 1


PASSED = Measurement("s", "c", "layer", "T=1", Status.PASSED, True, (), 1)


@pytest.mark.parametrize(
    ("row", "status"),
    [
        pytest.param(Carried("s", "t.py", 3, 3), Status.PASSED, id="all ran"),
        pytest.param(Carried("s", "t.py", 3, 0, (), ("GPU",) * 3), Status.PASSED, id="GPU only"),
        pytest.param(Carried("s", "t.py", 3, 2, ("t: no",)), Status.FAILED, id="one failed"),
        pytest.param(Carried("s", "t.py", problem="no"), Status.FAILED, id="not collected"),
    ],
)
def test_carried_tests_decide_by_failing_only(row: Carried, status: Status) -> None:
    assert ParityResult((PASSED,), carried=(row,)).status is status


def test_a_file_of_which_nothing_ran_has_not_passed() -> None:
    assert Carried("s", "t.py", 3, 0, (), ("needs a GPU",) * 3).status is Status.NOT_RUN
    assert Carried("s", "t.py", unavailable="not asked for").status is Status.NOT_RUN


def test_lines_and_json_count_carried_tests_per_stack() -> None:
    rows = (
        Carried("s", "a.py", 3, 1, ("a.py::t: wrong",), ("needs ROCm",)),
        Carried("s", "b.py", 2, 2),
    )
    lines = list(as_lines("v0.28.0", ParityResult((PASSED,), carried=rows)))
    assert lines[3:7] == [
        "  s: 2 carried test files",
        "    5 tests collected: 3 passed, 1 failed, 1 not run",
        "    FAILED: a.py: a.py::t: wrong",
        "    not run: 1 time: needs ROCm",
    ]
    told = as_content("v0.28.0", ParityResult((PASSED,), carried=rows))["carried"]
    assert [row["status"] for row in told] == ["failed", "passed"]
    assert told[0]["not_run"] == {"needs ROCm": 1}


def test_only_test_files_of_a_stack_are_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    stack = Stack("s", "title", "fork", "v0.28.0", "why", ())
    paths = frozenset({"tests/a/test_b.py", "tests/a/utils.py", "vllm/test_c.py"})
    monkeypatch.setattr(Stack, "paths", lambda self: paths)
    assert carried.carried_files(stack) == ["tests/a/test_b.py"]
    (row,) = carried.not_asked([stack], "not asked for (--boot)")
    assert row.unavailable == "not asked for (--boot)"
