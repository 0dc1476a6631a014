"""What a piece of code stands under, so that a check may leave it alone."""

from __future__ import annotations

import ast

from backport.audit.guards import caught
from backport.audit.terms import dotted, value_term

TYPING = 1  # `if TYPE_CHECKING`
IMPORTS = 2  # the import is expected to fail
ATTRIBUTES = 4  # an AttributeError is expected
CALLS = 8  # a TypeError is expected
NAMES = 16  # a NameError is expected
VERSION = 32  # a test of the Python version or the platform
LAZY = 64  # an annotation that is not evaluated

_EXPECTED = {
    "ImportError": IMPORTS,
    "ModuleNotFoundError": IMPORTS,
    "AttributeError": ATTRIBUTES,
    "FrozenInstanceError": ATTRIBUTES,
    "TypeError": CALLS,
    "NameError": NAMES,
}
_ANY = frozenset({"Exception", "BaseException", "RuntimeError"})
_PROBE = 4
"""A `try` of so few statements under `except Exception` is a probe for an import."""

_RAISES = frozenset({"raises", "suppress", "assertRaises", "assertRaisesRegex"})


def of_try(node: ast.Try | ast.TryStar) -> int:
    """The failures that a `try` expects of its body."""
    names = caught(node)
    guard = _failures(names)
    return guard | (IMPORTS if names & _ANY and len(node.body) <= _PROBE else 0)


def of_context(node: ast.expr) -> int:
    """The failures that a `with` expects, as `pytest.raises` and `suppress` do."""
    if not isinstance(node, ast.Call):
        return 0
    if dotted(value_term(node.func)).rpartition(".")[2] not in _RAISES:
        return 0
    kinds = [e for arg in node.args for e in getattr(arg, "elts", [arg])]
    names = frozenset(dotted(value_term(kind)).rpartition(".")[2] for kind in kinds)
    return _failures(names) | (IMPORTS | ATTRIBUTES | CALLS if names & _ANY else 0)


def _failures(names: frozenset[str]) -> int:
    guard = 0
    for name in names:
        guard |= _EXPECTED.get(name, 0)
    return guard
