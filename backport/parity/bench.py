"""Fused kernels against the split ones on the GPU at hand: `python -m backport.parity.bench`.

Every candidate is checked against its reference before anything is timed; a
candidate that is wrong is an error (exit 1). Without a GPU nothing is measured,
and that is said (exit 3).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backport.parity.bench_cases import Case
    from backport.parity.bench_report import Machine, Row
    from backport.parity.bench_timing import Timer

DECODE = [(tokens, heads) for heads in (16, 128) for tokens in (1, 16, 64, 256, 1024, 4096)]
NORMS = (1, 16, 64, 256, 1024, 4096, 16384)
PREFILL = [(tokens, 16) for tokens in (1024, 8192, 32768)]


def cases_by_op(device: str) -> dict[str, Iterator[Case]]:
    """The cases of each op, made one by one, by the name that stacks use."""
    import torch

    from backport.parity import bench_cases as make
    from backport.parity.kernels import fp8

    quantized = fp8.preferred()
    return {
        "qk_rope_concat_and_cache": (
            make.qk_rope_case(device, *size, quantized) for size in DECODE
        ),
        "dual_rmsnorm": (make.norm_case(device, tokens) for tokens in NORMS),
        "context_gather": (
            make.context_case(device, *size, dtype)
            for size in PREFILL
            for dtype in (torch.bfloat16, quantized)
        ),
        "k_concat": (make.k_concat_case(device, *size) for size in PREFILL),
    }


def measure(cases: Iterable[Case], timer: Timer, rate: float) -> Iterator[Row]:
    """A row for each case, checked and then timed; raises IncorrectError.

    `rate`: the most bytes per microsecond that the memory moves.
    """
    from backport.parity.bench_report import Row

    for case in cases:
        case.check()
        timings = {name: timer.time(run) for name, run in case.candidates.items()}
        floor = case.bytes_moved / rate
        yield Row(case.op, case.tokens, case.heads, case.dtype, case.bytes_moved, floor, timings)


def machine_at_hand(timer: Timer) -> Machine:
    """The GPU at hand and its rates."""
    import torch
    import triton

    from backport.parity.bench_report import Machine
    from backport.parity.bench_timing import void

    one = torch.zeros(1, device="cuda")
    idle = timer.time(lambda: void(one.add_(1))).median
    name = torch.cuda.get_device_name()
    return Machine(name, torch.__version__, triton.__version__, timer.stream_rates(), idle)


def missing() -> str:
    """Why nothing can be measured here, or an empty string."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed"
    return "" if torch.cuda.is_available() else "there is no GPU"


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m backport.parity.bench", description=__doc__)
    parser.add_argument("--json", type=Path, help="write the measurements here")
    parser.add_argument("--plot", type=Path, help="write the speed-up plot (SVG) here")
    parser.add_argument("--op", action="append", help="measure this op alone (repeatable)")
    parser.add_argument("--repeats", type=int, default=200, help="graph replays (200)")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; returns the exit code."""
    options = arguments(given)
    reason = missing()
    if reason:
        sys.stdout.write(f"not run: {reason}\n")
        return 3
    from backport.parity import bench_report
    from backport.parity.bench_cases import IncorrectError
    from backport.parity.bench_timing import GraphTimer

    timer = GraphTimer(options.repeats)
    machine = machine_at_hand(timer)
    rows: list[Row] = []
    for op, cases in cases_by_op("cuda").items():
        if options.op and op not in options.op:
            continue
        try:
            rows.extend(measure(cases, timer, machine.rate))
        except IncorrectError as error:
            sys.stdout.write(f"{op}: {error}\n")
            return 1
    command = " ".join(["python -m backport.parity.bench", *(given or sys.argv[1:])])
    if options.json:
        options.json.write_text(bench_report.as_json(machine, rows, command))
    if options.plot:
        options.plot.write_text(bench_report.as_svg(machine, rows))
    if options.json == Path("/dev/stdout"):
        return 0
    sys.stdout.write(bench_report.as_table(machine, rows, command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
