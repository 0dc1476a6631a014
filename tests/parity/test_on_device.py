"""The kernels alone, as a machine without a release runs them."""

from __future__ import annotations

import pytest

from backport.core.outcomes import Status
from backport.parity import on_device, torch_problem
from backport.parity.cases import CASES
from backport.parity.values import ParityResult


def test_an_absent_device_has_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    if not torch_problem("rocm"):
        pytest.skip("there is a ROCm device")
    assert on_device.main("rocm") == 3
    assert "torch sees no rocm device" in capsys.readouterr().out


def test_every_case_has_a_kernel_that_runs_without_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow = {name: CASES[name] for name in ("k_concat", "prefill_logits")}
    monkeypatch.setattr("backport.parity.cases.CASES", narrow)
    result = on_device.run_kernels("cpu")
    assert result.status is Status.PASSED
    assert {m.case for m in result.measurements} == set(narrow)
    assert not any(m.in_tree for m in result.measurements)
    assert all(case.candidates for case in CASES.values())


def test_a_failure_is_the_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_device, "run_kernels", lambda *_: ParityResult(problem="no reason"))
    assert on_device.main("cpu") == 3
    assert on_device.EXIT[Status.FAILED] == 1
