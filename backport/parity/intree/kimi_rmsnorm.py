"""Kimi-K3's MLA wrapper of a tree: the two RMSNorms fused, or one after the other."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.claims import claim, same
from backport.parity.intree.extract import Source
from backport.parity.intree.stand_ins import unconstructed
from backport.parity.simulated import Aiter, dual_rmsnorm
from backport.parity.values import Binding, Claim, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases.dual_rmsnorm import Inputs

WRAPPER = "vllm/models/kimi_k3/amd/mla.py"
SHARED = "vllm/model_executor/layers/mla.py"
LINEAR = "vllm/models/kimi_k3/amd/linear.py"
OPS = "vllm/_aiter_ops.py"
CLASS = "KimiK3MultiHeadLatentAttentionWrapper"
NOPE, ROPE = 128, 64


class Norm(torch.nn.Module):
    """The release's RMSNorm: two roundings; counts its calls."""

    def __init__(self, weight: torch.Tensor, eps: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight, requires_grad=False)
        self.variance_epsilon = eps
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        wide = x.float()
        inverse = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.variance_epsilon)
        weight: torch.Tensor = self.weight
        return (wide * inverse).to(weight.dtype) * weight


class Wrapper:
    """The tree's wrapper with projections that hand the latents through."""

    def __init__(self, source: Source, made: Inputs, build: Aiter, **flags: bool) -> None:
        self.made = made
        self.build = dual_rmsnorm.install(build)
        self.seen: dict[str, torch.Tensor] = {}
        self.norms = Norm(made.q_weight, made.q_eps), Norm(made.kv_weight, made.kv_eps)
        self.path = WRAPPER if source.has(WRAPPER, CLASS) else SHARED
        name = CLASS if self.path == WRAPPER else "MultiHeadLatentAttentionWrapper"
        module = source.module(self.path, **self._names(source, flags))
        wanted = [m for m in ("forward", "_normalize_q_kv") if source.has(self.path, f"{name}.{m}")]
        flag = "_fused_qk_rmsnorm_supported"
        if source.has(self.path, f"{name}.{flag}"):
            wanted.append(flag)
        self.module = unconstructed(module.cut(name, wanted, torch.nn.Module))
        self._fill(has_latent=flags.get("q_latent", True))
        if flag in wanted:
            with self.build.installed():
                vars(self.module)["_fused_qk_rmsnorm"] = getattr(self.module, flag)()

    def _names(self, source: Source, flags: dict[str, bool]) -> dict[str, Any]:
        op = source.module(OPS, torch=torch).function("_fused_mla_dual_rms_norm_impl")
        return {
            "torch": torch,
            "envs": SimpleNamespace(
                VLLM_ROCM_USE_AITER_RMSNORM=flags.get("rmsnorm", True),
                VLLM_BATCH_INVARIANT=flags.get("batch_invariant", False),
            ),
            "rocm_aiter_ops": SimpleNamespace(
                is_enabled=lambda: flags.get("enabled", True),
                get_fused_mla_dual_rms_norm_op=lambda: op,
            ),
        }

    def _fill(self, has_latent: bool) -> None:
        made = self.made
        q_norm, kv_norm = self.norms
        heads = made.q.shape[1] // (NOPE + ROPE)

        def attend(*tensors: Any, **_: Any) -> torch.Tensor:
            q, kv_c, k_pe = tensors[-3:]
            self.seen.update(q=q.flatten(1), kv=kv_c, pe=k_pe)
            flat: torch.Tensor = q.flatten(1)
            return flat

        state = {
            "q_lora_rank": made.q.shape[1] if has_latent else None,
            "kv_lora_rank": made.kv.shape[1],
            "qk_rope_head_dim": ROPE,
            "qk_nope_head_dim": NOPE,
            "qk_head_dim": NOPE + ROPE,
            "v_head_dim": NOPE + ROPE,
            "num_heads": heads,
            "fused_qkv_a_proj": lambda x: (x,),
            "kv_a_proj_with_mqa": lambda x: (x[:, made.q.shape[1] :],),
            "q_b_proj": lambda x: (x,),
            "q_proj": lambda x: (x[:, : made.q.shape[1]],),
            "q_a_layernorm": q_norm if has_latent else None,
            "kv_a_layernorm": kv_norm,
            "rotary_emb": None,
            "indexer": None,
            "is_sparse": False,
            "skip_topk": False,
            "fuse_qkv_rmsnorm": False,
            "dcp_q_replicate": False,
            "g_proj": None,
            "o_proj": lambda x: (x,),
            "mla_attn": attend,
            "_attn": attend,
        }
        for name, value in state.items():
            object.__setattr__(self.module, name, value)

    def run(self) -> None:
        with self.build.installed():
            self.module.forward(torch.arange(len(self.made.latent)), self.made.latent)
        pe = self.made.latent[:, None, -ROPE:]
        claim(torch.equal(self.seen["pe"], pe), "the rope lanes were touched")

    @property
    def launches(self) -> int:
        return self.build.launches[dual_rmsnorm.NAME]


