"""Removed definitions: nobody knows the object's class, but nothing gives the name any more."""

from __future__ import annotations

from tests.audit.builders import said

BASE = {
    "a.py": (
        "class A:\n    def prepare_update(self):\n        return 1\n\n"
        "    def run(self):\n        return 2\n"
    ),
    "b.py": "import a\n\n\ndef f(impl):\n    return impl.prepare_update()\n",
}


def test_a_method_that_the_stack_removes() -> None:
    change = {"a.py": "class A:\n    def run(self):\n        return 2\n"}
    assert said(BASE, change) == ["b.py:5 removed-definition prepare_update"]


def test_a_method_that_another_class_still_has() -> None:
    base = BASE | {"c.py": "class C:\n    def prepare_update(self):\n        return 1\n"}
    change = {"a.py": "class A:\n    def run(self):\n        return 2\n"}
    assert said(base, change) == []


def test_a_method_that_moves_to_another_file() -> None:
    change = {
        "a.py": "class A:\n    def run(self):\n        return 2\n",
        "c.py": "class C:\n    def prepare_update(self):\n        return 1\n",
    }
    assert said(BASE, change) == []


def test_names_that_every_object_may_have() -> None:
    base = {
        "a.py": "class A:\n    def items(self):\n        return 1\n",
        "b.py": "def f(x):\n    return x.items()\n",
    }
    assert said(base, {"a.py": "class A:\n    pass\n"}) == []


def test_a_reader_that_expects_it_to_be_missing() -> None:
    base = BASE | {
        "b.py": "def f(impl):\n    try:\n        return impl.prepare_update()\n"
        "    except AttributeError:\n        return None\n"
    }
    assert said(base, {"a.py": "class A:\n    def run(self):\n        return 2\n"}) == []
