"""MLA prefill of a tree's AITER backend: the context loop, its gather and its k concat."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

from backport.parity.intree import context_gather_claims
from backport.parity.intree.extract import Namespace, Source
from backport.parity.intree.stand_ins import unconstructed
from backport.parity.intree.torch_view import empty
from backport.parity.simulated import Aiter, gather_kv_b_proj, k_concat
from backport.parity.values import Binding, Ran, World
from backport.parity.versions import at_least

if TYPE_CHECKING:
    from backport.parity.cases import context_gather as gather_case
    from backport.parity.cases import k_concat as concat_case

ATTENTION = "vllm/model_executor/layers/attention/mla_attention.py"
BACKEND = "vllm/v1/attention/backends/mla/rocm_aiter_mla.py"
GATHER_OPS = "vllm/v1/attention/ops/rocm_mla_context_gather.py"
KERNEL = gather_kv_b_proj.NAME
LOOP, CAT = "_compute_prefill_context", "_concat_k_nope_k_pe"
DIMS = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}


class Unquantized:
    """What the tree calls UnquantizedLinearMethod."""


class Projection:
    """kv_b_proj: a bf16 GEMM with fp32 sums."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight = weight
        self.bias: torch.Tensor | None = None
        self.quant_method: object = Unquantized()

    def __call__(self, x: torch.Tensor) -> tuple[torch.Tensor]:
        return ((x.float() @ self.weight.float().T).to(x.dtype),)


