"""The tree's compiled ops on a CPU: schemas from its own C++, arithmetic in torch.

A call that does not fit the schema of this release is an error, as with the real op.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from backport.parity.intree.context_gather import gather
from backport.parity.simulated.rounding import quantize, quantize_by_division

_LIBRARY = re.compile(r"STABLE_TORCH_LIBRARY_FRAGMENT\((\w+),")
_DEF = re.compile(r'\.def\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NOT_ROCM = re.compile(r"#\s*if(?:ndef\s+USE_ROCM|\s+!\s*defined\(USE_ROCM\))\s*$")


class CompiledOps:
    """All ops that the tree's bindings define for ROCm; those that layers here call work.

    `writes` has a word per separate cache write.
    """

    def __init__(self, tree: Path) -> None:
        self.writes: list[str] = []
        self._libraries: dict[str, Any] = {}  # their ops end with them
        for namespace, schema in schemas(tree):
            self._library(namespace).define(schema)
        self.implement("_C", "static_scaled_fp8_quant", _static_scaled_fp8_quant)
        self.implement("_C_cache_ops", "concat_and_cache_mla", _concat_and_cache_mla(self.writes))
        self.implement("_C_cache_ops", "gather_and_maybe_dequant_cache", _gather)

    def implement(self, namespace: str, name: str, function: Callable[..., None]) -> None:
        """What an op does on a CPU; raises RuntimeError where the tree defines no such op."""
        self._library(namespace).impl(name, function, "CPU")

    def _library(self, namespace: str) -> Any:
        if namespace not in self._libraries:
            kind: Any = torch.library.Library
            self._libraries[namespace] = kind(namespace, "FRAGMENT")
        return self._libraries[namespace]


def schemas(tree: Path) -> Iterator[tuple[str, str]]:
    """Namespace and schema of every op of the tree's extensions that ROCm builds have."""
    for file in sorted(tree.glob("csrc/**/*bindings.cpp")):
        parts = _LIBRARY.split(for_rocm(file.read_text("utf-8")))
        for namespace, text in zip(parts[1::2], parts[2::2], strict=True):
            for found in _DEF.finditer(text):
                schema = "".join(_TEXT.findall(found.group(1)))
                if "(" in schema:  # else only a name, whose schema is derived in C++
                    yield namespace, schema


def for_rocm(text: str) -> str:
    """The C++ without what only other platforms compile."""
    kept: list[str] = []
    absent: list[bool] = []  # per open conditional: are its lines left out?
    for line in text.splitlines():
        if line.lstrip().startswith("#if"):
            absent.append(bool(_NOT_ROCM.match(line.strip())))
        elif line.lstrip().startswith("#else") and absent[-1]:
            absent[-1] = False
        elif line.lstrip().startswith("#endif"):
            absent.pop()
        elif not any(absent):
            kept.append(line)
    return "\n".join(kept)


def _concat_and_cache_mla(writes: list[str]) -> Callable[..., None]:
    def concat_and_cache_mla(
        kv_c: torch.Tensor,
        k_pe: torch.Tensor,
        kv_cache: torch.Tensor,
        slot_mapping: torch.Tensor,
        kv_cache_dtype: str,
        scale: torch.Tensor,
        *_: Any,
    ) -> None:
        writes.append(kv_cache_dtype)
        rows = torch.cat((kv_c, k_pe), -1)[: slot_mapping.numel()]
        live = slot_mapping >= 0
        target = kv_cache.view(-1, rows.shape[-1])
        if kv_cache_dtype == "auto":
            target[slot_mapping[live]] = rows[live].to(target.dtype)
            return
        codes = quantize_by_division(rows, scale, _fp8())
        target.view(torch.uint8)[slot_mapping[live]] = codes[live].view(torch.uint8)

    return concat_and_cache_mla


def _gather(
    src_cache: torch.Tensor,
    dst: torch.Tensor,
    block_table: torch.Tensor,
    cu_seq_lens: torch.Tensor,
    token_to_seq: torch.Tensor,
    num_tokens: int,
    kv_cache_dtype: str,
    scale: torch.Tensor,
    seq_starts: torch.Tensor,
) -> None:
    gather(
        src_cache=src_cache, dst=dst, block_table=block_table, cu_seq_lens=cu_seq_lens,
        token_to_seq=token_to_seq, num_tokens=num_tokens, kv_cache_dtype=kv_cache_dtype,
        scale=scale, seq_starts=seq_starts,
    )  # fmt: skip


def _static_scaled_fp8_quant(
    result: torch.Tensor, source: torch.Tensor, scale: torch.Tensor, *_: Any
) -> None:
    codes = quantize(source, scale, result.dtype)
    result.view(torch.uint8).copy_(codes.view(torch.uint8))


def _fp8() -> torch.dtype:
    platform = importlib.import_module("vllm.platforms").current_platform
    dtype: torch.dtype = platform.fp8_dtype()
    return dtype
