"""What a parity case is, and what came of running one: plain values.

An op is a reference, its inputs, a baseline (the unfused sequence), candidates,
a tolerance per dtype with the origin of the number, and the inputs it declines.
Nothing here runs torch; the annotations only name it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from backport.core.outcomes import Status

if TYPE_CHECKING:
    import torch

    from backport.parity.intree.extract import Source

EXACT = "exact"
FACTOR = 2.0
HARDWARE = "the hardware part (real AITER kernels on an AMD GPU) was not run"


class Labelled(Protocol):
    """Inputs of a case: whatever tensors it needs, under a label that people read."""

    @property
    def label(self) -> str: ...


I = TypeVar("I", bound=Labelled)  # noqa: E741 - the input type of a case


class Mismatch(AssertionError):
    """Something that a case claims of the tree does not hold."""


class CannotRun(Exception):
    """A candidate that cannot be run here; the reason is not a failure of the tree."""


@dataclass(frozen=True, slots=True)
class Output:
    """One tensor that a run leaves behind.

    `value` is fp64 and dequantised where `dtype` names a float format, else it
    holds integers or raw bytes and `dtype` is EXACT. `unit` is the magnitude
    below which an error counts absolutely instead of relatively, for example
    the smallest normal number of the format times the scale.
    """

    value: torch.Tensor
    dtype: str = EXACT
    unit: float = 0.0


Outputs = Mapping[str, Output]


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run of a candidate gave; `launches` counts calls of the fused kernel."""

    outputs: Outputs
    launches: int = 1
    expected: int = 1


@dataclass(frozen=True, slots=True)
class Tolerance:
    """err(candidate) <= FACTOR * err(baseline) + floor, for outputs of one dtype."""

    floor: float
    origin: str


@dataclass(frozen=True, slots=True)
class Error:
    """How far an output is from the reference: largest relative error and relative L2 norm."""

    largest: float
    rms: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One output of one run judged; `allowed` is the bound that each error had to keep."""

    output: str
    dtype: str
    error: Error
    allowed: Error
    passed: bool
    origin: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """Where a case runs: the tree before and after, the AITER it pins, the device."""

    pristine: Source
    patched: Source
    aiter: str
    device: str = "cpu"


Run = Callable[[World, I], Ran]
Claim = Callable[[World], None]


@dataclass(frozen=True, slots=True)
class Decline(Generic[I]):
    """Inputs that the fused kernel must refuse rather than compute something else."""

    reason: str
    spoil: Callable[[I], I]


@dataclass(frozen=True, slots=True)
class Binding(Generic[I]):
    """How a case reaches a stack's code in a tree.

    It fits a stack that changes the anchor's file, in a tree that has the
    anchor (`path::qualified name`). `claims` are the decline guards and the
    structure: each raises Mismatch where it does not hold. `fits` says which
    inputs this code can get.
    """

    name: str
    anchor: str
    candidates: Mapping[str, Run[I]]
    claims: Mapping[str, Claim] = field(default_factory=dict)
    fits: Callable[[I], bool] = lambda made: True


@dataclass(frozen=True, slots=True)
class Case(Generic[I]):
    """One fused op.

    `optional` names outputs that not every candidate leaves behind; `portable` are
    real kernels, run where the device can.
    """

    name: str
    title: str
    inputs: Callable[[World], Iterator[I]]
    reference: Callable[[I], Outputs]
    baseline: Callable[[I], Outputs]
    candidates: Mapping[str, Run[I]]
    tolerances: Mapping[str, Tolerance]
    declines: Mapping[str, Decline[I]]
    bindings: tuple[Binding[I], ...]
    optional: frozenset[str] = frozenset()
    portable: Mapping[str, Run[I]] = field(default_factory=dict)


AnyCase = Case[Any]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One candidate on one input, or one claim about the tree (no figures then)."""

    stack: str
    case: str
    candidate: str
    inputs: str
    status: Status
    in_tree: bool
    figures: tuple[Figure, ...] = ()
    launches: int = 0
    note: str = ""


class Carried(NamedTuple):
    """One test file that a stack carries into the tree, as pytest found it there.

    `failed` names tests with their errors; `not_run` has a reason per test (or one for
    a file that is skipped as a whole); `problem` is an error of the collection.
    `unavailable` says why the file was not even collected.
    """

    stack: str
    path: str
    collected: int = 0
    passed: int = 0
    failed: tuple[str, ...] = ()
    not_run: tuple[str, ...] = ()
    problem: str = ""
    conftest: bool = False
    unavailable: str = ""

    @property
    def status(self) -> Status:
        """Passed only if something ran; a file that needs a GPU throughout has not run."""
        if self.failed or self.problem:
            return Status.FAILED
        return Status.PASSED if self.passed else Status.NOT_RUN


@dataclass(frozen=True, slots=True)
class ParityResult:
    """All that was measured of one tree; `problem` says why nothing could be.

    Carried tests decide by failing only: what of them needs a GPU belongs to the hardware part.
    """

    measurements: tuple[Measurement, ...] = ()
    aiter: str = ""
    device: str = "cpu"
    seconds: float = 0.0
    problem: str = ""
    hardware: str = HARDWARE
    carried: tuple[Carried, ...] = ()

    @property
    def failed(self) -> tuple[Measurement, ...]:
        return tuple(m for m in self.measurements if m.status is Status.FAILED)

    @property
    def not_run(self) -> tuple[Measurement, ...]:
        return tuple(m for m in self.measurements if m.status is Status.NOT_RUN)

    @property
    def status(self) -> Status:
        """Failed before not run before passed; an empty result has not run."""
        if self.failed or any(c.status is Status.FAILED for c in self.carried):
            return Status.FAILED
        if self.problem or self.not_run or not self.measurements:
            return Status.NOT_RUN
        return Status.PASSED
