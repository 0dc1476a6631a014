"""[k_nope | k_pe] of MLA prefill keys: k_pe is shared by the heads. Exact: nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity import portable
from backport.parity.intree import context_gather as tree
from backport.parity.intree.torch_view import poison
from backport.parity.simulated import Aiter, k_concat
from backport.parity.simulated.k_concat import NOPE, ROPE
from backport.parity.values import EXACT, Case, Decline, Output, Outputs, Ran, Tolerance, World

V = 128


@dataclass(frozen=True, slots=True)
class Inputs:
    """`k_nope` [T, H, 128] and `k_pe` [T, 1, 64], both column slices of wider rows."""

    label: str
    k_nope: torch.Tensor
    k_pe: torch.Tensor


def inputs(world: World) -> Iterator[Inputs]:
    """Odd, single and no rows; 1 to 128 heads; bf16 and fp16."""
    for seed, (tokens, heads, dtype) in enumerate(
        ((1, 16, torch.bfloat16), (33, 3, torch.bfloat16), (5, 128, torch.float16),
         (0, 16, torch.bfloat16))
    ):  # fmt: skip
        yield make(world, tokens, heads, dtype, seed)


def make(world: World, tokens: int, heads: int, dtype: torch.dtype, seed: int = 0) -> Inputs:
    """Slices as kv_b_proj and the workspace leave them."""
    made = torch.Generator().manual_seed(seed)
    wide = torch.randn(tokens, heads, NOPE + V, generator=made).to(world.device, dtype)
    latent = torch.randn(tokens, 512 + ROPE, generator=made).to(world.device, dtype)
    label = f"T={tokens} H={heads} {str(dtype).removeprefix('torch.')}"
    return Inputs(label, wide[..., :NOPE], latent[:, None, 512:])


def reference(made: Inputs) -> Outputs:
    """torch.cat of the expanded operands."""
    shared = made.k_pe.expand(-1, made.k_nope.shape[1], -1)
    return outputs(torch.cat((made.k_nope, shared), -1))


def baseline(made: Inputs) -> Outputs:
    """The release: allocate, then two copies."""
    k = poison(torch.empty(*made.k_nope.shape[:2], NOPE + ROPE, dtype=made.k_nope.dtype))
    k = k.to(made.k_nope.device)
    k[..., :NOPE] = made.k_nope
    k[..., NOPE:] = made.k_pe
    return outputs(k)


def outputs(k: torch.Tensor) -> Outputs:
    """The bits of k [T, H, 192], and its layout."""
    return {
        "keys": Output(k.contiguous().view(torch.int16)),
        "layout": Output(torch.tensor([int(k.is_contiguous()), k.element_size()])),
    }


def simulated(world: World, made: Inputs) -> Ran:
    """The op on slices, as its contract wants them."""
    build = Aiter(world.aiter)
    shape = (*made.k_nope.shape[:2], NOPE + ROPE)
    k = poison(torch.empty(shape, dtype=made.k_nope.dtype, device=made.k_nope.device))
    k_concat.kernel(build)(made.k_nope, made.k_pe.squeeze(1), k)
    return Ran(outputs(k), build.launches[k_concat.NAME])


DECLINES: dict[str, Decline[Inputs]] = {
    "fp32": Decline(
        "the op moves 16-bit elements",
        lambda made: replace(made, k_nope=made.k_nope.float(), k_pe=made.k_pe.float()),
    ),
    "two dtypes": Decline("one dtype for all", lambda made: replace(made, k_pe=made.k_pe.half())),
    "another rope width": Decline(
        "the op is written for 128 + 64 lanes",
        lambda made: replace(made, k_pe=made.k_pe[..., : ROPE // 2]),
    ),
    "rows of seven lanes more": Decline(
        "strides are multiples of eight elements",
        lambda made: replace(
            made, k_pe=made.k_pe.new_ones(made.k_pe.shape[0], 1, ROPE + 7)[..., :ROPE]
        ),
    ),
}

CASE: Case[Inputs] = Case(
    "k_concat",
    "The concatenation of MLA prefill keys in one launch",
    inputs,
    reference,
    baseline,
    {"simulated op": simulated},
    {EXACT: Tolerance(0.0, "bits are moved, nothing is computed")},
    DECLINES,
    (tree.CONCAT,),
    portable={"Triton": portable.concat},
)