class Prefill:
    """The tree's AiterMLAImpl on the tree's common base, over a simulated cache."""

    def __init__(self, source: Source, build: Aiter, made: gather_case.Inputs | None) -> None:
        self.build = gather_kv_b_proj.install(build)
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        self.made = made
        self.envs = SimpleNamespace(VLLM_BATCH_INVARIANT=False)
        self.fp8 = torch.float8_e4m3fn
        if made is not None and made.cache.dtype != torch.bfloat16:
            self.fp8 = made.cache.dtype
        self.torch = Namespace(
            torch,
            empty=empty,
            ops=SimpleNamespace(_C=SimpleNamespace(**{k_concat.NAME: k_concat.kernel(build)})),
        )
        self.common = source.module(ATTENTION, **self._common_names())
        self.ops = self._ops(source)
        self.impl = self._impl(source)

    def _common_names(self) -> dict[str, Any]:
        return {
            "torch": self.torch,
            "ops": SimpleNamespace(gather_and_maybe_dequant_cache=gather),
            "current_platform": SimpleNamespace(fp8_dtype=lambda: self.fp8, is_cpu=lambda: False),
            "_get_kv_b_proj_input_dtype": lambda *_: None,
            "merge_attn_states": merge,
            "MLAAttentionImpl": object,
        }

    def _ops(self, source: Source) -> Any:
        if not source.exists(GATHER_OPS):
            return None
        names = ("init_mla_context_partial", "accumulate_mla_context_chunk")
        return source.module(
            GATHER_OPS,
            torch=self.torch,
            envs=self.envs,
            current_platform=SimpleNamespace(fp8_dtype=lambda: self.fp8),
            UnquantizedLinearMethod=Unquantized,
            **{name: self.common.function(name) for name in names},
        )

    def _impl(self, source: Source) -> Any:
        base = self.common.cut("MLACommonBaseImpl", [LOOP, CAT])
        methods = [m for m in (LOOP, CAT) if source.has(BACKEND, f"AiterMLAImpl.{m}")]
        used = ("concat_mla_k", "compute_gathered_context")
        found = {n: self.ops.function(n) for n in used} if self.ops else {}
        module = source.module(
            BACKEND, torch=self.torch, rocm_mla_context_gather=SimpleNamespace(**found)
        )
        impl = unconstructed(module.cut("AiterMLAImpl", methods, base))
        dtype = self.made.cache.dtype if self.made else torch.bfloat16
        vars(impl).update(
            **DIMS,
            qk_head_dim=192,
            num_heads=self.made.heads if self.made else 2,
            kv_cache_dtype="auto" if dtype == torch.bfloat16 else "fp8",
            dcp_world_size=1,
            _use_flashinfer_concat_mla_k=False,
            kv_b_proj=Projection(self.made.weight) if self.made else None,
        )
        return impl

    # ------------------------------------------------------------ one pass

    def metadata(self) -> SimpleNamespace:
        """The batch's metadata, its context cut into chunks of the workspace."""
        made = self.batch
        prefill = SimpleNamespace(
            block_table=made.table,
            q_data_type=torch.bfloat16,
            prefill_backend=SimpleNamespace(run_prefill_context_chunk=self._attend),
            chunked_context=SimpleNamespace(
                chunks=_chunks(made),
                workspace=empty(made.workspace, 576, dtype=torch.bfloat16),
                empty_token_slices=_empty(made),
            ),
        )
        return SimpleNamespace(prefill=prefill)

    @property
    def batch(self) -> gather_case.Inputs:
        if self.made is None:
            raise ValueError("made without a batch")
        return self.made

    def run(self, metadata: SimpleNamespace | None = None, q: torch.Tensor | None = None) -> Any:
        """`_compute_prefill_context`: the attention over the context, and its log-sum-exp."""
        made = self.batch
        metadata = metadata or self.metadata()
        with self.build.installed():
            if self.ops and not hasattr(metadata, "context_kv_indices"):
                indices = self.ops.function("context_kv_indices")
                metadata.context_kv_indices = indices(metadata.prefill, made.block)
            q = made.q if q is None else q
            return getattr(self.impl, LOOP)(q, made.cache, metadata, made.k_scale)

    def _attend(
        self, *, chunk: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Exact attention of each request of a chunk; keeps the keys and values."""
        from backport.parity.cases.context_gather import attend

        self.keys.append(k.clone())
        self.values.append(v.clone())
        sizes = [int(n) for n in chunk.seq_lens]
        rows = [int(n) for n in chunk.query_start_loc.diff()]
        parts = (torch.split(q, rows), torch.split(k, sizes), torch.split(v, sizes))
        pieces = zip(*parts, strict=True)
        done = [attend(*piece) for piece in pieces]
        return torch.cat([o for o, _ in done]), torch.cat([lse for _, lse in done], 1)


def gather(
    *,
    src_cache: torch.Tensor,
    dst: torch.Tensor,
    block_table: torch.Tensor,
    cu_seq_lens: torch.Tensor,
    token_to_seq: torch.Tensor,
    num_tokens: int,
    kv_cache_dtype: str,
    scale: torch.Tensor,
    seq_starts: torch.Tensor,
    **_: Any,
) -> None:
    """In place of the release's gather: dequantize the chunk's rows into the workspace."""
    request = token_to_seq[:num_tokens].long()
    token = torch.arange(num_tokens) - cu_seq_lens[request] + seq_starts[request]
    block = src_cache.shape[1]
    row = block_table[request, token // block].long() * block + token % block
    wide = src_cache.view(-1, src_cache.shape[-1])[row].float()
    dst[:num_tokens] = (wide if kv_cache_dtype == "auto" else wide * scale).to(dst.dtype)


def merge(
    output: torch.Tensor,
    prefix_output: torch.Tensor,
    prefix_lse: torch.Tensor,
    suffix_output: torch.Tensor,
    suffix_lse: torch.Tensor,
    output_lse: torch.Tensor,
    **_: Any,
) -> None:
    """merge_attn_states in torch."""
    lse = torch.logaddexp(prefix_lse, suffix_lse)
    parts = ((prefix_output, prefix_lse), (suffix_output, suffix_lse))
    merged = sum(((p - lse).exp().T[..., None] * out for out, p in parts), torch.zeros(()))
    output.copy_(merged)
    output_lse.copy_(lse)


def _empty(made: gather_case.Inputs) -> list[slice]:
    ends = torch.tensor(made.queries).cumsum(0).tolist()
    return [
        slice(end - n, end)
        for end, n, tokens in zip(ends, made.queries, made.context, strict=True)
        if not tokens
    ]


def _chunks(made: gather_case.Inputs) -> list[SimpleNamespace]:
    """Runs of requests with context that fit the workspace; a long one continues in the next."""
    chunks: list[SimpleNamespace] = []
    pieces: list[tuple[int, int, int]] = []

    def close() -> None:
        chunks.append(_chunk(made, pieces, len(chunks)))
        pieces.clear()

    for request, length in enumerate(made.context):
        start = 0
        if pieces and (not length or pieces[-1][0] != request - 1):
            close()
        while start < length:
            room = made.workspace - sum(n for _, _, n in pieces)
            left = length - start
            taken = left if left <= room else room // made.block * made.block
            if taken:
                pieces.append((request, start, taken))
                start += taken
            if start < length:
                close()
    if pieces:
        close()
    return chunks


def _chunk(
    made: gather_case.Inputs, pieces: list[tuple[int, int, int]], index: int
) -> SimpleNamespace:
    first, last = pieces[0][0], pieces[-1][0]
    ends = torch.tensor([0, *made.queries]).cumsum(0)
    lengths = torch.tensor([n for _, _, n in pieces])
    starts = torch.tensor([s for _, s, _ in pieces]).int()
    return SimpleNamespace(
        index=index,
        request_slice=slice(first, last + 1),
        num_requests=len(pieces),
        token_slice=slice(int(ends[first]), int(ends[last + 1])),
        continuation_token_end=int(ends[first + 1]),
        is_continuation=pieces[0][1] > 0,
        num_context_tokens=int(lengths.sum()),
        query_start_loc=(ends[first : last + 2] - ends[first]).int(),
        max_query_len=max(made.queries[first : last + 1]),
        cu_seq_lens=torch.cat((torch.zeros(1), lengths.cumsum(0))).int(),
        starts=starts,
        max_seq_len=int(lengths.max()),
        seq_lens=lengths.int(),
        token_to_seq=torch.repeat_interleave(torch.arange(len(pieces)), lengths).int(),
    )


# ---------------------------------------------------------------- candidates


def flat(world: World) -> Aiter:
    """The pinned AITER, or the first with the flat kernel where the pinned one is older."""
    bound = gather_kv_b_proj.FLAT_FROM
    return Aiter(world.aiter if at_least(world.aiter, bound) else bound)


def ran(prefill: Prefill, result: Any, fused: bool) -> Ran:
    """What a pass left, with a launch per chunk where it is fused."""
    from backport.parity.cases.context_gather import outputs

    made = prefill.batch
    # Chunks follow the requests, so their tokens lie in order.
    keys, values = torch.cat(prefill.keys), torch.cat(prefill.values)
    chunks = len(_chunks(made))
    launches = prefill.build.launches[gather_kv_b_proj.NAME]
    return Ran(outputs(made, keys, values, *result), launches, chunks if fused else 0)


def gathered(world: World, made: gather_case.Inputs) -> Ran:
    """The patched loop with an AITER that has the kernel: one gather per chunk."""
    prefill = Prefill(world.patched, flat(world), made)
    return ran(prefill, prefill.run(), fused=True)


def split(world: World, made: gather_case.Inputs) -> Ran:
    """The patched loop without indices: the release's gather, GEMM and copies."""
    prefill = Prefill(world.patched, flat(world), made)
    metadata = prefill.metadata()
    metadata.context_kv_indices = None
    return ran(prefill, prefill.run(metadata), fused=False)


def concatenated(world: World, made: concat_case.Inputs) -> Ran:
    """The patched impl's method with the op there."""
    from backport.parity.cases.k_concat import outputs

    build = Aiter(world.aiter)
    prefill = Prefill(world.patched, build, None)
    k = getattr(prefill.impl, CAT)(made.k_nope, made.k_pe)
    return Ran(outputs(k), build.launches[k_concat.NAME])


GATHER: Binding[gather_case.Inputs] = Binding(
    "MLA prefill",
    f"{GATHER_OPS}::compute_gathered_context",
    {"gathered": gathered, "split": split},
    context_gather_claims.GATHER,
)
CONCAT: Binding[concat_case.Inputs] = Binding(
    "MLA prefill",
    f"{GATHER_OPS}::concat_mla_k",
    {"concatenated": concatenated},
    context_gather_claims.CONCAT,
)
