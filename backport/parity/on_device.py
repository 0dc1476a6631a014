"""The cases' kernels alone on a device, without any tree: what a bare GPU machine can show.

usage: python -m backport.parity.on_device [cpu|cuda|rocm] [AITER]

Needs torch, and Triton for the portable kernels; neither git nor a release. It runs
the simulated AITER and the Triton kernels of every case against their references, and
the inputs that the kernels must decline. Exit status: 0 passed, 1 failed, 3 not run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from backport.core.outcomes import Status
from backport.core.trees import Entry
from backport.parity import torch_problem
from backport.parity.report import as_lines
from backport.parity.values import ParityResult

AITER = "v0.1.24.post1"
EXIT = {Status.PASSED: 0, Status.FAILED: 1, Status.NOT_RUN: 3}


class NoTree:
    """A tree without files."""

    def entry(self, path: str) -> Entry | None:
        return None

    def paths(self) -> Mapping[str, str]:
        return {}


def run_kernels(device: str, version: str = AITER) -> ParityResult:
    """Every measurement of the kernels of every case; nothing of it ran in a tree."""
    problem = torch_problem(device)
    if problem:
        return ParityResult(device=device, problem=problem)
    from backport.parity.cases import CASES
    from backport.parity.intree.extract import Source
    from backport.parity.running import one_thread, run_kernels_of
    from backport.parity.values import World

    start = time.perf_counter()
    empty = Source(NoTree())
    world = World(empty, empty, version, "cpu" if device == "cpu" else "cuda")
    with one_thread():
        found = [m for case in CASES.values() for m in run_kernels_of(case, world)]
    return ParityResult(tuple(found), version, device, time.perf_counter() - start)


def main(device: str = "cuda", version: str = AITER) -> int:
    """Print a block per case; the exit status."""
    result = run_kernels(device, version)
    for line in as_lines("no tree", result):
        print(line)  # noqa: T201 - a program of its own
    return EXIT[result.status]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
