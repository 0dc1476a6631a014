"""Measurements as a table, as JSON and as a plot: pure functions of values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from backport.parity.bench_timing import Timing

FUSED = "fused"
BASELINES = ("split", "eager")  # in the plot
COLORS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8e5ea2", "#b8860b", "#555555")


@dataclass(frozen=True, slots=True)
class Row:
    """One op at one size: timings by candidate, and the time that its bytes alone need."""

    op: str
    tokens: int
    heads: int
    dtype: str
    bytes_moved: int
    floor: float  # microseconds
    timings: dict[str, Timing]

    def speed_up(self, over: str) -> float:
        """How many times faster the fused candidate is than `over`."""
        return self.timings[over].median / self.timings[FUSED].median

    @property
    def over_floor(self) -> float:
        """The fused candidate's time over that of its bytes at the rate of memory."""
        return self.timings[FUSED].median / self.floor


@dataclass(frozen=True, slots=True)
class Machine:
    """What was measured on."""

    device: str
    torch: str
    triton: str
    rates: dict[str, float]  # of streams, in bytes per microsecond
    idle: float  # microseconds of a graph with one tiny kernel

    @property
    def rate(self) -> float:
        """The most bytes per microsecond that any stream moved."""
        return max(self.rates.values())


def as_json(machine: Machine, rows: Iterable[Row], command: str) -> str:
    """Machine, command and rows as JSON text; times in microseconds."""
    listed = [
        asdict(row)
        | {"over_floor": round(row.over_floor, 3)}
        | {"speed_up": {x: round(row.speed_up(x), 3) for x in row.timings if x != FUSED}}
        for row in rows
    ]
    content = {"command": command, "machine": asdict(machine), "rows": listed}
    return json.dumps(content, indent=1) + "\n"


def as_table(machine: Machine, rows: Sequence[Row], command: str) -> str:
    """Text: one table per op; `us` is the median, in brackets the launches."""
    lines = [
        f"$ {command}",
        f"{machine.device}, torch {machine.torch}, Triton {machine.triton}",
        f"memory moves {machine.rate / 1e6:.2f} TB/s ({_rates(machine)}); floors are bytes at it",
        f"a graph of one tiny kernel takes {machine.idle:.1f} us",
    ]
    below = [f"{row.op} at {row.tokens} x {row.heads}" for row in rows if row.over_floor < 1]
    if below:
        lines.append(f"these beat their floor, so the rate is too low: {', '.join(below)}")
    for op in dict.fromkeys(row.op for row in rows):
        lines += ["", op, *_table([row for row in rows if row.op == op])]
    return "\n".join(lines) + "\n"


def _rates(machine: Machine) -> str:
    return ", ".join(f"{name} {rate / 1e6:.2f}" for name, rate in machine.rates.items())


def _table(rows: Sequence[Row]) -> list[str]:
    others = [name for name in rows[0].timings if name != FUSED]
    header = ["tokens", "heads", "dtype", "floor us", "fused us", "x floor"]
    for name in others:
        header += [f"{name} us", "x"]
    body = [header]
    for row in rows:
        cells = [str(row.tokens), str(row.heads), row.dtype, f"{row.floor:.1f}"]
        cells += [_timing(row.timings[FUSED]), f"{row.over_floor:.2f}"]
        for name in others:
            cells += [_timing(row.timings[name]), f"{row.speed_up(name):.2f}"]
        body.append(cells)
    widths = [max(len(line[column]) for line in body) for column in range(len(header))]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(x, widths, strict=True)) for x in body
    ]


def _timing(timing: Timing) -> str:
    return f"{timing.median:.1f} [{timing.launches}]"


def as_svg(machine: Machine, rows: Sequence[Row]) -> str:
    """A plot of speed-up against tokens: a line for each op, heads, dtype and baseline."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        for over in [name for name in BASELINES if name in row.timings]:
            name = f"{row.op}, {row.heads} heads, {row.dtype}, over {over}"
            lines.setdefault(name, []).append((row.tokens, row.speed_up(over)))
    tokens = sorted({row.tokens for row in rows})
    top = math.ceil(max((y for line in lines.values() for _, y in line), default=1.0))
    plot = _Plot(tokens[0], max(tokens[-1], tokens[0] * 2), top)
    parts = [plot.frame(f"Speed-up of the fused kernels, {machine.device}", tokens)]
    parts += [
        plot.line(number, name, line) for number, (name, line) in enumerate(sorted(lines.items()))
    ]
    height = plot.bottom + 40 + 16 * len(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n'
        f'<rect width="720" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


@dataclass(frozen=True, slots=True)
class _Plot:
    """Axes: tokens on a logarithmic x axis, speed-up from 0 to `top` on y."""

    first: int
    last: int
    top: int
    bottom: int = 380

    def x(self, tokens: float) -> float:
        share = math.log(tokens / self.first) / math.log(self.last / self.first)
        return 60 + 630 * share

    def y(self, speed_up: float) -> float:
        return self.bottom - (self.bottom - 40) * speed_up / self.top

    def frame(self, title: str, tokens: Sequence[int]) -> str:
        parts = [f'<text x="60" y="22" font-size="14">{title}</text>']
        for value in range(self.top + 1):
            y, color = self.y(value), "#999" if value == 1 else "#e4e4e4"
            parts.append(f'<path d="M60 {y:.1f}H690" stroke="{color}"/>')
            parts.append(f'<text x="52" y="{y + 4:.1f}" text-anchor="end">{value}x</text>')
        parts += [
            f'<text x="{self.x(count):.1f}" y="{self.bottom + 18}" text-anchor="middle">'
            f"{count}</text>"
            for count in tokens
        ]
        return "\n".join(parts)

    def line(self, number: int, name: str, points: Sequence[tuple[int, float]]) -> str:
        color = COLORS[number % len(COLORS)]
        dash = ' stroke-dasharray="5 3"' if number >= len(COLORS) else ""
        places = [(self.x(tokens), self.y(value)) for tokens, value in points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in places
        )
        y = self.bottom + 42 + 16 * number
        return (
            f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="2"{dash}/>\n'
            f'<g fill="{color}">{dots}</g>\n'
            f'<path d="M60 {y - 4}h24" stroke="{color}" stroke-width="2"{dash}/>'
            f'<text x="92" y="{y}">{name}</text>'
        )
