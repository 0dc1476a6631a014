"""What is said of a run: never "passed" for what did not run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from backport.core.outcomes import Status
from backport.core.stacks import Stack
from backport.parity import as_check, check_parity, run_parity
from backport.parity.report import as_content, as_lines
from backport.parity.values import (
    HARDWARE,
    Error,
    Figure,
    Measurement,
    ParityResult,
)
from tests.parity.worlds import Texts

PIN = {"docker/Dockerfile.rocm_base": 'ARG AITER_BRANCH="v0.1.19"\n'}
BASE = Texts(PIN)


def stack(*parity: str) -> Stack:
    return Stack("some-stack", "title", "fork", "v0.28.0", "why", (), parity=parity)


def measured(status: Status, note: str = "", *figures: Figure) -> Measurement:
    return Measurement("s", "c", "layer", "T=1", status, True, figures, 1, note)


PASSED = measured(Status.PASSED)
WRONG = Figure("query", "float8_e4m3fn", Error(0.5, 0.25), Error(0.1, 0.05), False, "a step")
FAILED = measured(Status.FAILED, "", WRONG)
NOT_RUN = measured(Status.NOT_RUN, "it needs something")


@pytest.mark.parametrize(
    ("found", "status"),
    [
        pytest.param((), Status.NOT_RUN, id="nothing"),
        pytest.param((PASSED,), Status.PASSED, id="all passed"),
        pytest.param((PASSED, NOT_RUN), Status.NOT_RUN, id="one not run"),
        pytest.param((PASSED, NOT_RUN, FAILED), Status.FAILED, id="one failed"),
    ],
)
def test_the_worst_measurement_decides(found: tuple[Measurement, ...], status: Status) -> None:
    assert ParityResult(found).status is status
    assert as_check(ParityResult(found)).status is status


def test_the_hardware_part_is_always_said_not_to_have_run() -> None:
    for found in ((), (PASSED,), (FAILED,)):
        result = ParityResult(found)
        assert HARDWARE in as_check(result).note
        assert any(HARDWARE in line for line in as_lines("v0.28.0", result))
        assert as_content("v0.28.0", result)["hardware"]["status"] == "not_run"


def test_a_finding_names_case_candidate_error_and_tolerance() -> None:
    (finding,) = as_check(ParityResult((FAILED,))).findings
    assert finding.symbol == "c/layer"
    for part in ("layer", "T=1", "query", "5.00e-01", "1.00e-01", "a step"):
        assert part in finding.message


def test_without_torch_nothing_has_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    found = check_parity(BASE, {}, [stack("router_gemm")])
    assert found.status is Status.NOT_RUN
    assert "torch cannot be imported" in found.note


def test_torch_is_imported_when_a_check_starts_and_never_before() -> None:
    modules = ("backport.parity", "backport.parity.report", "backport.workflows.parity",
               "backport.cli.parity_command")  # fmt: skip
    program = f"import sys, {', '.join(modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_stacks_nothing_has_run() -> None:
    assert "no stack is applied" in check_parity(BASE, {}, []).note


def test_without_a_pinned_aiter_nothing_has_run() -> None:
    found = check_parity(Texts({}), {}, [stack("router_gemm")])
    assert found.status is Status.NOT_RUN
    assert "which AITER it pins" in found.note


@pytest.mark.parametrize(
    ("parity", "reason"),
    [
        pytest.param((), "names no parity case", id="no case"),
        pytest.param(("nonsense",), "there is no case 'nonsense'", id="unknown case"),
        pytest.param(("router_gemm",), "no code of this stack", id="code not in the tree"),
    ],
)
def test_a_stack_whose_case_cannot_run_has_not_passed(parity: tuple[str, ...], reason: str) -> None:
    found = check_parity(BASE, {}, [stack(*parity)])
    assert found.status is Status.NOT_RUN
    assert reason in found.note


def test_an_absent_device_is_the_reason() -> None:
    result = run_parity(BASE, {}, [stack("router_gemm")], device="rocm")
    assert result.status is Status.NOT_RUN or result.measurements


def test_json_has_no_infinity() -> None:
    broken = Figure("x", "bfloat16", Error(float("inf"), float("inf")), Error(0.1, 0.1), False, "")
    text = json.dumps(as_content("t", ParityResult((measured(Status.FAILED, "", broken),))))
    assert "Infinity" not in text
    assert json.loads(text)["measurements"][0]["figures"][0]["error"] is None


def test_lines_count_inputs_launches_and_guards() -> None:
    guard = Measurement("s", "c", "layer: declines fp32", "", Status.PASSED, True)
    lines = list(as_lines("v0.28.0", ParityResult((PASSED, PASSED, guard), "v0.1.19")))
    assert lines == [
        "v0.28.0  parity passed  AITER v0.1.19 simulated on cpu",
        "  s: c",
        "    layer: 2 of 2 inputs, 2 launches",
        "    1 of 1 guards and claims hold",
        f"  not run: {HARDWARE}",
    ]


def test_a_failure_is_told_in_a_line_of_its_own() -> None:
    lines = list(as_lines("v0.28.0", ParityResult((FAILED,))))
    assert any(line.startswith("    FAILED: layer [T=1]: query") for line in lines)
