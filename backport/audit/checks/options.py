"""Options that one parser gets twice: `argparse` refuses the second when the program starts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from backport.audit.bodies import targets
from backport.audit.functions import Definition, signature
from backport.audit.returned import own_nodes
from backport.audit.subject import Check, Rule, Subject, finding
from backport.core.outcomes import Finding

TWICE = Rule(
    "duplicate-option",
    "a parser gets an option of one name twice, which `argparse` refuses at the start",
    "keep one: the target has the option already, perhaps at another place",
)

_OF_ARGPARSE = frozenset({"help", "type", "action", "default", "choices", "nargs", "dest", "const"})
"""Keywords by which a call of `add_argument` is one of `argparse`."""

_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
_HANDLER = "conflict_handler"

Branch = tuple[tuple[ast.stmt, int], ...]
"""The conditions and loops around a statement, each with the number of its block."""


class Added(NamedTuple):
    """A call that adds options, and the branch of the function that it stands in."""

    call: ast.Call
    branch: Branch


def check(subject: Subject) -> Iterator[Finding]:
    """Options of one file that are added twice in one run of a function or of the module."""
    source = subject.file.source
    if not any(_adds(site.node) for site in source.calls):
        return
    handled = subject.table.says(_HANDLER)
    for node in source.nodes:
        if not isinstance(node, Definition | ast.Module):
            continue
        where = getattr(node, "name", "the module")
        for call, option in _twice(node, handled):
            parser = ast.unparse(call.func.value)  # type: ignore[attr-defined]
            message = f"`{option}` is added to the parser of `{parser}` a second time"
            yield finding(source.path, call, TWICE, message, f"{where}({option})")


CHECK = Check(check, (TWICE,))


def _twice(node: Definition | ast.Module, handled: bool) -> Iterator[tuple[ast.Call, str]]:
    """The calls in a function's own body that add an option again, with the option."""
    known: dict[tuple[str, str], list[Branch]] = {}
    bound = _bound(node)
    for call, branch in _added(node.body, ()):
        parser = _parser(ast.unparse(call.func.value), bound, handled)  # type: ignore[attr-defined]
        for option in _options(call) if parser else ():
            earlier = known.setdefault((parser, option), [])
            if any(_both_run(first, branch) for first in earlier):
                yield call, option
            earlier.append(branch)


def _added(body: Iterable[ast.stmt], branch: Branch) -> Iterator[Added]:
    """The calls that add options, in order; not those in a `try` or `with`, which may expect
    that they fail."""
    for node in body:
        if isinstance(node, ast.If | ast.For | ast.While):
            for number, block in enumerate((node.body, node.orelse)):
                yield from _added(block, (*branch, (node, number)))
        elif isinstance(node, ast.Match):
            for number, case in enumerate(node.cases):
                yield from _added(case.body, (*branch, (node, number)))
        elif isinstance(node, ast.Expr | ast.Assign) and _adds(node.value):
            yield Added(node.value, branch)  # type: ignore[arg-type]


def _adds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument"


def _options(call: ast.Call) -> list[str]:
    """The names of the options that a call of `argparse` adds."""
    if not _OF_ARGPARSE & {keyword.arg for keyword in call.keywords}:
        return []
    texts = (getattr(argument, "value", None) for argument in call.args)
    return [text for text in texts if isinstance(text, str) and text.startswith("-")]


def _bound(node: Definition | ast.Module) -> dict[str, list[ast.expr | None]]:
    """What a function's own body assigns, by the text of the target."""
    found: dict[str, list[ast.expr | None]] = {}
    for part in own_nodes(node):
        value = getattr(part, "value", None) if isinstance(part, ast.Assign) else None
        for target in (*getattr(part, "targets", ()), *targets(part)):
            for each in getattr(target, "elts", [target]):
                found.setdefault(ast.unparse(each), []).append(value if each is target else None)
    parameters = signature(node) if isinstance(node, Definition) else ()
    for name in (p.name for p in parameters if p.name in found):
        found[name].append(None)
    return found


def _parser(text: str, bound: dict[str, list[ast.expr | None]], handled: bool) -> str:
    """The text that stands for the parser itself, behind its groups; empty where it may be
    several, or may take an option twice."""
    values = bound.get(text, [])
    if not values:
        return "" if handled else text
    made = values[0]
    if len(values) > 1 or not isinstance(made, ast.Call):
        return ""
    if any(keyword.arg in (_HANDLER, None) for keyword in made.keywords):
        return ""
    if isinstance(made.func, ast.Attribute) and made.func.attr in _GROUPS:
        return _parser(ast.unparse(made.func.value), bound, handled)
    return text


def _both_run(first: Branch, second: Branch) -> bool:
    """True where whatever runs the deeper of two statements runs the other one as well."""
    shared = min(len(first), len(second))
    if first[:shared] != second[:shared]:
        return False
    leaving = (ast.Return, ast.Raise, ast.Continue, ast.Break)
    deeper = (part for node, _ in first[shared:] for part in ast.walk(node))
    return not any(isinstance(part, leaving) for part in deeper)
