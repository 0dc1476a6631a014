# the module is skipped before it imports what needs Triton
"""The benchmark: what it checks, counts and reports, with a clock of its own."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="kernels need torch")
pytest.importorskip("triton", reason="kernels need Triton")

import torch

from backport.parity import bench, bench_cases, bench_report
from backport.parity.bench_report import Machine, Row
from backport.parity.bench_timing import Run, Timing, streams
from backport.parity.kernels import k_concat
from backport.parity.kernels.language import counted_launches

MACHINE = Machine("a GPU", "2.13", "3.6", {"copy": 3e6, "read": 4e6}, idle=2.0)


class StubTimer:
    """Counts launches of Triton kernels for microseconds."""

    def time(self, run: Run) -> Timing:
        with counted_launches() as launches:
            run()
        return Timing(float(launches.count), 0.0, 9.0, launches.count)

    def stream_rates(self) -> dict[str, float]:
        return {"copy": 4e6}


def rows() -> list[Row]:
    return [
        Row("k_concat", tokens, 16, "bfloat16", 10, 0.5, {"fused": fused, "split": split})
        for tokens, fused, split in [
            (64, Timing(1.0, 1.0, 1.0, 1), Timing(3.0, 3.0, 3.0, 2)),
            (1024, Timing(2.0, 1.0, 3.0, 1), Timing(5.0, 4.0, 6.0, 2)),
        ]
    ]


def test_qk_rope_is_checked_and_launches_once_where_the_split_launches_three_times(
    device: str,
) -> None:
    (row,) = bench.measure(
        [bench_cases.qk_rope_case(device, 1, 1, torch.float8_e4m3fn)], StubTimer(), 4e6
    )
    assert {name: x.launches for name, x in row.timings.items()} == {
        "fused": 1,
        "split": 3,
        "eager": 3,  # and torch.cat, which only the profiler sees
        "native": 2,
    }
    assert row.bytes_moved == 2 * 576 * 3 + 16 + 128


def test_norms_and_k_concat_are_checked(device: str) -> None:
    cases = [bench_cases.norm_case(device, 2), bench_cases.k_concat_case(device, 2, 2)]
    rows = list(bench.measure(cases, StubTimer(), 4e6))
    assert [row.timings["fused"].launches for row in rows] == [1, 1]


def test_a_wrong_candidate_is_not_timed(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(k_nope: torch.Tensor, k_pe: torch.Tensor, k: torch.Tensor) -> None:
        k.zero_()

    monkeypatch.setattr(k_concat, "fused", wrong)
    with pytest.raises(bench_cases.IncorrectError, match="keys differ"):
        list(bench.measure([bench_cases.k_concat_case(device, 2, 2)], StubTimer(), 4e6))


def test_the_native_rotation_is_the_rotation(device: str) -> None:
    step = bench_cases.decode_step(device, 2, 2, torch.float8_e4m3fn)
    cos = step.cos[step.positions].float().unsqueeze(1)
    sin = step.sin[step.positions].float().unsqueeze(1)
    first, second = step.q_pe[..., ::2].float(), step.q_pe[..., 1::2].float()
    bench_cases.rotate_natively(step)
    assert torch.allclose(step.q_pe[..., ::2].float(), first * cos - second * sin, atol=3e-2)
    assert torch.allclose(step.q_pe[..., 1::2].float(), second * cos + first * sin, atol=3e-2)


def test_the_table_names_times_launches_and_ratios() -> None:
    text = bench_report.as_table(MACHINE, rows(), "bench")
    assert "1024     16  bfloat16       0.5   2.0 [1]     4.00   5.0 [2]  2.50" in text
    assert "memory moves 4.00 TB/s (copy 3.00, read 4.00)" in text
    assert "beat their floor" not in text


def test_a_floor_that_is_beaten_is_no_floor() -> None:
    high = [replace(row, floor=1.5) for row in rows()]
    text = bench_report.as_table(MACHINE, high, "bench")
    assert "these beat their floor, so the rate is too low: k_concat at 64 x 16\n" in text


def test_streams_move_the_bytes_they_claim(device: str) -> None:
    runs = streams(device, 1 << 16)
    assert {name: moved for name, (moved, _) in runs.items()} == {
        "memcpy": 1 << 16,
        "copy": 1 << 16,
        "read": 1 << 16,
        "quantize": 3 << 14,
        "write": 1 << 16,
    }
    for _, run in runs.values():
        run()


def test_json_holds_what_the_table_shows() -> None:
    content = json.loads(bench_report.as_json(MACHINE, rows(), "bench"))
    assert content["rows"][0]["speed_up"] == {"split": 3.0}
    assert content["rows"][1]["timings"]["split"]["launches"] == 2
    assert content["machine"]["device"] == "a GPU"


def test_the_plot_is_well_formed_and_names_its_lines() -> None:
    text = bench_report.as_svg(MACHINE, rows())
    root = ElementTree.fromstring(text)  # noqa: S314  # made two lines above
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "k_concat, 16 heads, bfloat16, over split" in words
    assert "1024" in words


def test_without_a_gpu_nothing_is_claimed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert bench.main([]) == 3
    assert capsys.readouterr().out == "not run: there is no GPU\n"
