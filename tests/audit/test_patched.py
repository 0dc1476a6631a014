"""Patched names: what a test replaces must be there."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from backport.audit.checks.patched import MISSING
from backport.audit.checks.replaced import replaced
from tests.audit.builders import findings

BASE = {
    "eng/__init__.py": "",
    "eng/ops.py": """
        import os


        def fused(x):
            return x


        class Layer:
            size = 1

            def __init__(self):
                self.rank = 2

            def forward(self, x):
                return x


        class Meta(type):
            shared = 1


        class Made(metaclass=Meta):
            pass


        def layer() -> Layer:
            return Layer()


        class Open:
            def __getattr__(self, name):
                return name
        """,
    "eng/served.py": "def __getattr__(name):\n    return name\n",
    "tests/test_a.py": "",
}
HEAD = """\
from unittest import mock
from unittest.mock import patch

import other.project

import eng.ops
import eng.ops as ops
from eng.ops import Layer, Made, Open


"""
FAULTS = {
    "a function in a string": ('mock.patch("eng.ops.split")', "eng.ops.split"),
    "as a decorator": ('@patch("eng.ops.split")\ndef test_a(split): ...', "eng.ops.split"),
    "a module in a string": ('patch("eng.gone.fused")', "eng.gone.fused"),
    "a method in a string": ('patch("eng.ops.Layer.backward")', "eng.ops.Layer.backward"),
    "a class in a string": ('patch("eng.ops.Gone.forward")', "eng.ops.Gone.forward"),
    "an attribute of a module": ('patch.object(ops, "split")', "ops.split"),
    "of a module by its path": ('mock.patch.object(eng.ops, "split")', "eng.ops.split"),
    "of a class": ('patch.object(Layer, "backward")', "Layer.backward"),
    "of an object": (
        'def test_a():\n    layer = Layer()\n    patch.object(layer, "backward")',
        "layer.backward",
    ),
    "of an object of two names": (
        'def test_a():\n    one = ops.Layer()\n    two = one\n    patch.object(two, "backward")',
        "two.backward",
    ),
    "by pytest": (
        'def test_a(monkeypatch):\n    monkeypatch.setattr(ops, "split", None)',
        "ops.split",
    ),
    "by pytest in a string": (
        'def test_a(monkeypatch):\n    monkeypatch.setattr("eng.ops.split", None)',
        "eng.ops.split",
    ),
    "by pytest in a context": (
        (
            "def test_a(monkeypatch):\n    with monkeypatch.context() as m:\n"
            '        m.setattr("eng.ops.split", None)'
        ),
        "eng.ops.split",
    ),
    "taken away": (
        'def test_a(monkeypatch):\n    monkeypatch.delattr(Layer, "backward")',
        "Layer.backward",
    ),
}
SOUND = {
    "a function": 'patch("eng.ops.fused")',
    "a method": 'patch("eng.ops.Layer.forward")',
    "a class attribute": 'patch.object(Layer, "size")',
    "what another module imported": 'patch("eng.ops.os.getcwd")',
    "an attribute of an object": 'def test_a():\n    patch.object(Layer(), "rank")',
    "a builtin in any module": 'patch("eng.ops.open")',
    "what may be created": 'patch("eng.ops.split", create=True)',
    "what need not be there": (
        'def test_a(monkeypatch):\n    monkeypatch.setattr(ops, "split", None, raising=False)'
    ),
    "keywords that nobody knows": 'patch("eng.ops.split", **{"create": True})',
    "a module that serves any name": 'patch("eng.served.split")',
    "a class that has any attribute": 'patch.object(Open, "split")',
    "another project's": 'patch("other.project.split")',
    "an object of another project": 'patch.object(other.project, "split")',
    "an object that nobody knows": 'def test_a(layer):\n    patch.object(layer, "split")',
    "a computed name": "def test_a(name):\n    patch.object(ops, name)",
    "a request of a client": 'def test_a(client):\n    client.patch("/eng/ops")',
    "an object that an annotation tells of": (
        "def test_a():\n    class Sub(Layer):\n        late = 1\n\n"
        '    layer: Layer = Sub()\n    patch.object(layer, "late")'
    ),
    "a parameter that an annotation tells of": (
        'def helper(layer: Layer):\n    patch.object(layer, "late")'
    ),
    "an object that a function makes": (
        'def test_a():\n    layer = ops.layer()\n    patch.object(layer, "late")'
    ),
    "under a guard": 'try:\n    patch.object(ops, "split")\nexcept AttributeError:\n    pass',
}


def missing(text: str) -> list[str]:
    found = findings(BASE, {"tests/test_a.py": HEAD + text + "\n"}, checks=frozenset({"patched"}))
    assert all(finding.code == MISSING.code for finding in found)
    return [finding.symbol for finding in found]


@pytest.mark.parametrize(("text", "symbol"), FAULTS.values(), ids=FAULTS)
def test_fault(text: str, symbol: str) -> None:
    assert missing(text) == [symbol]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_silence(text: str) -> None:
    assert missing(text) == []


def test_a_function_that_the_stack_renames_under_a_test_that_it_does_not_touch() -> None:
    base = BASE | {"tests/test_a.py": HEAD + 'patch("eng.ops.fused")\n'}
    change = {"eng/ops.py": BASE["eng/ops.py"].replace("def fused", "def fused_ops")}
    found = findings(base, change, checks=frozenset({"patched"}))
    assert [(f.path, f.symbol) for f in found] == [("tests/test_a.py", "eng.ops.fused")]


def test_what_a_file_replaces_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(side_effect=replaced)
    monkeypatch.setattr("backport.audit.checks.patched.replaced", read)
    assert len(missing('patch("eng.ops.a")\npatch("eng.ops.b")')) == 2
    assert read.call_count == 1


_LATER = 'patch.object(ops.Layer, "backward")'
MOCKS = {
    "by a with": f'def test_a():\n    with patch("eng.ops.Layer"):\n        {_LATER}',
    "by a with, as an object": (
        f'def test_a():\n    with patch.object(ops, "Layer"):\n        {_LATER}'
    ),
    "in the same with": f'def test_a():\n    with patch("eng.ops.Layer"), {_LATER}:\n        pass',
    "by a decorator": f'@patch.object(ops, "Layer")\ndef test_a(layer):\n    {_LATER}',
    "by a decorator of the class": (
        f'@patch("eng.ops.Layer")\nclass TestIt:\n    def test_a(self, layer):\n        {_LATER}'
    ),
    "by pytest": (
        f'def test_a(monkeypatch):\n    monkeypatch.setattr(ops, "Layer", 1)\n    {_LATER}'
    ),
    "by a plug-in": f'def test_a(mocker):\n    mocker.patch("eng.ops.Layer")\n    {_LATER}',
    "several at once": (
        f'def test_a():\n    with patch.multiple("eng.ops", Layer=1):\n        {_LATER}'
    ),
    "under a computed name": (
        f"def test_a(n, monkeypatch):\n    monkeypatch.setattr(ops, n, 1)\n    {_LATER}"
    ),
    "by an assignment": f"def test_a():\n    ops.Layer = 1\n    {_LATER}",
    "by a fixture": (
        '@pytest.fixture\ndef fake():\n    with patch("eng.ops.Layer"):\n        yield\n\n\n'
        f"def test_a(fake):\n    {_LATER}"
    ),
    "the module": f'def test_a():\n    with patch("eng.ops"):\n        {_LATER}',
    "in sys.modules": (
        'def test_a(monkeypatch):\n    monkeypatch.setitem(sys.modules, "eng.ops", 1)\n'
        f"    {_LATER}"
    ),
    "on the way of a string": (
        'def test_a():\n    with patch("eng.ops.Layer"):\n        patch("eng.ops.Layer.backward")'
    ),
    "an object of the class": (
        'def test_a():\n    with patch("eng.ops.Layer"):\n        layer = ops.Layer()\n'
        '        patch.object(layer, "backward")'
    ),
    "what makes the object": (
        'def test_a():\n    with patch("eng.ops.layer"):\n        layer = ops.layer()\n'
        '        patch.object(layer, "backward")'
    ),
}
GIVEN = {
    "by a metaclass": 'patch.object(Made, "shared")',
    "by __dict__": (
        'def test_a(c):\n    c = Layer()\n    c.__dict__["late"] = 1\n    patch.object(c, "late")'
    ),
    "by vars": (
        'def test_a(c):\n    c = Layer()\n    vars(c)["late"] = 1\n    patch.object(c, "late")'
    ),
    "by __dict__ as a whole": (
        "def test_a(c):\n    c = Layer()\n    c.__dict__.update(late=1)\n"
        '    patch.object(c, "late")'
    ),
    "by a loop": (
        "class P:\n    pass\n\n\nfor n in ('late',):\n    setattr(P, n, 1)\n"
        'patch.object(P, "late")'
    ),
}


@pytest.mark.parametrize("text", [*MOCKS.values(), *GIVEN.values()], ids=[*MOCKS, *GIVEN])
def test_what_is_a_mock_or_given_already(text: str) -> None:
    assert missing(text) == []


def test_a_fixture_of_a_conftest_above_makes_a_mock() -> None:
    fake = 'def fake():\n    with patch("eng.ops.Layer"):\n        yield\n'
    base = BASE | {"tests/conftest.py": f"import pytest\n{HEAD}@pytest.fixture\n{fake}"}
    change = {"tests/test_a.py": f"{HEAD}def test_a():\n    {_LATER}\n"}
    checks = frozenset({"patched"})
    assert findings(base, change, checks=checks) == []
    assert len(findings(BASE, change, checks=checks)) == 1


@pytest.mark.parametrize(
    "text",
    [
        f'def test_a():\n    patch("eng.ops.Layer")\n\n\ndef test_b():\n    {_LATER}',
        f'@patch("eng.ops.Layer")\ndef test_a(x): ...\n\n\ndef test_b():\n    {_LATER}',
        f'def test_b():\n    patch("eng.ops.fused")\n    {_LATER}',
        f'def test_b():\n    patch("eng.ops.Layer.forward")\n    {_LATER}',
    ],
    ids=["in another test", "above another test", "another name", "another attribute"],
)
def test_what_is_replaced_elsewhere_makes_no_mock(text: str) -> None:
    assert missing(text) == ["ops.Layer.backward"]
