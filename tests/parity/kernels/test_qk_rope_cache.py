# the module is skipped before it imports what needs Triton
"""The fused QK-RoPE-concat-cache kernel, against torch and against the split kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="kernels need torch")
pytest.importorskip("triton", reason="kernels need Triton")

import torch

from backport.parity.kernels import fp8
from backport.parity.kernels.language import counted_launches
from backport.parity.kernels.qk_rope_cache import (
    Decode,
    Rounding,
    Style,
    Tiling,
    concat_and_cache,
    fused,
    split,
)
from backport.parity.kernels.qk_rope_reference import reference
from tests.parity.kernels.inputs import decode_step

Kernel = Callable[[Decode, Style, Tiling | None], None]
Broken = Callable[[torch.Tensor], torch.Tensor]
FN, FNUZ = torch.float8_e4m3fn, torch.float8_e4m3fnuz
FP8 = pytest.mark.parametrize("dtype", [FN, FNUZ], ids=["e4m3fn", "e4m3fnuz"])
STYLES = pytest.mark.parametrize("is_neox", [True, False], ids=["neox", "gptj"])
ROUNDINGS = pytest.mark.parametrize("rounding", list(Rounding), ids=lambda x: x.name.lower())


def outputs(step: Decode) -> tuple[torch.Tensor, torch.Tensor]:
    return fp8.codes(step.q_out), fp8.codes(step.cache)


def run(
    kernel: Kernel, step: Decode, style: Style, heads: int = 4
) -> tuple[torch.Tensor, torch.Tensor]:
    kernel(step, style, Tiling(heads, 4))
    return outputs(step)


def assert_same(found: Iterable[torch.Tensor], wanted: Iterable[torch.Tensor]) -> None:
    for name, one, other in zip(("q_out", "cache"), found, wanted, strict=True):
        differing = int((one != other).sum())
        assert differing == 0, f"{name}: {differing} of {one.numel()} codes differ"


@FP8
@STYLES
@ROUNDINGS
def test_the_fused_kernel_equals_the_reference(
    device: str, dtype: torch.dtype, is_neox: bool, rounding: Rounding
) -> None:
    step, style = decode_step(device, dtype), Style(is_neox, rounding)
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style), wanted)


@FP8
@STYLES
@pytest.mark.parametrize("rounding", [Rounding.ONCE, Rounding.EACH], ids=lambda x: x.name.lower())
def test_the_fused_kernel_equals_the_split_kernels_to_the_bit(
    device: str, dtype: torch.dtype, is_neox: bool, rounding: Rounding
) -> None:
    style = Style(is_neox, rounding)
    one = run(fused, decode_step(device, dtype), style)
    assert_same(run(split, decode_step(device, dtype), style), one)


@pytest.mark.parametrize(
    ("heads", "tile", "block_size"), [(1, 1, 1), (3, 2, 64), (16, 16, 4), (128, 64, 1)]
)
def test_any_number_of_heads_and_any_block_size(
    device: str, heads: int, tile: int, block_size: int
) -> None:
    step, style = decode_step(device, FN, heads=heads, block_size=block_size), Style()
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style, heads=tile), wanted)


def test_a_cache_and_query_of_the_models_dtype_are_not_scaled(device: str) -> None:
    step, style = decode_step(device, torch.bfloat16), Style()
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style), wanted)


@ROUNDINGS
@pytest.mark.parametrize("model", [torch.float16, torch.float32], ids=str)
def test_other_models(device: str, model: torch.dtype, rounding: Rounding) -> None:
    step, style = decode_step(device, FN, model=model), Style(rounding=rounding)
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style), wanted)
    if rounding != Rounding.NOT:  # which the split kernels cannot store
        assert_same(run(split, decode_step(device, FN, model=model), style), wanted)


@pytest.mark.parametrize("fills_q", [True, False])
def test_a_negative_slot_leaves_the_cache_alone_and_q_out_if_asked(
    device: str, fills_q: bool
) -> None:
    step, style = decode_step(device, FN), Style(fills_q=fills_q)
    dead = step.slots < 0
    assert bool(dead.any())
    before, cache_before = (x.clone() for x in outputs(step))
    q_out, cache = run(fused, step, style)
    assert bool((q_out[dead] == before[dead]).all()) is not fills_q
    untouched = torch.ones(cache.view(-1, cache.shape[-1]).shape[0], dtype=torch.bool)
    untouched[step.slots[~dead].cpu()] = False
    flat, flat_before = (x.view(-1, cache.shape[-1]).cpu() for x in (cache, cache_before))
    assert torch.equal(flat[untouched], flat_before[untouched])


def test_identity_rotation_of_one_row_serves_every_position(device: str) -> None:
    step = decode_step(device, FN)
    one, zero = torch.ones_like(step.cos[:1]), torch.zeros_like(step.sin[:1])
    step = replace(step, cos=one, sin=zero, positions=step.positions + (1 << 20))
    run(fused, step, Style())
    q = torch.cat((step.q_nope, step.q_pe), dim=-1)
    wanted = fp8.encoded(q.float() * (1 / step.q_scale), FN, 448.0)
    assert torch.equal(step.q_out.float(), wanted.float())


def test_saturation_and_subnormal_values(device: str) -> None:
    step, style = decode_step(device, FN), Style()
    step.q_nope[0] *= 1e4
    step.kv_c[1] *= 1e-4
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style), wanted)


def test_more_rows_than_slots(device: str) -> None:
    step, style = decode_step(device, FN), Style()
    step = replace(step, slots=step.slots[:3])
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style), wanted)


def test_no_tokens_launch_nothing(device: str) -> None:
    step = decode_step(device, FN)
    with counted_launches() as launches:
        fused(replace(step, slots=step.slots[:0]), Style())
    assert launches.count == 0


@pytest.mark.parametrize(("kernel", "count"), [(fused, 1), (split, 3), (concat_and_cache, 1)])
def test_launches(device: str, kernel: Kernel, count: int) -> None:
    with counted_launches() as launches:
        kernel(decode_step(device, FN), Style(), None)
    assert launches.count == count


def test_multiplying_k_by_the_reciprocal_as_aiter_does(device: str) -> None:
    step, style = decode_step(device, FN), Style(rounding=Rounding.NOT, divides_k=False)
    wanted = [fp8.codes(x) for x in reference(step, style)]
    assert_same(run(fused, step, style), wanted)


@pytest.mark.parametrize(
    ("field", "broken"),
    [
        ("k_pe", lambda x: x.unsqueeze(1)),
        ("slots", lambda x: x.int()),
        ("q_pe", lambda x: x.float()),
        ("kv_c", lambda x: x[:, ::2]),
        ("cos", lambda x: x[:, ::2]),
        ("cache", lambda x: x[..., :-1]),
        ("positions", lambda x: x[:2]),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_broken_contracts_are_refused(device: str, field: str, broken: Broken) -> None:
    step = decode_step(device, FN)
    with pytest.raises(ValueError, match=r"."):
        fused(replace(step, **{field: broken(getattr(step, field))}), Style())


def test_values_rotated_in_place_cannot_stay_unrounded(device: str) -> None:
    with pytest.raises(ValueError, match="rounded"):
        split(decode_step(device, FN), Style(rounding=Rounding.NOT))


@pytest.mark.parametrize("wrong", ["cos", "scale", "style"])
def test_the_comparison_notices(device: str, wrong: str) -> None:
    step, style = decode_step(device, FN), Style()
    wanted = [fp8.codes(x) for x in reference(step, style)]
    if wrong == "cos":
        step = replace(step, cos=torch.full_like(step.cos, 0.5))
    elif wrong == "scale":
        step = replace(step, k_scale=step.q_scale, q_scale=step.k_scale)
    else:
        style = Style(is_neox=False)
    with pytest.raises(AssertionError, match="codes differ"):
        assert_same(run(fused, step, style), wanted)
