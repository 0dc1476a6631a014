"""Kinds of faults in custom ops."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.audit.mutants.files import (
    File,
    Found,
    add_keyword,
    is_loaded,
    is_plain,
    name_of,
    removed,
    rename_end,
)


def fake_parameter(file: File) -> Found:
    """An implementation that gains a parameter, without its fake."""
    named = set()
    for call in file.calls:
        given = {keyword.arg: name_of(keyword.value) for keyword in call.keywords}
        if given.get("op_func") and given.get("fake_impl"):
            named.add(given["op_func"])
    for name in sorted(named & file.functions.keys()):
        args = file.functions[name].args
        if args.args and not args.kwonlyargs:
            last = args.defaults[-1] if args.defaults else args.args[-1]
            end = file.span(last)[1]
            yield last.lineno, file.replaced(end, end, ", positions_gone: int = 0")


def _operators(file: File) -> Iterator[ast.Attribute]:
    for node in file.nodes:
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if re.fullmatch(r"torch\.ops\.vllm\.\w+", text):
            yield node  # type: ignore[misc]


def operator_name(file: File) -> Found:
    yield from (rename_end(file, node) for node in _operators(file))


def operator_keyword(file: File) -> Found:
    for node in _operators(file):
        if file.is_called(node):
            yield add_keyword(file, file.parents[node])  # type: ignore[arg-type]


def registration_dropped(file: File) -> Found:
    for node in file.nodes:
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or name_of(call.func) != "direct_register_custom_op":
            continue
        op = {keyword.arg: keyword.value for keyword in call.keywords}.get("op_name")
        body = getattr(file.parents.get(node), "body", ())
        if len(body) > 1 and f"torch.ops.vllm.{getattr(op, 'value', '')}(" in file.text:
            yield removed(file, node)  # type: ignore[arg-type]


def _fakes(file: File) -> list[ast.FunctionDef]:
    """The fakes of ops whose implementation stands in the file too."""
    found = []
    for call in file.calls:
        given = {keyword.arg: name_of(keyword.value) for keyword in call.keywords}
        both = [file.functions.get(given.get(key, "")) for key in ("op_func", "fake_impl")]
        found += [both[1]] if both[0] is not None and both[1] is not None else []
    return found


def fake_order(file: File) -> Found:
    """A fake that takes its first two arguments in another order."""
    for node in _fakes(file):
        args = node.args.args
        if len(args) > 1 and len(args) - len(node.args.defaults) > 1:
            first, second = file.span(args[0]), file.span(args[1])
            data = file.text.encode()
            one, other = data[slice(*first)].decode(), data[slice(*second)].decode()
            between = data[first[1] : second[0]].decode()
            yield node.lineno, file.replaced(first[0], second[1], f"{other}{between}{one}")


def fake_lacks(file: File) -> Found:
    """A fake without the last parameter of its implementation."""
    for node in _fakes(file):
        args = node.args
        if len(args.args) > 1 and not args.kwonlyargs and not args.vararg:
            end = file.span(args.defaults[-1])[1] if args.defaults else file.span(args.args[-1])[1]
            begin = file.span(args.args[-2])[1]
            if len(args.defaults) > 1:
                begin = file.span(args.defaults[-2])[1]
            yield node.lineno, file.replaced(begin, end, "")


def operator_argument(file: File) -> Found:
    """A required first argument of an op left out."""
    for node in _operators(file):
        call = file.parents[node]
        if isinstance(call, ast.Call) and call.func is node and is_plain(call) and call.args:
            begin = file.span(call.args[0])[0]
            end = file.span(call.args[1])[0] if len(call.args) > 1 else file.span(call.args[0])[1]
            if len(call.args) > 1 or not call.keywords:
                yield call.lineno, file.replaced(begin, end, "")


def constexpr_unwrapped(file: File) -> Found:
    """A constant of kernels that is a plain number now."""
    functions = file.functions.values() if "= tl.constexpr(" in file.text else ()
    kernels = [n for n in functions if "triton.jit" in map(ast.unparse, n.decorator_list)]
    read = {name_of(n) for kernel in kernels for n in ast.walk(kernel) if is_loaded(n)}
    for node in file.tree.body if kernels else ():
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(call, ast.Call):
            continue
        wraps = ast.unparse(call.func) == "tl.constexpr" and isinstance(call.args[0], ast.Constant)
        if wraps and name_of(node.targets[0]) in read:
            begin, end = file.span(call)
            yield node.lineno, file.replaced(begin, end, ast.unparse(call.args[0]))
