# the module is skipped before it imports what needs Triton
"""Two RMS norms in one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="kernels need torch")
pytest.importorskip("triton", reason="kernels need Triton")

import torch

from backport.parity.kernels.dual_rms_norm import Norm, fused, reference, split
from backport.parity.kernels.language import counted_launches
from tests.parity.kernels.inputs import poisoned

Broken = Callable[[torch.Tensor], torch.Tensor]


def norm(device: str, width: int, eps: float, dtype: torch.dtype = torch.bfloat16) -> Norm:
    """A norm over a strided view, as of a split projection."""
    seeded = torch.Generator().manual_seed(width)
    x = torch.randn(5, width + 8, generator=seeded).to(dtype).to(device)[:, :width]
    weight = (torch.rand(width, generator=seeded) + 0.5).to(dtype).to(device)
    return Norm(x, weight, poisoned((5, width), dtype, device), eps)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("rounds_first", [False, True])
def test_one_launch_equals_two_and_the_reference(
    device: str, dtype: torch.dtype, rounds_first: bool
) -> None:
    # Unequal eps, large enough to matter: swapping them is an error that shows.
    q, kv = norm(device, 48, 1e-1, dtype), norm(device, 16, 1e-5, dtype)
    with counted_launches() as launches:
        fused(q, kv, rounds_first=rounds_first)
    assert launches.count == 1
    twins = [replace(x, out=torch.empty_like(x.out)) for x in (q, kv)]
    with counted_launches() as launches:
        split(*twins, rounds_first=rounds_first)
    assert launches.count == 2
    step = torch.finfo(dtype).eps
    for one, twin in zip((q, kv), twins, strict=True):
        assert torch.equal(one.out, twin.out)
        wanted = reference(one)
        limit = step * (1.5 if rounds_first else 0.75) * wanted.abs() + 1e-6
        assert bool(((one.out.double() - wanted).abs() <= limit).all())


def test_swapped_eps_are_noticed(device: str) -> None:
    q, kv = norm(device, 48, 1e-1), norm(device, 16, 1e-5)
    fused(replace(q, eps=kv.eps), replace(kv, eps=q.eps))
    assert not torch.allclose(q.out.double(), reference(q), rtol=1.6e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("field", "broken"),
    [("x", lambda x: x[:, ::2]), ("weight", lambda x: x[:-1]), ("out", lambda x: x[:-1])],
)
def test_broken_contracts_are_refused(device: str, field: str, broken: Broken) -> None:
    q = norm(device, 48, 1e-6)
    tensors = {"x": q.x, "weight": q.weight, "out": q.out}
    tensors[field] = broken(tensors[field])
    with pytest.raises(ValueError, match=r"."):
        fused(Norm(**tensors, eps=q.eps), norm(device, 16, 1e-6))
