"""Compile every kernel for a GPU that is not there: `python -m ...compiling hip gfx942 64`.

Run in a process of its own: Triton's driver is global, and the interpreter must be off.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from backport.parity import bench_cases
from backport.parity.kernels import (
    context,
    dual_rms_norm,
    fp8,
    k_concat,
    language,
    qk_rope_cache,
    static_quant,
)
from backport.parity.kernels.qk_rope_cache import Rounding, Style

MODULES: list[Any] = [context, dual_rms_norm, k_concat, language, qk_rope_cache, static_quant]
EXACT = {"_rows", "_rotate"}  # a contraction would skip the rounding of a product
SHARED_LIMITS = {"gfx942": 65536, "gfx950": 163840, "90": 232448}


class Absent:
    """The driver of a GPU that can be compiled for, but not run on."""

    def __init__(self, target: GPUTarget) -> None:
        self._target = target

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def main(backend: str, arch: str, warp: int) -> None:
    name: int | str = int(arch) if backend == "cuda" else arch
    driver.set_active(Absent(GPUTarget(backend, name, warp)))
    hardware = torch.float8_e4m3fnuz if arch == "gfx942" else torch.float8_e4m3fn

    def compile_only(kernel: Any, programs: int, *arguments: object, **options: object) -> None:
        compiled = kernel.warmup(*arguments, grid=(programs,), **options)
        shared = compiled.metadata.shared
        if shared > SHARED_LIMITS[arch]:
            raise SystemExit(f"{kernel.__name__} wants {shared} bytes of shared memory")
        if kernel.__name__ in EXACT and "fma" in compiled.asm.get("ptx", ""):
            raise SystemExit(f"{kernel.__name__} contracts a product and a sum")
        sys.stdout.write(f"{kernel.__name__}\n")

    replaced: dict[str, Any] = {"launch": compile_only}
    for module in MODULES:
        vars(module).update(replaced)
    vars(fp8)["in_hardware"] = lambda dtype, device: dtype == hardware
    vars(torch.version)["hip"] = "0" if backend == "hip" else None
    compile_all(hardware)


def compile_all(dtype: torch.dtype) -> None:
    step = bench_cases.decode_step("cpu", 8, 16, dtype)
    qk_rope_cache.fused(step, Style(is_neox=False))
    qk_rope_cache.fused(step, Style(is_neox=True, fills_q=False))
    qk_rope_cache.split(step, Style(is_neox=True))
    qk_rope_cache.split(step, Style(rounding=Rounding.EACH))
    qk_rope_cache.fused(step, Style(rounding=Rounding.EACH))
    static_quant.quantize(
        torch.empty(8, 576).bfloat16(), step.q_out[:, 0].contiguous(), step.q_scale
    )
    k_concat.fused(torch.empty(8, 16, 128), torch.empty(8, 64), torch.empty(8, 16, 192))
    x = torch.empty(8, 1536).bfloat16()
    norm = dual_rms_norm.Norm(x, x[0], torch.empty_like(x), 1e-6)
    dual_rms_norm.fused(norm, norm)
    chunk = bench_cases.context_chunk("cpu", 64, 2, dtype)
    context.gathered(chunk, torch.empty(64, 576).bfloat16())
    context.fused(chunk)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
