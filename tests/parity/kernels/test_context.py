# the module is skipped before it imports what needs Triton
"""Gathering cached context and expanding it into keys and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="kernels need torch")
pytest.importorskip("triton", reason="kernels need Triton")

import torch

from backport.parity.kernels import context as kernels
from backport.parity.kernels import fp8, k_concat
from backport.parity.kernels.context import Context, Tiling
from backport.parity.kernels.language import counted_launches
from tests.parity.kernels.inputs import context_chunk, poisoned

Broken = Callable[[torch.Tensor], torch.Tensor]
TINY = Tiling(rows=16, columns=16, depth=16, warps=4, stages=2)
WIDE = Tiling(rows=16, columns=32, depth=16, warps=4, stages=2)
TILINGS = pytest.mark.parametrize("tiling", [TINY, WIDE], ids=["parts", "whole heads"])
CACHES = pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e4m3fnuz],
    ids=["bf16", "e4m3fn", "e4m3fnuz"],
)


def workspace(chunk: Context) -> torch.Tensor:
    shape = (len(chunk.rows), chunk.cache.shape[2])
    return poisoned(shape, chunk.weight.dtype, chunk.cache.device.type)


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    return float((found.double() - wanted).abs().max() / wanted.abs().max())


def assert_as_good_as_the_split(chunk: Context) -> None:
    """err(fused) <= 2 * err(split) + one bfloat16 step of the largest value; rope exactly."""
    fused = (chunk.keys, chunk.values)
    rope = chunk.cache.shape[2] - chunk.weight.shape[1]
    other = replace(chunk, keys=torch.empty_like(chunk.keys))
    split = (other.keys, kernels.split(other, workspace(chunk)))
    assert torch.equal(fused[0][..., -rope:], split[0][..., -rope:])
    for one, two, wanted in zip(fused, split, kernels.reference(chunk), strict=True):
        assert error(one, wanted) <= 2 * error(two, wanted) + 2**-8


@CACHES
@TILINGS
def test_one_launch(device: str, dtype: torch.dtype, tiling: Tiling) -> None:
    chunk = context_chunk(device, dtype)
    with counted_launches() as launches:
        kernels.fused(chunk, tiling)
    assert launches.count == 1
    assert_as_good_as_the_split(chunk)


@CACHES
@TILINGS
def test_two_launches(device: str, dtype: torch.dtype, tiling: Tiling) -> None:
    chunk = context_chunk(device, dtype)
    with counted_launches() as launches:
        kernels.gathered(chunk, workspace(chunk), tiling)
    assert launches.count == 2
    assert_as_good_as_the_split(chunk)


@pytest.mark.parametrize(("dtype", "count"), [(torch.bfloat16, 1), (torch.float8_e4m3fn, 2)])
def test_the_faster_way(device: str, dtype: torch.dtype, count: int) -> None:
    chunk = context_chunk(device, dtype, latent=64)
    with counted_launches() as launches:
        kernels.expand(chunk, workspace(chunk))
    assert launches.count == count
    assert_as_good_as_the_split(chunk)


@TILINGS
def test_values_wider_than_the_own_part_of_keys(device: str, tiling: Tiling) -> None:
    chunk = context_chunk(device, torch.bfloat16, nope=16, value=32)
    kernels.fused(chunk, tiling)
    assert_as_good_as_the_split(chunk)


@CACHES
def test_the_gather_is_exact(device: str, dtype: torch.dtype) -> None:
    chunk = context_chunk(device, dtype)
    space = workspace(chunk)
    kernels.gather(chunk, space)
    rows = chunk.cache.view(-1, chunk.cache.shape[2])[chunk.rows.long()].float()
    wanted = rows * chunk.k_scale if dtype in fp8.FORMATS else rows
    assert torch.equal(space, wanted.to(space.dtype))


@pytest.mark.parametrize("block_size", [1, 4])
@pytest.mark.parametrize("heads", [1, 3])
def test_heads_and_block_sizes(device: str, heads: int, block_size: int) -> None:
    chunk = context_chunk(
        device, torch.float8_e4m3fn, heads=heads, block_size=block_size, lengths=(1,)
    )
    kernels.fused(chunk, TINY)
    assert_as_good_as_the_split(chunk)


def test_row_indices_walk_the_block_table(device: str) -> None:
    table = torch.tensor([[5, 2, 9], [7, 1, 3]])
    rows = kernels.row_indices(table, torch.tensor([3, 0]), torch.tensor([3, 5]), 4)
    assert rows.tolist() == [23, 8, 9, 28, 29, 30, 31, 4]
    assert rows.dtype == torch.int32


def test_no_context_launches_nothing(device: str) -> None:
    chunk = context_chunk(device, torch.bfloat16, lengths=(0,))
    with counted_launches() as launches:
        kernels.fused(chunk, TINY)
    assert launches.count == 0


@pytest.mark.parametrize(
    ("field", "broken"),
    [
        ("cache", lambda x: x.transpose(0, 1)),
        ("cache", lambda x: x.float()),
        ("rows", lambda x: x.long()),
        ("weight", lambda x: x[::2]),
        ("keys", lambda x: x[..., :-1]),
        ("values", lambda x: x.float()),
    ],
)
def test_broken_contracts_are_refused(device: str, field: str, broken: Broken) -> None:
    chunk = context_chunk(device, torch.bfloat16)
    with pytest.raises(ValueError, match=r"."):
        kernels.fused(replace(chunk, **{field: broken(getattr(chunk, field))}), TINY)


def test_weights_rounded_to_fp8_are_noticed(device: str) -> None:
    chunk = context_chunk(device, torch.float8_e4m3fn)
    weight = fp8.encoded(chunk.weight, torch.float8_e4m3fn, 448.0).to(chunk.weight.dtype)
    kernels.fused(replace(chunk, weight=weight), TINY)
    with pytest.raises(AssertionError):
        assert_as_good_as_the_split(chunk)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("heads", [1, 5])
def test_k_concat_equals_cat(device: str, dtype: torch.dtype, heads: int) -> None:
    product = torch.randn(6, heads, 32, device=device).to(dtype)
    k_nope, k_pe = product[..., :16], torch.randn(6, 16, device=device).to(dtype)[:, :8]
    k = poisoned((6, heads, 24), dtype, device)
    with counted_launches() as launches:
        k_concat.fused(k_nope, k_pe, k, heads=4)
    assert launches.count == 1
    assert torch.equal(k, k_concat.reference(k_nope, k_pe))
    other = poisoned((6, heads, 24), dtype, device)
    k_concat.split(k_nope, k_pe, other)
    assert torch.equal(k, other)


def test_k_concat_refuses_other_dtypes(device: str) -> None:
    k_nope, k_pe = torch.zeros(2, 2, 16, device=device), torch.zeros(2, 8, device=device)
    with pytest.raises(ValueError, match="one dtype"):
        k_concat.fused(k_nope, k_pe.double(), torch.zeros(2, 2, 24, device=device))
