"""The indexer's prefill logits: relu(q . k) weighted over heads, inside each row's window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from backport.parity.intree import prefill_logits as tree
from backport.parity.simulated import Aiter, prefill_logits
from backport.parity.simulated.prefill_logits import DIM, HEADS, window
from backport.parity.simulated.rounding import fp8_dtype
from backport.parity.values import Case, Decline, Output, Outputs, Ran, Tolerance, World

KEYS = 45


@dataclass(frozen=True, slots=True)
class Inputs:
    """`q` [M, 32, 128] and `keys` [N, 128] fp8, `scales` [N, 1] fp32 (a view of bytes, as the
    caller has it), `weights` [M, 32] fp32, window bounds [M] int32; `clean` asks for -inf outside.
    """

    label: str
    q: torch.Tensor
    keys: torch.Tensor
    scales: torch.Tensor
    weights: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor
    clean: bool = True

    @property
    def inside(self) -> torch.Tensor:
        return window(self.starts, self.ends, len(self.keys))


def inputs(world: World) -> Iterator[Inputs]:
    """Odd, single and no rows; windows that are empty, inverted, negative or past the keys."""
    for seed, (rows, clean) in enumerate(((1, True), (17, True), (17, False), (0, True))):
        yield make(world, rows, clean, seed)


def make(world: World, rows: int, clean: bool, seed: int = 0) -> Inputs:
    """Random fp8 operands; the first windows of a longer batch are the awkward ones."""
    made = torch.Generator().manual_seed(seed)
    fp8 = fp8_dtype("float8_e4m3fn")
    starts = torch.randint(0, 10, (rows,), generator=made)
    ends = starts + torch.randint(1, KEYS - 10, (rows,), generator=made)
    if rows > 4:
        starts[:4] = torch.tensor([5, 20, -3, KEYS - 2])
        ends[:4] = torch.tensor([5, 10, 7, KEYS + 9])
    scales = torch.rand(KEYS, 1, generator=made) + 0.5
    return Inputs(
        f"M={rows} N={KEYS} {'clean' if clean else 'not cleaned'}",
        torch.randn(rows, HEADS, DIM, generator=made).to(fp8).to(world.device),
        torch.randn(KEYS, DIM, generator=made).to(fp8).to(world.device),
        scales.view(torch.uint8).view(KEYS, 4).view(torch.float32).to(world.device),
        torch.randn(rows, HEADS, generator=made).to(world.device),
        starts.int().to(world.device),
        ends.int().to(world.device),
        clean,
    )


def reference(made: Inputs) -> Outputs:
    """fp64; a logit's error counts against the typical logit, as terms of both signs cancel."""
    products = torch.einsum("mhd,nd->mhn", made.q.double(), made.keys.double()).relu()
    logits = torch.einsum("mhn,mh->mn", products, made.weights.double())
    logits = logits * made.scales.double().reshape(-1)
    typical = float(logits.square().mean().sqrt()) if logits.numel() else 1.0
    return outputs(made, logits.masked_fill(~made.inside, float("-inf")), unit=typical)


def baseline(made: Inputs) -> Outputs:
    """The release's Triton kernel: the same in fp32."""
    logits = prefill_logits.scores(made.q, made.keys, made.scales.reshape(-1), made.weights)
    return outputs(made, logits.masked_fill(~made.inside, float("-inf")))


def outputs(made: Inputs, logits: torch.Tensor, unit: float = 0.0) -> Outputs:
    """`logits` [M, N]: the values inside the windows, and where asked for the -inf outside."""
    found = {"logits": Output(logits[made.inside].double(), "float32", unit)}
    if made.clean:
        found["outside"] = Output((logits[~made.inside] == float("-inf")).int())
    return found


def simulated(world: World, made: Inputs) -> Ran:
    """The HIP kernel with flat scales, as its contract wants them."""
    build = prefill_logits.install(Aiter(world.aiter))
    kernel = build.provided[prefill_logits.MODULE][prefill_logits.NAME]
    bounds = (made.starts, made.ends)
    flat = made.scales.reshape(-1)
    logits = kernel(made.q, made.keys, flat, made.weights, *bounds, clean_logits=made.clean)
    return Ran(outputs(made, logits), build.launches[prefill_logits.NAME])


DECLINES: dict[str, Decline[Inputs]] = {
    "16 heads": Decline(
        "the kernel is written for 32 heads of 128",
        lambda made: replace(made, q=made.q[:, :16], weights=made.weights[:, :16]),
    ),
    "strided keys": Decline(
        "keys are read as dense memory",
        lambda made: replace(made, keys=torch.cat((made.keys, made.keys), 1)[:, :DIM]),
    ),
    "bf16 keys": Decline("keys are fp8", lambda made: replace(made, keys=made.keys.bfloat16())),
    "int64 bounds": Decline(
        "bounds are int32", lambda made: replace(made, starts=made.starts.long())
    ),
}

CASE: Case[Inputs] = Case(
    "prefill_logits",
    "The indexer's prefill logits by AITER's HIP kernel",
    inputs,
    reference,
    baseline,
    {"simulated AITER": simulated},
    {
        "float32": Tolerance(
            1e-5,
            "fp8 products summed in fp32 in another order; AITER's own test on hardware allows "
            "1e-2 + 1e-2 |x| and an aggregate difference of 1e-3",
        )
    },
    DECLINES,
    (tree.BINDING,),
    optional=frozenset({"outside"}),
)
