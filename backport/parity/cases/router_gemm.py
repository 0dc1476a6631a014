"""The MoE router gate's GEMM through AITER's tuned GEMM: [T, hidden] x [experts, hidden]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity.intree import router_gemm
from backport.parity.simulated import Aiter, tuned_gemm
from backport.parity.values import Case, Decline, Output, Outputs, Ran, Tolerance, World


@dataclass(frozen=True, slots=True)
class Inputs:
    """`x` [..., hidden] and `weight` [experts, hidden] bf16; logits come out in `out_dtype`."""

    label: str
    x: torch.Tensor
    weight: torch.Tensor
    out_dtype: torch.dtype


def inputs(world: World) -> Iterator[Inputs]:
    """Odd and empty batches, more than two dimensions, bf16 and fp32 logits."""
    shapes: tuple[tuple[int, ...], ...] = ((1,), (33,), (2, 5), (0,))
    for seed, leading in enumerate(shapes):
        for out_dtype in (torch.bfloat16, torch.float32):
            yield make(world, leading, out_dtype, seed)


def make(world: World, leading: tuple[int, ...], out_dtype: torch.dtype, seed: int) -> Inputs:
    """Weights of unit-variance logits for 64 experts over 512 lanes."""
    made = torch.Generator().manual_seed(seed)
    x = torch.randn(*leading, 512, generator=made).bfloat16()
    weight = (torch.randn(64, 512, generator=made) / 512**0.5).bfloat16()
    label = f"{'x'.join(map(str, leading))} tokens, {str(out_dtype).removeprefix('torch.')} logits"
    return Inputs(label, x.to(world.device), weight.to(world.device), out_dtype)


def reference(made: Inputs) -> Outputs:
    """fp64; an error counts against the largest logit, as routing compares logits."""
    logits = made.x.double() @ made.weight.double().T
    peak = float(logits.abs().max()) if logits.numel() else 1.0
    return {"logits": Output(logits, "bfloat16", peak), "dtype": _dtype(made.out_dtype)}


def baseline(made: Inputs) -> Outputs:
    """The release's linear layer: fp32 sums rounded to bf16, then widened where fp32 is asked."""
    return outputs((made.x.float() @ made.weight.float().T).bfloat16().to(made.out_dtype))


def outputs(logits: torch.Tensor) -> Outputs:
    """Logits [..., experts], and their dtype, which must be the one asked for."""
    return {"logits": Output(logits.double(), "bfloat16"), "dtype": _dtype(logits.dtype)}


def _dtype(dtype: torch.dtype) -> Output:
    return Output(torch.tensor([torch.empty(0, dtype=dtype).element_size()]))


def simulated(world: World, made: Inputs) -> Ran:
    """The tuned GEMM, then the cast."""
    build = tuned_gemm.install(Aiter(world.aiter))
    mm = build.provided[tuned_gemm.MODULE]["tgemm"].mm
    logits = mm(made.x, made.weight, None).to(made.out_dtype)
    return Ran(outputs(logits), build.launches[tuned_gemm.NAME])


DECLINES: dict[str, Decline[Inputs]] = {
    "fp32 operands": Decline(
        "tuned tables for gate shapes hold bf16 rows only",
        lambda made: replace(made, x=made.x.float()),
    ),
    "an fp16 weight": Decline(
        "both operands are bf16", lambda made: replace(made, weight=made.weight.half())
    ),
    "a weight of another width": Decline(
        "the last dimensions match", lambda made: replace(made, weight=made.weight[:, :-1])
    ),
}

CASE: Case[Inputs] = Case(
    "router_gemm",
    "The MoE router gate through AITER's tuned GEMM",
    inputs,
    reference,
    baseline,
    {"simulated AITER": simulated},
    {
        "bfloat16": Tolerance(
            2e-3,
            "half a step of bf16 is 2^-9 of a logit for both paths; the stack allows 2e-2 of "
            "the largest logit for sums in another order, which the simulation does not have",
        )
    },
    DECLINES,
    (router_gemm.BINDING,),
)
