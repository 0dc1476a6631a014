"""`GateLinear` of a tree on a simulated platform; every GEMM that it picks is recorded."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, one_signature, raises
from backport.parity.intree.extract import Namespace, Source
from backport.parity.intree.stand_ins import Anything
from backport.parity.simulated import Aiter, tuned_gemm
from backport.parity.simulated.modules import installed
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases.router_gemm import Inputs

GATE = "vllm/model_executor/layers/fused_moe/router/gate_linear.py"
OPS = "vllm/_aiter_ops.py"
OP = "_rocm_aiter_router_gemm"
CUTE = "vllm.model_executor.kernels.linear.cute_dsl.ll_bf16"
HIDDEN, EXPERTS = 64, 8


class Linear(torch.nn.Module):
    """ReplicatedLinear as far as a gate uses it."""

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        bias: bool,
        params_dtype: torch.dtype | None,
        quant_config: None,
        prefix: str,
    ) -> None:
        super().__init__()
        dtype = params_dtype or torch.get_default_dtype()
        made = torch.Generator().manual_seed(0)
        weight = torch.randn(output_size, input_size, generator=made).to(dtype)
        self.weight = torch.nn.Parameter(weight)
        self.bias = torch.nn.Parameter(torch.ones(output_size, dtype=dtype)) if bias else None

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.nn.functional.linear(x, self.weight, self.bias), None


@dataclass(frozen=True, slots=True)
class Setting:
    """A platform and a gate; `tgemm` is what the release's AITER predicate answers."""

    kind: str = "rocm"
    tgemm: bool | None = True
    batch_invariant: bool = False
    bias: bool = False
    params_dtype: torch.dtype | None = torch.bfloat16
    out_dtype: torch.dtype | None = None
    force_fp32: bool = False
    later: bool = False
    size: tuple[int, int] = (HIDDEN, EXPERTS)

    @property
    def opens(self) -> bool:
        """Whether the fused tier has to take this gate."""
        ours = self.kind == "rocm" and bool(self.tgemm) and not self.batch_invariant
        return ours and not self.bias and self.params_dtype == torch.bfloat16


@dataclass(slots=True)
class Gate:
    """A tree's gate under a setting, and the names of the GEMMs that ran."""

    layer: Any
    calls: list[str] = field(default_factory=list)

    def flags(self) -> dict[str, Any]:
        """What the constructor decided, apart from the new tier's own flag."""
        ours = "allow_aiter_router_gemm"
        decided = {
            name: value
            for name, value in vars(self.layer).items()
            if name.startswith(("allow_", "_router")) and name != ours
        }
        return decided | {"weight": self.layer.weight.dtype, "out": self.layer.out_dtype}


def build(source: Source, setting: Setting, aiter_build: Aiter) -> Gate:
    """Construct the tree's GateLinear under a setting."""
    calls: list[str] = []

    def mm(x: torch.Tensor, weight: torch.Tensor, *, out_dtype: torch.dtype) -> torch.Tensor:
        claim(out_dtype == torch.float32, "the release's torch.mm tier gives fp32")
        calls.append("torch.mm")
        return x.float() @ weight.float()

    names = _names(source, setting, mm, calls)
    module = source.module(GATE, **names)
    cut = module.cut("GateLinear", ["__init__", "set_out_dtype", "forward"], Linear)
    given = None if setting.later else setting.out_dtype
    stubs = {CUTE: {"is_available": lambda: True}}
    with aiter_build.installed(), installed("vllm", stubs):
        layer = cut(
            *setting.size,
            bias=setting.bias,
            params_dtype=setting.params_dtype,
            out_dtype=given,
            force_fp32_compute=setting.force_fp32,
        )
        if setting.later and setting.out_dtype is not None:
            layer.set_out_dtype(setting.out_dtype)
    return Gate(layer, calls)


def _names(source: Source, setting: Setting, mm: Any, calls: list[str]) -> dict[str, Any]:
    kind = setting.kind
    platform = SimpleNamespace(
        is_rocm=lambda: kind == "rocm",
        is_cuda=lambda: kind in ("hopper", "blackwell"),
        is_device_capability=lambda capability: kind == "hopper",
        is_device_capability_family=lambda family: kind == "blackwell",
    )
    fused = source.has(OPS, f"{OP}_impl")
    op = source.module(OPS, torch=torch).function(f"{OP}_impl") if fused else None

    def router_gemm(*args: Any) -> torch.Tensor:
        calls.append("tgemm")
        result: torch.Tensor = op(*args)  # type: ignore[misc]
        return result

    return {
        "torch": Namespace(torch, mm=mm),
        "Parameter": torch.nn.Parameter,
        "current_platform": platform,
        "envs": SimpleNamespace(VLLM_BATCH_INVARIANT=setting.batch_invariant),
        "ops": Anything(),
        "logger": Anything(),
        "get_current_vllm_config_or_none": lambda: None,
        "rocm_aiter_ops": SimpleNamespace(
            is_tgemm_enabled=lambda: setting.tgemm, router_gemm=router_gemm
        ),
    }


# ---------------------------------------------------------------- candidates