def fused(world: World, made: Inputs) -> Ran:
    """The patched wrapper with AITER on: one launch and no separate norm."""
    wrapper = Wrapper(world.patched, made, Aiter(world.aiter))
    wrapper.run()
    claim(not sum(norm.calls for norm in wrapper.norms), "a separate norm ran as well")
    return _ran(wrapper, expected=1)


def split(world: World, made: Inputs) -> Ran:
    """The patched wrapper with AITER off."""
    wrapper = Wrapper(world.patched, made, Aiter(world.aiter), enabled=False)
    wrapper.run()
    return _ran(wrapper, expected=0)


def _ran(wrapper: Wrapper, expected: int) -> Ran:
    from backport.parity.cases.dual_rmsnorm import outputs

    seen = wrapper.seen
    return Ran(outputs(wrapper.made, seen["q"], seen["kv"]), wrapper.launches, expected)


# ---------------------------------------------------------------- claims


def _declines(world: World, dtype: torch.dtype = torch.bfloat16, **flags: bool) -> None:
    from backport.parity.cases.dual_rmsnorm import make

    made = make(world, 5, dtype)
    wrapper = Wrapper(world.patched, made, Aiter(world.aiter), **flags)
    wrapper.run()
    claim(wrapper.launches == 0, f"the kernel ran: {flags}, {dtype}")
    shared = Wrapper(_shared(world), made, Aiter(world.aiter), **flags)
    shared.run()
    claim(shared.path == SHARED or world.pristine.has(WRAPPER, CLASS), "not the release's layer")
    for name, value in shared.seen.items():
        same(name, value, wrapper.seen[name])


def _shared(world: World) -> Source:
    return world.pristine


def _mixed(world: World) -> None:
    from dataclasses import replace

    from backport.parity.cases.dual_rmsnorm import make

    made = make(world, 5, torch.bfloat16)
    mixed = replace(made, kv_weight=made.kv_weight.float())
    wrapper = Wrapper(world.patched, mixed, Aiter(world.aiter))
    wrapper.run()
    claim(wrapper.launches == 0, "the kernel ran with weights of two dtypes")


def _used(world: World) -> None:
    text = world.patched.text(LINEAR)
    claim(f"self.mla_attn = {CLASS}(" in text, "the model does not build its layer from the class")


CLAIMS: dict[str, Claim] = {
    "declines without AITER": functools.partial(_declines, enabled=False),
    "declines without AITER's norms": functools.partial(_declines, rmsnorm=False),
    "declines batch invariance": functools.partial(_declines, batch_invariant=True),
    "declines a layer without query latent": functools.partial(_declines, q_latent=False),
    "declines fp32": functools.partial(_declines, dtype=torch.float32),
    "declines weights of two dtypes": _mixed,
    "the model builds its layer from the class": _used,
}

BINDING: Binding[Inputs] = Binding(
    "Kimi-K3 wrapper",
    f"{WRAPPER}::{CLASS}._normalize_q_kv",
    {"fused": fused, "split": split},
    CLAIMS,
)
