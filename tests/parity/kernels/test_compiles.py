"""The kernels compile for GPUs that are not here, and fit into their shared memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="kernels need torch")
triton = pytest.importorskip("triton", reason="kernels need Triton")


@pytest.mark.parametrize(
    ("backend", "arch", "warp"),
    [("hip", "gfx942", "64"), ("hip", "gfx950", "64"), ("cuda", "90", "32")],
)
def test_without_the_gpu(backend: str, arch: str, warp: str) -> None:
    if {"hip": "amd", "cuda": "nvidia"}[backend] not in triton.backends.backends:
        pytest.skip(f"this Triton cannot compile for {backend}")
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "tests.parity.kernels.compiling", backend, arch, warp]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    kernels = {"_rows", "_rotate", "_quantize", "_concat", "_dual", "gather_rows", "expand_tile"}
    assert set(done.stdout.split()) == kernels
