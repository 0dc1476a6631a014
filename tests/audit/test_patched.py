"""Patched names: what a test replaces must be there."""

from __future__ import annotations

import pytest

from backport.audit.checks.patched import MISSING
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
from eng.ops import Layer, Open


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
