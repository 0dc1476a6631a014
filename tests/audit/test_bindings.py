"""Custom ops that one C++ file binds twice."""

from __future__ import annotations

from textwrap import indent

import pytest

from backport.core.outcomes import Severity
from tests.audit.builders import findings, said

PATH = "csrc/bindings.cpp"
BASE = {PATH: "#include <x>\n"}

GATHER = 'ops.def("gather(Tensor a) -> Tensor");\n'
ON_GPU = 'ops.impl("gather", torch::kCUDA, &gather);\n'


def block(body: str, head: str = "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops)") -> str:
    return f"{head} {{\n{indent(body, '  ')}}}\n"


DEFINED = {
    "in one block": block(GATHER + GATHER),
    "with another schema": block(GATHER + 'ops.def(\n  "gather(Tensor a,"\n  "int b) -> ()");\n'),
    "in two blocks": block(GATHER) + block(GATHER),
    "in two fragments": (
        block(GATHER, "TORCH_LIBRARY_FRAGMENT(_C, ops)")
        + block(GATHER.replace("ops.", "m."), "STABLE_TORCH_LIBRARY_FRAGMENT(_C, m)")
    ),
    "by its name alone": block('ops.def("gather", &one);\n' + GATHER),
    "in one branch": block(f"#ifdef USE_ROCM\n{GATHER}{GATHER}#endif\n"),
    "in a branch of its own": block(f"{GATHER}#ifdef USE_ROCM\n{GATHER}#endif\n"),
    "in two branches of one condition": block(
        f"#ifdef USE_ROCM\n{GATHER}#endif\n#ifdef USE_ROCM\n{GATHER}#endif\n"
    ),
}

SOUND = {
    "other ops": block(GATHER + GATHER.replace("gather", "scatter")),
    "other overloads": block(GATHER + GATHER.replace("gather", "gather.out")),
    "other libraries": block(GATHER) + block(GATHER, "TORCH_LIBRARY(_moe_C, ops)"),
    "in comments": block(f"{GATHER}// {GATHER}/* {GATHER} */"),
    "in the other branch": block(
        f"#if defined(A)\n{GATHER}#elif B\n{GATHER}#else\n{GATHER}#endif\n"
    ),
    "in branches that may exclude each other": block(
        f"#ifdef A\n{GATHER}#endif\n#ifdef B\n{GATHER}#endif\n"
    ),
    "under a condition of the code": block(f"{GATHER}if (late) {{\n{GATHER}}}\n"),
    "for other backends": block(GATHER + ON_GPU + ON_GPU.replace("CUDA", "CPU")),
    "by the same function": block(GATHER + ON_GPU + ON_GPU),
    "in blocks of other backends": (
        block('ops.impl("gather", &one);\n', "TORCH_LIBRARY_IMPL(_C, CUDA, ops)")
        + block('ops.impl("gather", &other);\n', "TORCH_LIBRARY_IMPL(_C, CPU, ops)")
    ),
}


@pytest.mark.parametrize("text", DEFINED.values(), ids=DEFINED.keys())
def test_defined_twice(text: str) -> None:
    (found,) = findings(BASE, {PATH: text}, checks={"bindings"})
    assert (found.code, found.symbol.rpartition("::")[2]) == ("op-bound-twice", "gather")
    assert found.severity is Severity.ERROR
    assert ".def(" in text.split("\n")[found.line - 1]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said(BASE, {PATH: text}, checks={"bindings"}) == []


@pytest.mark.parametrize(
    "text",
    [
        block(ON_GPU + ON_GPU.replace("&gather", "&other")),
        block(
            'm.impl("gather", TORCH_BOX(&one));\nm.impl("gather",\n  TORCH_BOX(&other));\n',
            "STABLE_TORCH_LIBRARY_IMPL(_C, CUDA, m)",
        ),
    ],
)
def test_implemented_twice_is_worth_a_word(text: str) -> None:
    (found,) = findings(BASE, {PATH: text}, checks={"bindings"})
    assert (found.symbol.rpartition("::")[2], found.line) == ("gather(CUDA)", 3)
    assert found.severity is Severity.WARNING


def test_what_the_target_binds_itself_is_its_own() -> None:
    base = {PATH: block(GATHER + GATHER)}
    assert said(base, {PATH: block(GATHER + GATHER) + "// more\n"}, checks={"bindings"}) == []
