"""Kernel tests run on the GPU if there is one, else in Triton's interpreter."""

from __future__ import annotations

import importlib.util
import os

import pytest

_MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]

if not _MISSING:
    import torch

    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported


@pytest.fixture
def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
