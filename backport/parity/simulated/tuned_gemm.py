"""`aiter.tuned_gemm.tgemm.mm` for gate shapes, as its callers and tables have it (read)."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from backport.parity.simulated.aiter import Aiter
from backport.parity.simulated.contract import require

MODULE = "aiter.tuned_gemm"
NAME = "tgemm.mm"


def install(build: Aiter) -> Aiter:
    """Offer `tgemm`; returns the build."""

    def mm(
        inp: torch.Tensor,
        weights: torch.Tensor,
        bias: torch.Tensor | None = None,
        otype: torch.dtype | None = None,
    ) -> torch.Tensor:
        require(bias is None, "a router gate has no bias")
        require(otype is None, "tuned tables are keyed on the output dtype: bf16 rows only")
        require(inp.dtype == weights.dtype == torch.bfloat16, "operands are bf16")
        require(weights.dim() == 2, "the weight is [experts, hidden]")
        require(inp.shape[-1] == weights.shape[-1], "the last dimensions match")
        build.launched(NAME)
        return (inp.float() @ weights.float().T).to(torch.bfloat16)

    return build.provide(MODULE, tgemm=SimpleNamespace(mm=mm))
