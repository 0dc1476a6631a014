"""What parity found, as plain lines and as JSON: pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from backport.core.outcomes import Status
from backport.parity import describe
from backport.parity.values import Carried, Figure, Measurement, ParityResult

MARK = {Status.PASSED: "passed", Status.FAILED: "FAILED", Status.NOT_RUN: "not run"}


def as_lines(target: str, result: ParityResult, verbose: bool = False) -> Iterator[str]:
    """A headline, a block per stack and case, and always what was not run."""
    yield f"{target}  parity {MARK[result.status]}" + (
        f"  AITER {result.aiter} simulated on {result.device}" if result.aiter else ""
    )
    if result.problem:
        yield f"  not run: {result.problem}"
    for (stack, case), measured in groupby(result.measurements, lambda m: (m.stack, m.case)):
        yield from _case(stack, case, list(measured), verbose)
    yield from _carried(result.carried)
    yield f"  not run: {result.hardware}"


def _case(stack: str, case: str, measured: list[Measurement], verbose: bool) -> Iterator[str]:
    yield f"  {stack}: {case or 'no case'}"
    runs = [m for m in measured if m.inputs and not _is_decline(m)]
    names = dict.fromkeys(m.candidate for m in runs)
    for name in names:
        yield "    " + _candidate(name, [m for m in runs if m.candidate == name])
    claims = [m for m in measured if m.candidate and m not in runs]
    if claims:
        held = sum(m.status is Status.PASSED for m in claims)
        yield f"    {held} of {len(claims)} guards and claims hold"
    for m in measured:
        if m.status is not Status.PASSED:
            name = " ".join(filter(None, (m.candidate, m.inputs and f"[{m.inputs}]")))
            yield f"    {MARK[m.status]}: {name + ': ' if name else ''}{describe(m)}"
        elif verbose:
            yield f"    {_detail(m)}"


def _carried(carried: Iterable[Carried]) -> Iterator[str]:
    """A line of counts per stack, then what failed and why the rest did not run."""
    for stack, group in groupby(carried, lambda c: c.stack):
        files = list(group)
        total = sum(c.collected for c in files)
        counts = (
            f"{sum(c.passed for c in files)} passed",
            f"{sum(len(c.failed) for c in files)} failed",
            f"{sum(len(c.not_run) for c in files)} not run",
        )
        yield f"  {stack}: {len(files)} carried test files"
        if not all(c.unavailable for c in files):
            yield f"    {total} tests collected: {', '.join(counts)}"
        for c in files:
            yield from (f"    FAILED: {c.path}: {what}" for what in (c.problem, *c.failed) if what)
        reasons = Counter(r for c in files for r in (*c.not_run, c.unavailable) if r)
        for reason, times in reasons.items():
            yield f"    not run: {times} {'time' if times == 1 else 'times'}: {reason}"


def _is_decline(measured: Measurement) -> bool:
    return measured.candidate.startswith("declines ")


def _candidate(name: str, runs: list[Measurement]) -> str:
    passed = sum(m.status is Status.PASSED for m in runs)
    launches = sum(m.launches for m in runs)
    worst = worst_figure(f for m in runs for f in m.figures)
    error = f", error {worst.error.largest:.1e} of {worst.allowed.largest:.1e}" if worst else ""
    return f"{name}: {passed} of {len(runs)} inputs, {launches} launches{error}"


def worst_figure(figures: Iterable[Figure]) -> Figure | None:
    """The figure that uses most of what its tolerance allows; None where all are exact."""
    used = [f for f in figures if f.allowed.largest > 0]
    return max(used, key=lambda f: f.error.largest / f.allowed.largest, default=None)


def _detail(measured: Measurement) -> str:
    figures = ", ".join(
        f"{f.output} {f.error.largest:.1e} of {f.allowed.largest:.1e}"
        for f in measured.figures
        if f.allowed.largest > 0
    )
    shown = f" [{measured.inputs}]" if measured.inputs else ""
    return f"{MARK[measured.status]}: {measured.candidate}{shown} {figures}".rstrip()


def as_content(target: str, result: ParityResult) -> dict[str, Any]:
    """The whole result as JSON content: stable, more keys may follow."""
    return {
        "schema": 1,
        "target": target,
        "status": str(result.status),
        "aiter": result.aiter or None,
        "device": result.device,
        "seconds": round(result.seconds, 3),
        "problem": result.problem or None,
        "hardware": {"status": str(Status.NOT_RUN), "note": result.hardware},
        "measurements": [_measurement(m) for m in result.measurements],
        "carried": [_carried_file(c) for c in result.carried],
    }


def _carried_file(carried: Carried) -> dict[str, Any]:
    return {
        "stack": carried.stack,
        "path": carried.path,
        "status": str(carried.status),
        "collected": carried.collected,
        "passed": carried.passed,
        "failed": list(carried.failed),
        "not_run": dict(Counter(carried.not_run)),
        "problem": carried.problem or None,
        "own_conftest": carried.conftest,
        "unavailable": carried.unavailable or None,
    }


def _measurement(measured: Measurement) -> dict[str, Any]:
    return {
        "stack": measured.stack,
        "case": measured.case or None,
        "candidate": measured.candidate or None,
        "inputs": measured.inputs or None,
        "status": str(measured.status),
        "in_tree": measured.in_tree,
        "launches": measured.launches,
        "note": measured.note or None,
        "figures": [_figure(f) for f in measured.figures],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "output": figure.output,
        "dtype": figure.dtype,
        "passed": figure.passed,
        "error": _finite(figure.error.largest),
        "rms": _finite(figure.error.rms),
        "allowed": figure.allowed.largest,
        "allowed_rms": figure.allowed.rms,
        "origin": figure.origin or None,
        "detail": figure.detail or None,
    }


def _finite(number: float) -> float | None:
    """JSON has no infinity: an error without a size is null."""
    return None if number == float("inf") else number
