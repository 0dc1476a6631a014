"""What is run in a booted tree: cases through constructed layers, and layers with closed gates."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from backport.core.trees import REGULAR, Entry
from backport.parity.cases import CASES
from backport.parity.intree import whole_context, whole_decode
from backport.parity.intree.compiled_ops import CompiledOps
from backport.parity.intree.context_gather import merge
from backport.parity.intree.extract import Source
from backport.parity.intree.whole_mla import SPARSE, Machine
from backport.parity.running import explain, one_thread, run_case
from backport.parity.simulated import Aiter, dual_rmsnorm, gather_kv_b_proj, k_concat, qk_rope_cache
from backport.parity.values import Binding
from backport.parity.versions import at_least
from backport.parity.wire import BROKEN, content

BINDINGS: dict[str, tuple[Binding[Any], ...]] = {
    "qk_rope_concat_and_cache": (whole_decode.SPARSE_BINDING, whole_decode.KIMI_BINDING),
    "dual_rmsnorm": (whole_decode.NORM_BINDING,),
    "context_gather": (whole_context.GATHER,),
    "k_concat": (whole_context.CONCAT,),
}


class Closed(NamedTuple):
    """What a layer leaves with its gates closed; asked where a stack changes the anchor's file."""

    anchor: str
    left: Callable[[Machine], Iterator[torch.Tensor]]


CLOSED: dict[str, Closed] = {
    "sparse MLA layer": Closed(whole_decode.SPARSE_BINDING.anchor, whole_decode.closed_sparse),
    "Kimi-K3 layer, norms": Closed(whole_decode.NORM_BINDING.anchor, whole_decode.closed_norms),
    "Kimi-K3 layer, decode": Closed(whole_decode.KIMI_BINDING.anchor, whole_decode.closed_kimi),
    "MLA prefill": Closed(whole_context.GATHER.anchor, whole_context.closed),
}


class Folder(NamedTuple):
    """A tree on disk."""

    root: Path

    def entry(self, path: str) -> Entry | None:
        file = self.root / path
        return Entry(REGULAR, file.read_bytes()) if file.is_file() else None

    def paths(self) -> Mapping[str, str]:
        return {}


def examine_layers(
    asked: Mapping[str, Any], fp8: torch.dtype, compiled: CompiledOps
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The stacks' cases (of a patched tree), and digests of layers with closed gates."""
    with one_thread():
        machine = prepared(asked, fp8, compiled)
        found = measured(asked, machine) if asked["patched"] else []
        changed = {path for _, _, paths in asked["stacks"] for path in paths}
        return found, {
            name: _digest(closed.left, machine)
            for name, closed in CLOSED.items()
            if closed.anchor.partition("::")[0] in changed
        }


def prepared(asked: Mapping[str, Any], fp8: torch.dtype, compiled: CompiledOps) -> Machine:
    """The simulated AITER and the workspace that layers expect."""
    source = Source(Folder(Path(asked["tree"])))
    version = asked["aiter"]
    # The first build that every stack opens for, where the pinned one is older.
    bound = gather_kv_b_proj.FLAT_FROM
    build = Aiter(version if at_least(version, bound) else bound)
    for kernel in (qk_rope_cache, dual_rmsnorm, gather_kv_b_proj):
        kernel.install(build)
    unused = ("flash_attn_varlen_func", "mla_prefill_ps_asm_fwd", "mla_reduce_v1")
    build.provide("aiter", **dict.fromkeys(unused))
    machine = Machine(source, source, version, "cpu", build, compiled.writes, fp8)
    compiled.implement("_C", k_concat.NAME, k_concat.kernel(build))
    workspace = importlib.import_module("vllm.v1.worker.workspace")
    workspace.init_workspace_manager(torch.device("cpu"))
    _without_triton()
    return machine


def _without_triton() -> None:
    """The metadata has its indices already; partial attention is merged in torch."""
    attention = importlib.import_module("vllm.model_executor.layers.attention.mla_attention")
    vars(attention)["merge_attn_states"] = merge
    sparse = importlib.import_module(SPARSE)
    vars(sparse)["triton_convert_req_index_to_global_index"] = lambda *_, **__: None


def measured(asked: Mapping[str, Any], machine: Machine) -> list[dict[str, Any]]:
    """Every case that layers are built for, of every stack whose code they reach."""
    found = []
    for stack, cases, paths in asked["stacks"]:
        for name in cases:
            reached = [b for b in BINDINGS.get(name, ()) if _reaches(b, paths, machine)]
            if reached:
                narrow = replace(CASES[name], candidates={}, declines={}, portable={})
                found += run_case(stack, narrow, machine, reached)
    return [content(m) for m in found]


def _reaches(binding: Binding[Any], paths: list[str], machine: Machine) -> bool:
    path, _, name = binding.anchor.partition("::")
    return path in paths and machine.patched.has(path, name)


def _digest(run: Callable[[Machine], Iterator[torch.Tensor]], machine: Machine) -> str:
    """A digest of all bytes, or why there are none."""
    digest = hashlib.sha256()
    try:
        for tensor in run(machine):
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.contiguous().view(torch.uint8).numpy().tobytes())
    except Exception as error:  # noqa: BLE001 - whatever the tree raises is the finding
        return f"{BROKEN}{explain(error)}"
    return digest.hexdigest()[:16]
