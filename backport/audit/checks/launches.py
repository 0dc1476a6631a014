"""Triton kernels: launched without being one, called without a launch, tuned in vain."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from backport.audit import tolerance
from backport.audit.binding import arguments
from backport.audit.functions import Definition, decorator_term
from backport.audit.records import EITHER, POSITIONAL, Function
from backport.audit.scopes import Scope
from backport.audit.source import Site, Source
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import Term, dotted, value_term
from backport.audit.values import Sort, Value, present
from backport.core.outcomes import Finding

RULE = Rule(
    "kernel-launch",
    "a Triton kernel is launched without `@triton.jit`, called without a grid, or tuned by what it "
    "does not take or the launch gives",
    "compare the kernel's decorators on the target with those that the hunk expects",
)


def check(subject: Subject) -> Iterator[Finding]:
    """Launches, calls and autotuners in one file that cannot be meant."""
    source = subject.file.source
    for site in source.calls:
        if not site.guard & _QUIET and not source.is_excused(site.node):
            func = site.node.func
            if isinstance(func, ast.Subscript):
                yield from _launched(subject, site, func.value)
            else:
                yield from _called(subject, site)
    for node in source.nodes:
        if isinstance(node, Definition):
            yield from _tuned(source.path, node)


CHECK = Check(check, (RULE,))

_QUIET = tolerance.CALLS | tolerance.VERSION | tolerance.TYPING
_JIT, _TUNER = "triton.jit", "triton.autotune"
_KERNEL = frozenset({_JIT, _TUNER, "triton.heuristics"})
_OF_HOSTS = frozenset({"staticmethod", "classmethod", "property", "no_grad", "inference_mode"})
"""Decorators under which a function still runs on the host."""

_NAMING = {"key": 1, "reset_to_zero": 4, "restore_value": 5}
"""The options of an autotuner that list parameters of the kernel, with their places."""


def is_kernel(decorators: tuple[Term, ...]) -> bool:
    """True for a function that Triton compiles, tuned or not."""
    return _JIT in {dotted(term) for term in decorators} <= _KERNEL


def _launched(subject: Subject, site: Site[ast.Call], kernel: ast.expr) -> Iterator[Finding]:
    """A launch of a function without any decorator, or with what its autotuner gives too."""
    found = present(subject.file.type_of(kernel, site.scope))
    path = subject.file.source.path
    if found and all(_is_plain(subject, value) for value in found):
        name = found[0].name
        message = f"`{name}` is launched on a grid, and has no `@{_JIT}`"
        yield finding(path, site.node, RULE, message, name)
    elif len(found) == 1 and found[0].function is not None:
        taken = _given(site.node, found[0].function)
        for name in sorted(taken & _configured(subject, found[0])):
            message = f"`{found[0].name}` gets `{name}` from its autotuner and from the launch"
            yield finding(path, site.node, RULE, message, f"{found[0].name}({name})")


def _is_plain(subject: Subject, value: Value) -> bool:
    """True for a function that nothing replaces by something that can be launched."""
    function = value.function
    if value.sort is not Sort.FUNCTION or function is None or value.owner is not None:
        return False
    if function.decorators or subject.table.is_loose(function.name, in_tests=True):
        return False
    nodes = _nodes(subject, value.path)
    return not any(isinstance(n, ast.Global) and function.name in n.names for n in nodes)


def _nodes(subject: Subject, path: str) -> Iterator[ast.AST]:
    own = subject.file
    read = own if path == own.source.path else subject.read(path)
    return iter(read.source.nodes) if read is not None else iter(())


def _given(node: ast.Call, function: Function) -> set[str]:
    """The parameters that a launch passes."""
    given = arguments(node)
    places = [p.name for p in function.parameters if p.kind in (POSITIONAL, EITHER)]
    return {*given.keywords, *(() if given.star else places[: given.positional])}


def _configured(subject: Subject, value: Value) -> set[str]:
    """The parameters that every configuration of a kernel's autotuner sets."""
    if value.function is None or _TUNER not in {dotted(d) for d in value.function.decorators}:
        return set()
    for node in _nodes(subject, value.path):
        if isinstance(node, Definition) and node.lineno == value.line:
            tuners = (d for d in node.decorator_list if dotted(decorator_term(d)) == _TUNER)
            return set[str]().union(*(_set_by(tuner) for tuner in tuners))
    return set()


def _set_by(tuner: ast.expr) -> set[str]:
    configs = _option(tuner, "configs", 0)
    if isinstance(configs, ast.ListComp):
        return _set_in(configs.elt)
    found = [_set_in(config) for config in getattr(configs, "elts", ())]
    return found[0].intersection(*found) if found else set()


def _set_in(config: ast.expr) -> set[str]:
    """The parameters in the dict literal of `triton.Config({...}, ...)`."""
    first = config.args[0] if isinstance(config, ast.Call) and config.args else None
    keys = first.keys if isinstance(first, ast.Dict) else ()
    return {text for key in keys if isinstance(text := getattr(key, "value", None), str)}


def _option(call: ast.expr, name: str, place: int) -> ast.expr | None:
    if not isinstance(call, ast.Call):
        return None
    named = [k.value for k in call.keywords if k.arg == name]
    return next(iter([*named, *call.args[place : place + 1]]), None)


def _called(subject: Subject, site: Site[ast.Call]) -> Iterator[Finding]:
    """A call of a kernel by code that surely runs on the host."""
    found = present(subject.file.type_of(site.node.func, site.scope))
    functions = [value.function for value in found]
    if not found or not all(f is not None and is_kernel(f.decorators) for f in functions):
        return
    source, library = subject.file.source, site.scope.holder("triton")
    if library is not None and library.kind != "module":
        return  # what a test puts in its place
    if all(_on_host(source, scope) for scope in _around(site.scope)):
        name = found[0].name
        message = f"kernel `{name}` is called without a grid: `{name}[grid](...)`"
        yield finding(source.path, site.node, RULE, message, f"{name}()")


def _around(scope: Scope | None) -> Iterator[Scope]:
    while scope is not None:
        yield scope
        scope = scope.parent


def _on_host(source: Source, scope: Scope) -> bool:
    """True for a scope that nobody makes a kernel of: by a decorator, or by `jit(function)`."""
    node = scope.node
    if not isinstance(node, Definition | ast.ClassDef):
        return True
    last = {dotted(decorator_term(d)).rpartition(".")[2] for d in node.decorator_list}
    handed = (argument for site in source.calls for argument in _passed(site.node))
    return last <= _OF_HOSTS and node.name not in {dotted(value_term(a)) for a in handed}


def _passed(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _tuned(path: str, node: Definition) -> Iterator[Finding]:
    """What an autotuner asks of parameters that its kernel does not have."""
    if not is_kernel(tuple(decorator_term(d) for d in node.decorator_list)):
        return
    every = ast.walk(node.args)
    taken = {argument.arg for argument in every if isinstance(argument, ast.arg)}
    for decorator in node.decorator_list:
        if dotted(decorator_term(decorator)) != _TUNER:
            continue
        for option, place in _NAMING.items():
            listed = _option(decorator, option, place)
            texts = [getattr(part, "value", None) for part in getattr(listed, "elts", ())]
            for name in (t for t in texts if isinstance(t, str) and t not in taken):
                message = f"the autotuner's `{option}` names `{name}`, which `{node.name}` lacks"
                yield finding(path, decorator, RULE, message, f"{node.name}({name})")
