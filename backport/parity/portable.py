"""The portable Triton kernels as candidates of their cases: real kernels without AITER.

They run where Triton runs: on a GPU, or on the CPU in Triton's interpreter
(TRITON_INTERPRET=1 in the environment before Python starts).
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree.torch_view import poison
from backport.parity.values import CannotRun, Ran, World

if TYPE_CHECKING:
    from backport.parity.cases import context_gather, dual_rmsnorm, k_concat
    from backport.parity.cases import qk_rope_concat_and_cache as qk_rope


def reachable(device: str) -> bool:
    """True where Triton kernels are to be run at all."""
    return device != "cpu" or os.environ.get("TRITON_INTERPRET") == "1"


def kernels(module: str) -> Any:
    """A module of `backport.parity.kernels`; raises CannotRun where Triton is missing."""
    try:
        return importlib.import_module(f"backport.parity.kernels.{module}")
    except ImportError as error:
        raise CannotRun(f"{error.name or module} cannot be imported") from None


@contextmanager
def counted(module: Any) -> Iterator[list[Any]]:
    """The kernels that the module launches inside the block, in order."""
    seen: list[Any] = []
    real = module.launch

    def launch(kernel: Any, *given: Any, **named: Any) -> None:
        seen.append(kernel)
        real(kernel, *given, **named)

    module.launch = launch
    try:
        yield seen
    finally:
        module.launch = real


def _empty(like: torch.Tensor, *shape: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    return poison(torch.empty(shape, dtype=dtype or like.dtype, device=like.device))


def qk_rope_cache(_: World, made: qk_rope.Inputs) -> Ran:
    """The fused decode kernel, one launch; rows without a slot stay unwritten, as in AITER."""
    from backport.parity.cases.qk_rope_concat_and_cache import outputs

    module = kernels("qk_rope_cache")
    cache = made.cache.clone()
    width = made.cache.shape[-1]
    query = _empty(cache, made.slots.numel(), made.heads, width, dtype=made.fp8)
    step = module.Decode(
        made.ql_nope, made.q_pe, made.kv_c, made.k_pe.squeeze(1), cache.view(made.fp8), query,
        made.slots, made.k_scale, made.q_scale, made.positions, *made.halves,
    )  # fmt: skip
    style = module.Style(
        is_neox=made.is_neox, rounding=module.Rounding.NOT, divides_k=False, fills_q=False
    )
    with counted(module) as launches:
        module.fused(step, style)
    return Ran(outputs(made, query, cache), len(launches))


def dual_rms_norm(_: World, made: dual_rmsnorm.Inputs) -> Ran:
    """Both norms in one launch, with one rounding as AITER's kernel."""
    from backport.parity.cases.dual_rmsnorm import outputs

    module = kernels("dual_rms_norm")
    q, kv = (_empty(x, *x.shape) for x in (made.q, made.kv))
    norms = (
        module.Norm(made.q, made.q_weight, q, made.q_eps),
        module.Norm(made.kv, made.kv_weight, kv, made.kv_eps),
    )
    with counted(module) as launches:
        module.fused(*norms)
    return Ran(outputs(made, q, kv), len(launches))


def context(_: World, made: context_gather.Inputs) -> Ran:
    """Keys and values of all requests' context in one launch."""
    from backport.parity.cases.context_gather import NOPE, ROPE, V, expanded

    module = kernels("context")
    rows = torch.cat([made.rows(r) for r in range(len(made.context))]).int()
    keys = _empty(made.weight, len(rows), made.heads, NOPE + ROPE)
    values = _empty(made.weight, len(rows), made.heads, V)
    scale = made.k_scale.reshape(1)
    chunk = module.Context(made.cache, rows, scale, made.weight, keys, values)
    with counted(module) as launches:
        module.fused(chunk)
    return Ran(expanded(made, keys, values), len(launches))


def concat(_: World, made: k_concat.Inputs) -> Ran:
    """The keys in one launch."""
    from backport.parity.cases.k_concat import outputs

    tokens, heads, nope = made.k_nope.shape
    k = _empty(made.k_nope, tokens, heads, nope + made.k_pe.shape[-1])
    module = kernels("k_concat")
    with counted(module) as launches:
        module.fused(made.k_nope, made.k_pe.squeeze(1), k)
    return Ran(outputs(k), len(launches))
