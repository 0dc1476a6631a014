"""What a condition, a `try` or a future import says about the statements under it."""

from __future__ import annotations

import ast
import sys

_LAZY_BY_DEFAULT = (3, 14)
_FAILURES = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "NameError", "Exception"}
    | {"BaseException", "RuntimeError", "OSError", "TypeError", "KeyError"}
)


def is_typing_test(test: ast.expr) -> bool:
    """`TYPE_CHECKING` or `typing.TYPE_CHECKING`."""
    return getattr(test, "id", None) == "TYPE_CHECKING" or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def caught(node: ast.Try | ast.TryStar) -> frozenset[str]:
    """The names of the exceptions that a `try` expects; a bare `except` expects all.

    A handler that raises in the end only words the failure anew.
    """
    found: set[str] = set()
    for handler in node.handlers:
        if isinstance(handler.body[-1], ast.Raise):
            continue
        if handler.type is None:
            return frozenset({"BaseException"})
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        found.update(str(getattr(k, "attr", "") or getattr(k, "id", "")) for k in kinds)
    return frozenset(found)


def expects_failure(node: ast.Try | ast.TryStar) -> bool:
    """True where the body of a `try` may fail to bind its names, on purpose."""
    return bool(caught(node) & _FAILURES)


def mentions_version(test: ast.expr) -> bool:
    """A test of `sys.version_info` or of a platform: its branches are for others."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in ("version_info", "platform")
        for node in ast.walk(test)
    )


def annotations_are_lazy(tree: ast.Module) -> bool:
    """True where annotations are not evaluated: by a future import, or by the Python at hand."""
    if sys.version_info >= _LAZY_BY_DEFAULT:
        return True
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    futures = (node for node in imports if node.module == "__future__")
    return any(alias.name == "annotations" for node in futures for alias in node.names)
