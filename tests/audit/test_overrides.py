"""Overrides: one back end was updated, another was not."""

from __future__ import annotations

from tests.audit.builders import said

IMPL = (
    "from eng.base import Impl\n\n\nclass {}(Impl):\n"
    "    def forward(self, q, kv, out{}):\n        out[:] = q\n"
)
BASE = {
    "eng/__init__.py": "",
    "eng/base.py": (
        "class Impl:\n    def forward(self, q, kv, out):\n        raise NotImplementedError\n"
    ),
    "eng/aiter.py": IMPL.format("AiterImpl", ""),
    "eng/triton.py": IMPL.format("TritonImpl", ", **kwargs"),
    "eng/cpu.py": IMPL.format("CPUImpl", ""),
    "eng/layer.py": (
        "class Layer:\n    def __init__(self, impl):\n        self.impl = impl\n\n"
        "    def forward(self, q, kv, out, positions):\n        self.impl.forward(q, kv, out)\n"
    ),
}
GAINED = {
    "eng/base.py": BASE["eng/base.py"].replace("out):", "out, positions=None):"),
    "eng/aiter.py": IMPL.format("AiterImpl", ", positions=None"),
}
CALLER = {
    "eng/layer.py": BASE["eng/layer.py"].replace("kv, out)\n", "kv, out, positions=positions)\n")
}


def test_the_back_end_that_was_left_behind() -> None:
    assert said(BASE, GAINED | CALLER) == [
        "eng/cpu.py:5 override-lacks-parameter CPUImpl.forward(positions)"
    ]


def test_silence_until_somebody_passes_it() -> None:
    assert said(BASE, GAINED) == []


def test_silence_when_all_are_updated() -> None:
    cpu = {"eng/cpu.py": IMPL.format("CPUImpl", ", positions=None")}
    assert said(BASE, GAINED | CALLER | cpu) == []


def test_a_class_of_another_family_is_not_meant() -> None:
    other = {"eng/other.py": "class Pool:\n    def forward(self, x):\n        return x\n"}
    base = BASE | other
    assert said(base, GAINED | CALLER) == [
        "eng/cpu.py:5 override-lacks-parameter CPUImpl.forward(positions)"
    ]


def test_a_new_back_end_that_lacks_what_callers_pass() -> None:
    base = BASE | GAINED | CALLER | {"eng/cpu.py": IMPL.format("CPUImpl", ", positions=None")}
    new = {"eng/rocm.py": IMPL.format("RocmImpl", "")}
    assert said(base, new) == ["eng/rocm.py:5 override-lacks-parameter RocmImpl.forward(positions)"]
    new = {"eng/rocm.py": IMPL.format("RocmImpl", ", positions=None")}
    assert said(base, new) == []


def test_a_class_called_by_its_own_name_is_no_descendant() -> None:
    split = "class {}:\n    @staticmethod\n    def split(rows{}):\n        return rows\n"
    base = {
        "build.py": split.format("Builder", ""),
        "cpu.py": f"from build import Builder\n\n\n{split.format('Cpu(Builder)', '')}",
        "use.py": "from build import Builder\n\n\ndef use(rows):\n    return Builder.split(rows)\n",
    }
    gained = {"build.py": split.format("Builder", ", world=1")}
    by_name = (
        base["use.py"]
        .replace("(rows)\n", "(rows, world=2)\n")
        .replace("use(rows, world=2)", "use(rows)")
    )
    assert said(base, gained | {"use.py": by_name}) == []
    by_class = "def use(b: type[Builder], rows):\n    return b.split(rows, world=2)\n"
    passed = base["use.py"].partition("def")[0] + by_class
    assert said(base, gained | {"use.py": passed}) == [
        "cpu.py:6 override-lacks-parameter Cpu.split(world)"
    ]
