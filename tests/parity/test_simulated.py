"""The simulated AITER keeps the contracts of each version."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from backport.parity.cases import context_gather, indexer_qk_prep
from backport.parity.cases import qk_rope_concat_and_cache as case
from backport.parity.intree.extract import Source
from backport.parity.intree.torch_view import poison
from backport.parity.judging import judge
from backport.parity.simulated import Aiter, ContractError, indexer_qk, qk_rope_cache
from backport.parity.values import Ran, World
from tests.parity.worlds import EMPTY

WORLD = World(Source(EMPTY), Source(EMPTY), "v0.1.19")
MADE = case.make(WORLD, case.Shape(5, 16, 64, is_neox=False))
IDENTITY = case.identity(case.make(WORLD, case.Shape(5, 16, 64, is_neox=True)))


def passes(made: case.Inputs, ran: Ran) -> bool:
    figures = judge(case.reference(made), case.baseline(made), ran.outputs, case.CASE.tolerances)
    return all(figure.passed for figure in figures)


def launch(version: str, made: case.Inputs, misread: bool = False) -> Ran:
    return case.launch(Aiter(version, misread), made)


def kernel(version: str) -> Callable[..., None]:
    build = qk_rope_cache.install(Aiter(version))
    found: Callable[..., None] = build.provided[qk_rope_cache.MODULE][qk_rope_cache.NAME]
    return found


@pytest.mark.parametrize("version", ["v0.1.16", "v0.1.19", "v0.1.19.post1", "v0.1.26"])
def test_a_right_call_is_right_on_every_version(version: str) -> None:
    assert passes(MADE, launch(version, MADE))


def test_positions_are_clamped_from_v0_1_19_post1_on() -> None:
    assert passes(IDENTITY, launch("v0.1.19.post1", IDENTITY))
    with pytest.raises(ContractError, match="outside the cos and sin tables"):
        launch("v0.1.19", IDENTITY)


def test_an_aiter_that_does_not_clamp_reads_past_the_table_and_fails() -> None:
    assert not passes(IDENTITY, launch("v0.1.19", IDENTITY, misread=True))


def test_the_general_kernel_never_clamps() -> None:
    few = case.identity(case.make(WORLD, case.Shape(5, 3, 64, is_neox=True)))
    with pytest.raises(ContractError, match="outside the cos and sin tables"):
        launch("v0.1.26", few)


@pytest.mark.parametrize(("version", "has"), [("v0.1.19", False), ("v0.1.19.post1", True)])
def test_the_signature_tells_the_versions_apart(version: str, has: bool) -> None:
    assert ("compute_all_q_rope" in inspect.signature(kernel(version)).parameters) is has


def test_an_argument_that_a_version_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="compute_all_q_rope"):
        kernel("v0.1.19")(*[None] * 14, compute_all_q_rope=True)


def test_a_row_without_a_slot_keeps_its_query() -> None:
    kept = launch("v0.1.19", MADE).outputs["skipped query rows"].value
    assert torch.equal(kept, torch.full_like(kept, 0x7F))


def call(version: str, misread: bool, made: case.Inputs, q_nope: torch.Tensor) -> Ran:
    build = Aiter(version, misread)
    run = qk_rope_cache.install(build).provided[qk_rope_cache.MODULE][qk_rope_cache.NAME]
    cache = made.cache.clone()
    shape = (made.slots.numel(), made.heads, case.L + case.R)
    query = poison(torch.empty(shape, dtype=made.fp8))
    run(q_nope, made.q_pe, made.kv_c, made.k_pe.squeeze(1), cache.view(made.fp8), query,
        made.slots, made.k_scale, made.q_scale, made.positions, *made.halves, made.is_neox,
        True)  # fmt: skip
    return Ran(case.outputs(made, query, cache))


def test_strides_of_q_nope_are_honoured_from_v0_1_17_on() -> None:
    transposed = MADE.ql_nope
    assert not transposed.is_contiguous()
    assert passes(MADE, call("v0.1.17", False, MADE, transposed))
    with pytest.raises(ContractError, match="dense memory"):
        call("v0.1.16", False, MADE, transposed)


def test_an_older_build_misreads_a_transposed_q_nope() -> None:
    assert not passes(MADE, call("v0.1.16", True, MADE, MADE.ql_nope))


def test_an_fp32_table_is_misread() -> None:
    build, wide = Aiter("v0.1.19", misread=True), replace(MADE, table=MADE.table.float())
    run = qk_rope_cache.install(build).provided[qk_rope_cache.MODULE][qk_rope_cache.NAME]
    cache, (cos, sin) = wide.cache.clone(), wide.table.chunk(2, -1)
    query = torch.empty(5, 16, case.L + case.R, dtype=wide.fp8)
    run(wide.ql_nope.contiguous(), wide.q_pe, wide.kv_c, wide.k_pe.squeeze(1),
        cache.view(wide.fp8), query, wide.slots, wide.k_scale, wide.q_scale, wide.positions,
        cos.contiguous(), sin.contiguous(), wide.is_neox, True)  # fmt: skip
    assert not passes(MADE, Ran(case.outputs(MADE, query, cache)))


@pytest.mark.parametrize(
    ("version", "wanted"), [("v0.1.19", torch.bfloat16), ("v0.1.19.post1", torch.float32)]
)
def test_the_norm_parameters_change_their_dtype(version: str, wanted: torch.dtype) -> None:
    made = next(iter(indexer_qk_prep.inputs(WORLD)))
    other = torch.float32 if wanted == torch.bfloat16 else torch.bfloat16
    for dtype, refused in ((wanted, False), (other, True)):
        build = indexer_qk.install(Aiter(version))
        params = [p.to(dtype) for p in indexer_qk_prep.norm_parameters(made)]
        if refused:
            with pytest.raises(ContractError, match="aborts"):
                indexer_qk_prep.launch(build, made, *params)
        else:
            indexer_qk_prep.launch(build, made, *params)


def test_the_old_gather_rounds_weights_to_fp8_and_fails() -> None:
    made = next(m for m in context_gather.inputs(WORLD) if m.cache.dtype != torch.bfloat16)
    ran = context_gather.launch(Aiter("v0.1.19"), made)
    figures = judge(
        context_gather.reference(made),
        context_gather.baseline(made),
        ran.outputs,
        context_gather.CASE.tolerances,
    )
    failed = {figure.output for figure in figures if not figure.passed}
    assert {"keys", "values"} <= failed


def test_launches_are_counted_and_imports_end_with_the_block() -> None:
    build = qk_rope_cache.install(Aiter("v0.1.19"))
    with build.installed():
        assert hasattr(importlib.import_module("aiter.ops.cache"), qk_rope_cache.NAME)
    with pytest.raises(ImportError):
        importlib.import_module("aiter")
    assert not build.launches
