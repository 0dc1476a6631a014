"""How long a sequence of launches takes on a GPU, and how fast that GPU streams memory.

A sequence is captured into a graph, so that the host's launch cost does not
count, and each replay starts with a cold L2 cache. The median of the replays is
reported beside their spread.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from backport.parity.kernels import fp8
from backport.parity.kernels.static_quant import quantize

Run = Callable[[], None]
FLUSH_BYTES = 256 << 20  # several times the L2 cache of any GPU at hand
STREAM_BYTES = 4 << 30  # long enough that starting the graph is under 1% of it
_event: Any = torch.cuda.Event  # torch leaves their constructors untyped
_stream: Any = torch.cuda.Stream


@dataclass(frozen=True, slots=True)
class Timing:
    """Microseconds of one run: the median and the quartiles of the replays; its launches."""

    median: float
    low: float
    high: float
    launches: int


class Timer(Protocol):
    """Something that measures runs and knows how fast memory is."""

    def time(self, run: Run) -> Timing:
        """The timing of `run`, which may be called any number of times."""

    def stream_rates(self) -> dict[str, float]:
        """Bytes per microsecond of large streams; read and written bytes both count."""


class GraphTimer:
    """Times runs on the current CUDA or ROCm device by graph replay."""

    def __init__(self, repeats: int = 200) -> None:
        self._repeats = repeats
        self._flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")

    def time(self, run: Run) -> Timing:
        """The timing of `run`; raises RuntimeError when it launches nothing."""
        launches = count_launches(run)
        if launches == 0:
            raise RuntimeError("nothing was launched")
        times = self._replay_times(captured(run))
        low, median, high = statistics.quantiles(times, n=4)
        return Timing(median, low, high, launches)

    def stream_rates(self) -> dict[str, float]:
        """Bytes per microsecond of large streams; read and written bytes both count.

        memcpy is the driver's copy, which is no bound: kernels are faster. The fastest
        of the others bounds every mixture of reads and writes.
        """
        runs = streams("cuda", STREAM_BYTES)
        return {name: moved / self.time(run).median for name, (moved, run) in runs.items()}

    def _replay_times(self, graph: torch.cuda.CUDAGraph) -> list[float]:
        pairs = []
        for number in range(self._repeats + 10):
            self._flush.fill_(number % 251)
            start, end = (_event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            pairs.append((start, end))
        torch.cuda.synchronize()
        return [start.elapsed_time(end) * 1e3 for start, end in pairs[10:]]


def streams(device: str, size: int) -> dict[str, tuple[int, Run]]:
    """By name the bytes moved and a run that moves them: a buffer of `size` bytes, or parts."""
    buffer = torch.ones(size // 4, device=device)
    first, second = buffer.chunk(2)
    total = torch.empty((), device=device)
    wide, codes = first.view(torch.bfloat16), second[: len(second) // 2].view(fp8.preferred())
    scale = torch.ones(1, device=device)
    return {
        "memcpy": (size, lambda: void(second.copy_(first))),
        "copy": (size, lambda: void(torch.neg(first, out=second))),
        "read": (size, lambda: void(torch.amax(buffer, dim=0, out=total))),
        "quantize": (size // 4 * 3, lambda: quantize(wide, codes, scale)),
        "write": (size, lambda: void(buffer.fill_(1.0))),
    }


def void(_: object) -> None:
    """Nothing, of something: makes a `Run` of an expression."""


def captured(run: Run) -> torch.cuda.CUDAGraph:
    """A graph of `run`, after three runs in which kernels compile and libraries wake up."""
    stream = _stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def count_launches(run: Run) -> int:
    """How many kernels and copies of the device `run` starts, as the profiler saw them."""
    run()  # compile first
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        run()
        torch.cuda.synchronize()
    events = profile.events() or ()
    return sum(event.device_type.name == "CUDA" for event in events)
