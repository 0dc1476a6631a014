"""Whether a candidate is as close to the reference as the path it replaces."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from backport.parity.values import EXACT, FACTOR, Error, Figure, Output, Outputs, Tolerance

EXACTLY = Error(0.0, 0.0)
BROKEN = Error(float("inf"), float("inf"))


def judge(
    reference: Outputs,
    baseline: Outputs,
    candidate: Outputs,
    tolerances: Mapping[str, Tolerance],
    optional: frozenset[str] = frozenset(),
) -> tuple[Figure, ...]:
    """One figure for every output that the reference or the baseline has.

    Floats are judged by their distance to the reference against the baseline's;
    integers and bytes must equal the reference's, or the baseline's where the
    reference has none.
    """
    wanted = {**baseline, **reference}
    return tuple(
        _figure(name, output, baseline.get(name), candidate.get(name), tolerances)
        for name, output in wanted.items()
        if name in candidate or name not in optional
    )


def _figure(
    name: str,
    want: Output,
    baseline: Output | None,
    got: Output | None,
    tolerances: Mapping[str, Tolerance],
) -> Figure:
    if got is None:
        return Figure(name, want.dtype, BROKEN, EXACTLY, False, "", "the run left no such output")
    if got.value.shape != want.value.shape:
        detail = f"shape {tuple(got.value.shape)}, not {tuple(want.value.shape)}"
        return Figure(name, want.dtype, BROKEN, EXACTLY, False, "", detail)
    if want.dtype == EXACT:
        return _exact(name, want, got)
    tolerance = tolerances[want.dtype]
    base = error(baseline or want, want)
    allowed = Error(FACTOR * base.largest + tolerance.floor, FACTOR * base.rms + tolerance.floor)
    found = error(got, want)
    passed = found.largest <= allowed.largest and found.rms <= allowed.rms
    return Figure(name, want.dtype, found, allowed, passed, tolerance.origin)


def _exact(name: str, want: Output, got: Output) -> Figure:
    wrong = int((got.value.cpu() != want.value.cpu()).sum())
    share = wrong / max(want.value.numel(), 1)
    detail = f"{wrong} of {want.value.numel()} values differ" if wrong else ""
    found = Error(share, share)
    return Figure(name, EXACT, found, EXACTLY, not wrong, "integers and bytes are equal", detail)


def error(got: Output, want: Output) -> Error:
    """Largest |got - want| / (|want| + unit), and the relative L2 norm of the difference.

    A value that is not a number is an infinite error, unless both are the same infinity.
    """
    if want.value.numel() == 0:
        return EXACTLY
    a, b = got.value.cpu().double(), want.value.cpu().double()
    same = a == b
    finite = torch.isfinite(a) & torch.isfinite(b)
    if not bool((finite | same).all()):
        return BROKEN
    a, b = a[finite], b[finite]
    if a.numel() == 0:
        return EXACTLY
    difference = (a - b).abs()
    largest = difference / (b.abs() + want.unit).clamp_min(1e-300)
    norm = max(float(b.norm()), want.unit, 1e-300)
    return Error(float(largest.max()), float(difference.norm()) / norm)
