"""Mutants of a real release with its stacks, caught in the booted tree by what they break."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from backport.core.outcomes import Status
from backport.core.trees import Overlay
from backport.parity.intree import boot
from backport.parity.intree.children import NEEDED
from backport.parity.intree.compiled_ops import for_rocm, schemas
from backport.parity.intree.extract import Source
from backport.parity.intree.sparse_mla import ATTENTION, IMPL
from backport.parity.versions import pinned
from tests.parity.trees import Patched, patched

DECODE = "vllm/models/kimi_k3/amd/mla_decode.py"
GATHER = "vllm/v1/attention/ops/rocm_mla_context_gather.py"
TARGET = "v0.28.0"
absent = [name for name in NEEDED if find_spec(name) is None]


def booted(tree: Patched, folder: Path) -> boot.Booted:
    """The patched tree on the first chip."""
    changed = Overlay(tree.base, tree.changes)
    boot.write_package(changed, folder / "patched")
    request = {
        "aiter": pinned(Source(tree.base)),
        "modules": boot.changed_modules(tree.changes),
        "stacks": [(s.name, s.parity, sorted(s.paths())) for s in tree.stacks],
        "patched": True,
    }
    return boot.start(folder / "patched", boot.CHIPS[0], request)


FAKE = "    positions: torch.Tensor | None = None,\n) -> None:\n    return"
# Path, text, mutant: in one tree, since each has its own symptom.
MUTANTS = {
    "booted sparse MLA layer: fused, q_nope read as dense": (  # no .contiguous()
        IMPL,
        "ql_nope.contiguous(),",
        "ql_nope,",
    ),
    "booted sparse MLA layer: ops hold torch's opcheck": (  # a fake without positions
        ATTENTION,
        FAKE,
        ") -> None:\n    return",
    ),
    "booted Kimi-K3 layer: fused": (  # a silent fallback
        DECODE,
        "        if torch.compiler.is_compiling():\n",
        "        if True:\n",
    ),
    "booted MLA prefill: gathered": (  # a wrong scale
        GATHER,
        "k_scale.reshape(1),",
        "k_scale.reshape(1) * 2,",
    ),
    "booted MLA prefill: closes for batch invariance": (  # a gate that is ignored
        GATHER,
        " or envs.VLLM_BATCH_INVARIANT",
        "",
    ),
}


@pytest.mark.vllm
@pytest.mark.skipif(bool(absent), reason=f"the extra `intree` is not installed: {absent}")
def test_every_kind_of_mutant_is_caught_in_the_booted_tree(tmp_path: Path) -> None:
    tree = patched(TARGET)
    for path, text, mutant in MUTANTS.values():
        tree = tree.edited(path, [(text, mutant)])
    found = booted(tree, tmp_path)
    assert not found.problem
    failed = {m.candidate for m in found.measurements if m.status is Status.FAILED}
    assert failed == set(MUTANTS)
    assert {m.candidate for m in found.measurements} > failed


def test_only_what_rocm_compiles_is_kept() -> None:
    text = "\n".join((
        "#ifndef USE_ROCM", "a", "#ifdef X", "b", "#endif", "#else", "c", "#endif",
        "#if !defined(USE_ROCM)", "d", "#endif", "#if defined(USE_ROCM)", "e", "#endif",
    ))  # fmt: skip
    assert for_rocm(text) == "c\ne"


def test_schemas_are_read_from_the_bindings(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "torch_bindings.cpp").write_text(
        "STABLE_TORCH_LIBRARY_FRAGMENT(_C, ops) {\n"
        '  ops.def("one(Tensor! out,"\n    "    Tensor x) -> ()");\n'
        "#ifndef USE_ROCM\n"
        '  ops.def("two(Tensor x) -> ()");\n'
        "#endif\n"
        '  ops.def("three", &three);\n'
        "}\n"
    )
    assert list(schemas(tmp_path)) == [("_C", "one(Tensor! out,    Tensor x) -> ()")]
