"""The library's own stacks on real releases: whole they are clean, half carried they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from backport.audit import Auditor
from backport.core.evaluating import evaluate
from backport.core.outcomes import Finding, Severity, StackOutcome
from backport.core.trees import REGULAR, Entry
from backport.library import load

pytestmark = pytest.mark.vllm

LIBRARY = load(Path(__file__).parents[2])
SPARSE_MLA = "sparse-mla-qk-rope-cache"
RMSNORM = "kimi-k3-qk-rmsnorm"
GATHER = "kimi-k3-context-gather"
BACKEND = "vllm/v1/attention/backends/mla/rocm_aiter_mla.py"

Auditors = Callable[[str], Auditor]
Changes = dict[str, Entry | None]


def carried(
    pristine: Auditor, target: str, *names: str, without: str = "", bare: str = ""
) -> Changes:
    """What stacks change on a target, `without` one patch or with one left `bare`: unadapted."""
    manifest = LIBRARY.manifest(target)
    stacks = {
        name: LIBRARY.stacks[name]._replace(
            patches=tuple(p for p in LIBRARY.stacks[name].patches if p.name != without)
        )
        for name in names
    }
    kept = (a for a in manifest.adaptations if a.hunk.stack in stacks)
    adapted = tuple(a for a in kept if a.hunk.patch not in (without, bare))
    done = evaluate(manifest._replace(stacks=names, adaptations=adapted), stacks, pristine.base)
    assert {result.outcome for result in done.results} == {StackOutcome.APPLIED}
    return dict(done.changes)


def edited(changes: Changes, path: str, old: str, new: str) -> Changes:
    entry = changes[path]
    assert entry is not None
    text = entry.data.decode()
    assert text.count(old) == 1
    return changes | {path: Entry(entry.mode, text.replace(old, new).encode())}


def errors(pristine: Auditor, changes: Mapping[str, Entry | None]) -> list[Finding]:
    results = pristine.audit(changes)
    return [f for result in results for f in result.findings if f.severity is Severity.ERROR]


@pytest.mark.parametrize(("version", "target"), [("0.28.0", "v0.28.0"), ("0.29.0", "v0.29.0")])
def test_a_fake_without_the_parameter_of_its_op(
    auditor: Auditors, version: str, target: str
) -> None:
    pristine = auditor(version)
    assert errors(pristine, carried(pristine, target, SPARSE_MLA)) == []
    broken = carried(pristine, target, SPARSE_MLA, without="fake-op-positions")
    (found,) = errors(pristine, broken)
    assert (found.code, found.symbol) == (
        "fake-differs",
        "unified_mla_attention_with_output(positions)",
    )
    assert "`positions` missing in the fake" in found.message


def test_a_gate_that_reads_an_attribute_of_later_releases(auditor: Auditors) -> None:
    pristine = auditor("0.28.0")
    found = errors(pristine, carried(pristine, "v0.28.0", SPARSE_MLA, bare="hisparse-gate"))
    assert {(f.code, f.symbol) for f in found} == {
        ("unknown-attribute", "MLAAttention.hisparse_cache")
    }


def test_a_later_release_s_decode_preparation_carried_as_it_is(auditor: Auditors) -> None:
    pristine, path = auditor("0.28.0"), "vllm/models/kimi_k3/amd/mla.py"
    later = auditor("0.33.0").base.entry(path)
    assert later is not None
    changes = carried(pristine, "v0.28.0", RMSNORM) | {path: Entry(REGULAR, later.data)}
    found = errors(pristine, changes)
    assert ("unknown-attribute", "MLAAttention.hisparse_cache") in {
        (f.code, f.symbol) for f in found
    }


def test_a_context_gather_whose_flag_is_never_assigned(auditor: Auditors) -> None:
    pristine = auditor("0.28.0")
    whole = carried(pristine, "v0.28.0", RMSNORM, GATHER)
    assert errors(pristine, whole) == []
    read = "        assert attn_metadata.prefill is not None\n        partial = "
    half = edited(whole, BACKEND, read, f"        assert self._fused_gather_possible\n{read}")
    assert [(f.path, f.code, f.symbol) for f in errors(pristine, half)] == [
        (BACKEND, "unknown-attribute", "AiterMLAImpl._fused_gather_possible")
    ]


def test_a_launch_without_the_sequence_lengths(auditor: Auditors) -> None:
    pristine = auditor("0.28.0")
    whole = carried(pristine, "v0.28.0", RMSNORM, GATHER)
    lengths = "            seq_lens_for_kernel,\n            KERNEL_BLOCK_SIZE"
    half = edited(whole, BACKEND, lengths, "            KERNEL_BLOCK_SIZE")
    assert [(f.path, f.code, f.symbol) for f in errors(pristine, half)] == [
        (BACKEND, "missing-argument", "_expand_page_indices_kernel(seq_lens)")
    ]
