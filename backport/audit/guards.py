"""What a condition or a `try` says about the statements under it."""

from __future__ import annotations

import ast

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