def _gate(world: World, made: Inputs, later: bool) -> Ran:
    from backport.parity.cases.router_gemm import outputs

    aiter_build = tuned_gemm.install(Aiter(world.aiter))
    size = (made.weight.shape[1], made.weight.shape[0])
    setting = Setting(out_dtype=made.out_dtype, later=later, size=size)
    gate = build(world.patched, setting, aiter_build)
    gate.layer.weight = torch.nn.Parameter(made.weight, requires_grad=False)
    with aiter_build.installed():
        logits, bias = gate.layer(made.x)
    claim(bias is None, "a gate without bias returns one")
    claim(gate.calls == ["tgemm"], f"the gate ran {gate.calls}, not the tuned GEMM")
    return Ran(outputs(logits), aiter_build.launches[tuned_gemm.NAME])


def at_once(world: World, made: Inputs) -> Ran:
    """The patched gate with the logits' dtype given to the constructor."""
    return _gate(world, made, later=False)


def set_later(world: World, made: Inputs) -> Ran:
    """The patched gate with the logits' dtype set afterwards."""
    return _gate(world, made, later=True)


# ---------------------------------------------------------------- claims


def _settings(*kinds: str) -> Iterator[Setting]:
    bf16, fp16, fp32 = torch.bfloat16, torch.float16, torch.float32
    yes = (False, True)
    logits = ((None, False), (bf16, False), (fp32, False), (fp32, True))
    grid = itertools.product(kinds, (True, None), yes, yes, (bf16, fp16, fp32), logits, yes)
    for kind, tgemm, invariant, bias, params, (out_dtype, later), force in grid:
        yield Setting(kind, tgemm, invariant, bias, params, out_dtype, force, later)
    for kind in kinds:
        yield Setting(kind, tgemm=False)
        yield Setting(kind, params_dtype=None)


def _gates_as_stated(world: World) -> None:
    for setting in _settings("rocm"):
        gate = build(world.patched, setting, Aiter(world.aiter))
        found = gate.layer.allow_aiter_router_gemm
        claim(found is setting.opens, f"{setting}: the tier is {found}")
        if setting.opens:
            claim(gate.layer.weight.dtype == torch.bfloat16, f"{setting}: the weight is not bf16")
            claim(not gate.layer.allow_cublas_router_gemm, f"{setting}: two tiers are on")


def _closed_is_pristine(world: World) -> None:
    for setting in _settings("rocm", "hopper", "blackwell", "cpu"):
        if setting.opens:
            continue
        old, new = (build(s, setting, Aiter("v0.1.19")) for s in (world.pristine, world.patched))
        claim(not new.layer.allow_aiter_router_gemm, f"{setting}: the tier is on")
        claim(old.flags() == new.flags(), f"{setting}: {new.flags()}, not {old.flags()}")
        if setting.kind == "rocm":
            x = torch.ones(3, HIDDEN, dtype=new.layer.weight.dtype)
            first, second = (gate.layer(x)[0] for gate in (old, new))
            claim(bool(torch.equal(first, second)), f"{setting}: other logits than the release's")
            claim(old.calls == new.calls, f"{setting}: {new.calls}, not {old.calls}")


def _twice(world: World) -> None:
    gate = build(world.patched, Setting(out_dtype=torch.float32), Aiter(world.aiter))
    raises(
        ValueError,
        lambda: gate.layer.set_out_dtype(torch.float32),
        "the logits' dtype can be set twice",
    )


def _other_input(world: World) -> None:
    setting = Setting(out_dtype=torch.float32)
    gate = build(world.patched, setting, Aiter(world.aiter))
    gate.layer(torch.ones(3, HIDDEN))
    claim(gate.calls == [], f"an fp32 input went to {gate.calls}")


def _fake(world: World) -> None:
    module = world.patched.module(OPS, torch=torch)
    one_signature(module, f"{OP}_impl", f"{OP}_fake")
    x, weight = torch.ones(2, 3, HIDDEN).bfloat16(), torch.ones(EXPERTS, HIDDEN).bfloat16()
    for dtype in (torch.bfloat16, torch.float32):
        with tuned_gemm.install(Aiter(world.aiter)).installed():
            real, fake = (module.function(f"{OP}_{n}")(x, weight, dtype) for n in ("impl", "fake"))
        claim(real.shape == fake.shape and real.dtype == fake.dtype, "the fake has another result")


def _same_experts(world: World) -> None:
    """Top-8 sets agree with fp64 except among logits nearer than 4e-2 of the largest."""
    from backport.parity.cases.router_gemm import inputs

    for made in inputs(world):
        if not made.x.numel():
            continue
        wide = replace(made, x=made.x.reshape(-1, made.x.shape[-1]))
        logits = at_once(world, wide).outputs["logits"].value
        exact = wide.x.double() @ wide.weight.double().T
        window = 4e-2 * exact.abs().max()
        lowest = exact.topk(8).values[:, -1:]
        chosen = torch.zeros_like(exact, dtype=torch.bool).scatter(1, logits.topk(8).indices, True)
        claim(not bool((chosen & (exact < lowest - window)).any()), "a low logit was chosen")
        claim(not bool((~chosen & (exact > lowest + window)).any()), "a high logit was left out")


CLAIMS: dict[str, Claim] = {
    "the tier opens and declines as stated": _gates_as_stated,
    "closed gates equal the pristine tree": _closed_is_pristine,
    "the logits' dtype is set once": _twice,
    "an fp32 input falls through": _other_input,
    "op and fake take and give the same": _fake,
    "the same experts are chosen": _same_experts,
}

BINDING: Binding[Inputs] = Binding(
    "router gate",
    f"{OPS}::{OP}_impl",
    {"dtype at once": at_once, "dtype set later": set_later},
    CLAIMS,
)
