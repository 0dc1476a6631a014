# the module is skipped before it imports what needs Triton
"""fp8 codes made with integer arithmetic, against torch's casts."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="kernels need torch")
pytest.importorskip("triton", reason="kernels need Triton")

import torch
import triton.language as tl

from backport.parity.kernels import fp8
from backport.parity.kernels.language import Pointer, constexpr, jit, launch

FORMATS = pytest.mark.parametrize("dtype", list(fp8.FORMATS), ids=["e4m3fn", "e4m3fnuz"])
COUNT = 1 << 13


@jit
def encode_all(x: Pointer, out: Pointer, N: constexpr, TO: constexpr) -> None:  # noqa: N803
    lane = tl.arange(0, N)
    fp8.store(out + lane, tl.load(x + lane), lane < N, TO)


@jit
def decode_all(x: Pointer, out: Pointer, N: constexpr, FROM: constexpr) -> None:  # noqa: N803
    lane = tl.arange(0, N)
    tl.store(out + lane, fp8.decode(tl.load(x + lane), FROM))


def values(dtype: torch.dtype) -> torch.Tensor:
    """Every value of `dtype`, every tie between two of them, and values far and near."""
    seeded = torch.Generator().manual_seed(3)
    exponents = torch.randint(-14, 11, (COUNT,), generator=seeded)
    x = torch.randn(COUNT, generator=seeded) * torch.exp2(exponents.float())
    exact = torch.arange(256, dtype=torch.uint8).view(dtype).float()
    exact = exact[~exact.isnan()].sort().values
    x[: len(exact)] = exact
    x[256 : 255 + len(exact)] = (exact[1:] + exact[:-1]) / 2
    return x


@FORMATS
@pytest.mark.parametrize("limit", [240.0, 224.0])
def test_encoding_rounds_and_saturates_as_torch_does(
    device: str, dtype: torch.dtype, limit: float
) -> None:
    x, codec = values(dtype).to(device), fp8.Codec(fp8.FORMATS[dtype], limit)
    out = torch.empty(COUNT, dtype=torch.uint8, device=device)
    launch(encode_all, 1, x, out, N=COUNT, TO=codec)
    assert torch.equal(out, fp8.codes(fp8.encoded(x, dtype, limit)))


@FORMATS
def test_decoding_is_exact(device: str, dtype: torch.dtype) -> None:
    codes = torch.arange(256, dtype=torch.uint8, device=device)
    out = torch.empty(256, device=device)
    launch(decode_all, 1, codes, out, N=256, FROM=fp8.Codec(fp8.FORMATS[dtype]))
    assert torch.equal(out.nan_to_num(nan=1e9), codes.view(dtype).float().nan_to_num(nan=1e9))


@FORMATS
def test_hardware_and_integer_arithmetic_agree(device: str, dtype: torch.dtype) -> None:
    x = values(dtype).to(device)
    codec = fp8.codec_of(torch.empty(1, dtype=dtype, device=device))
    if not codec.HARDWARE:
        pytest.skip("this device does not cast this format in hardware")
    out = torch.empty(COUNT, dtype=torch.uint8, device=device)
    launch(encode_all, 1, x, out, N=COUNT, TO=codec)
    assert torch.equal(out, fp8.codes(fp8.encoded(x, dtype, codec.LIMIT)))
