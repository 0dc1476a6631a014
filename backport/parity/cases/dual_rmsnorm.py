"""The RMSNorms of the query's and the key's latent in one launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity import portable
from backport.parity.intree import kimi_rmsnorm
from backport.parity.simulated import Aiter, dual_rmsnorm
from backport.parity.simulated.rounding import smallest_normal
from backport.parity.values import Case, Decline, Output, Outputs, Ran, Tolerance, World

Q, KV, ROPE = 1536, 512, 64


@dataclass(frozen=True, slots=True)
class Inputs:
    """`latent` [T, Q + KV + ROPE]: q_c and kv_c are column slices of it; one dtype for all."""

    label: str
    latent: torch.Tensor
    q_weight: torch.Tensor
    kv_weight: torch.Tensor
    q_eps: float = 1e-6
    kv_eps: float = 0.5

    @property
    def q(self) -> torch.Tensor:
        return self.latent[:, :Q]

    @property
    def kv(self) -> torch.Tensor:
        return self.latent[:, Q : Q + KV]


def inputs(world: World) -> Iterator[Inputs]:
    """Odd, single and no rows; bf16 and fp16; unequal eps, so that a swap shows."""
    for seed, (tokens, dtype) in enumerate(
        ((1, torch.bfloat16), (33, torch.bfloat16), (7, torch.float16), (0, torch.bfloat16))
    ):
        yield make(world, tokens, dtype, seed)


def make(world: World, tokens: int, dtype: torch.dtype, seed: int = 0) -> Inputs:
    """Latents whose rows differ in size by up to three decades."""
    made = torch.Generator().manual_seed(seed)
    size = 10 ** torch.linspace(-2, 1, max(tokens, 1))[:tokens, None]
    latent = torch.randn(tokens, Q + KV + ROPE, generator=made) * size
    weights = (1 + 0.1 * torch.randn(width, generator=made) for width in (Q, KV))
    q_weight, kv_weight = (w.to(world.device, dtype) for w in weights)
    label = f"T={tokens} {str(dtype).removeprefix('torch.')}"
    return Inputs(label, latent.to(world.device, dtype), q_weight, kv_weight)


def reference(made: Inputs) -> Outputs:
    """fp64, not rounded."""
    return outputs(made, *(_exact(*norm) for norm in _norms(made)))


def _exact(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    wide = x.double()
    return wide / (wide.square().mean(-1, keepdim=True) + eps).sqrt() * weight.double()


def baseline(made: Inputs) -> Outputs:
    """The release's norm: rounded to the weight's dtype, then multiplied by the weight."""
    return outputs(made, *(_two_roundings(*norm) for norm in _norms(made)))


def _two_roundings(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    wide = x.float()
    inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide * inverse).to(weight.dtype) * weight


def _norms(made: Inputs) -> tuple[tuple[torch.Tensor, torch.Tensor, float], ...]:
    return (made.q, made.q_weight, made.q_eps), (made.kv, made.kv_weight, made.kv_eps)


def outputs(made: Inputs, q: torch.Tensor, kv: torch.Tensor) -> Outputs:
    """Both normalised latents: q [T, Q] and kv [T, KV]."""
    dtype = made.latent.dtype
    name, unit = str(dtype).removeprefix("torch."), smallest_normal(dtype)
    return {
        "query latent": Output(q.double(), name, unit),
        "key latent": Output(kv.double(), name, unit),
    }


def simulated(world: World, made: Inputs) -> Ran:
    """One launch on column slices, as they come out of the projection."""
    build = dual_rmsnorm.install(Aiter(world.aiter))
    kernel = build.provided[dual_rmsnorm.MODULE][dual_rmsnorm.NAME]
    q, kv = kernel(None, *_norms(made)[0], None, *_norms(made)[1])
    return Ran(outputs(made, q, kv), build.launches[dual_rmsnorm.NAME])


DECLINES: dict[str, Decline[Inputs]] = {
    "fp32 weights": Decline(
        "one dtype for both latents and both weights",
        lambda made: replace(made, q_weight=made.q_weight.float()),
    ),
    "fp32 latents": Decline(
        "the kernel is 16-bit only",
        lambda made: replace(
            made,
            latent=made.latent.float(),
            q_weight=made.q_weight.float(),
            kv_weight=made.kv_weight.float(),
        ),
    ),
    "a strided weight": Decline(
        "weights are read as dense memory",
        lambda made: replace(made, q_weight=made.q_weight.repeat(2)[::2]),
    ),
}

_ORIGIN = (
    "half a step of the format for one rounding; the release rounds twice, up to one step: "
    "26 % of bf16 elements differ, 2^-7 at most (measured)"
)

CASE: Case[Inputs] = Case(
    "dual_rmsnorm",
    "The RMSNorms of the query and key latents in one launch",
    inputs,
    reference,
    baseline,
    {"simulated AITER": simulated},
    {"bfloat16": Tolerance(1e-3, _ORIGIN), "float16": Tolerance(2e-4, _ORIGIN)},
    DECLINES,
    (kimi_rmsnorm.BINDING,),
    portable={"Triton": portable.dual_rms_norm},
)
