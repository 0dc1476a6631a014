"""Abstract methods: what a base asks for and a class no longer has."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

FACE = (
    "from abc import ABC, abstractmethod\n\n\nclass Face({}):\n"
    "    @abstractmethod\n    def apply(self):\n        ...\n"
)
BASE = {
    "eng/__init__.py": "",
    "eng/face.py": FACE.format("ABC"),
    "eng/impl.py": (
        "from eng.face import Face\n\n\nclass Impl(Face):\n    def {}(self):\n        return 1\n"
    ),
}
GONE = {"eng/impl.py": BASE["eng/impl.py"].format("forward")}
FOREIGN = GONE["eng/impl.py"].replace("(Face)", "(other.X, Face)")
WHOLE = BASE | {"eng/impl.py": BASE["eng/impl.py"].format("apply")}
MORE = FACE.format("ABC") + "\n    @abstractmethod\n    def load(self):\n        ...\n"


def test_a_method_that_the_class_no_longer_has() -> None:
    assert said(WHOLE, GONE) == ["eng/impl.py:4 abstract-method Impl.apply"]


def test_a_method_that_the_base_now_asks_for() -> None:
    assert said(WHOLE, {"eng/face.py": MORE}) == ["eng/impl.py:4 abstract-method Impl.load"]


def test_a_new_class_without_it() -> None:
    new = {"eng/new.py": GONE["eng/impl.py"].replace("Impl", "New")}
    assert said(WHOLE, new) == ["eng/new.py:4 abstract-method New.apply"]


@pytest.mark.parametrize(
    "change",
    [
        {"eng/impl.py": WHOLE["eng/impl.py"].replace("    def", "    apply = len\n\n    def")},
        {**GONE, "eng/sub.py": WHOLE["eng/impl.py"].replace("eng.face", "eng.impl").replace(
            "Impl(Face)", "Sub(Impl)").replace("import Face", "import Impl")},
        {"eng/impl.py": f"import other\n{FOREIGN}"},
    ],
    ids=["assigned in the body", "a class in between", "a base of another project"],
)  # fmt: skip
def test_what_can_be_made(change: dict[str, str]) -> None:
    assert said(WHOLE, change) == []


def test_a_class_that_gives_none_of_several_leaves_them_to_others() -> None:
    base = WHOLE | {"eng/face.py": MORE, "eng/impl.py": ""}
    none, one = GONE["eng/impl.py"], GONE["eng/impl.py"].replace("forward", "load")
    assert said(base, {"eng/impl.py": none}) == []
    assert said(base, {"eng/impl.py": one}) == ["eng/impl.py:4 abstract-method Impl.apply"]


def test_nothing_asks_where_abc_does_not() -> None:
    plain = WHOLE | {"eng/face.py": FACE.format("")}
    assert said(plain, GONE) == []


def test_a_class_of_static_methods_is_never_made() -> None:
    static = FACE.format("ABC").replace("    @abs", "    @staticmethod\n    @abs")
    assert said(WHOLE | {"eng/face.py": static}, GONE) == []


def test_a_class_that_was_abstract_before() -> None:
    assert said(BASE | GONE, {"eng/impl.py": f"# a line\n{GONE['eng/impl.py']}"}) == []
