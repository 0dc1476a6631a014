"""Measurements and digests between processes: to JSON content and back."""

from __future__ import annotations

import dataclasses
from typing import Any

from backport.core.outcomes import Status
from backport.parity.values import Error, Figure, Measurement

BROKEN = "broken: "  # in place of a digest: the layer could not be run


def content(measured: Measurement) -> dict[str, Any]:
    """Plain content; Python's JSON keeps the infinities of errors without a size."""
    return dataclasses.asdict(measured)


def measurement(told: dict[str, Any]) -> Measurement:
    """The measurement again."""
    figures = tuple(_figure(figure) for figure in told["figures"])
    return Measurement(**(told | {"status": Status(told["status"]), "figures": figures}))


def _figure(told: dict[str, Any]) -> Figure:
    errors = {key: Error(**told[key]) for key in ("error", "allowed")}
    return Figure(**(told | errors))
