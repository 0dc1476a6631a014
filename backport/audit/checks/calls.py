"""Calls that do not fit what they call: functions, methods, constructors, launches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from backport.audit import tolerance
from backport.audit.binding import (
    MISSING,
    REPEATED,
    TOO_MANY,
    UNEXPECTED,
    Arguments,
    Misfit,
    arguments,
    fits,
    misfits,
)
from backport.audit.signatures import Parameters, Signatures
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Type, Value, present
from backport.core.outcomes import Finding

LACKS = Rule(
    "missing-argument",
    "a call leaves out an argument that what it calls requires",
    "pass the argument that the target asks for, or carry the change that drops it",
)
KEYWORD_UNKNOWN = Rule(
    "unexpected-keyword",
    "a call passes a keyword that what it calls does not take",
    "carry the change that adds the parameter, or leave the argument out",
)
EXCESS = Rule(
    "too-many-arguments",
    "a call passes more positional arguments than what it calls takes",
    "carry the change that adds the parameter, or leave the argument out",
)
TWICE = Rule(
    "repeated-argument",
    "a call passes one parameter by place and by keyword",
    "compare the order of the parameters on the target with the one that the hunk expects",
)
UNPACKING = Rule(
    "unpack-mismatch",
    "a result is unpacked into more or fewer names than the function returns",
    "carry the change of what the function returns, or unpack what the target returns",
)

_RULES = {MISSING: LACKS, UNEXPECTED: KEYWORD_UNKNOWN, TOO_MANY: EXCESS, REPEATED: TWICE}

_PARTIAL = "functools.partial"

_LAUNCH_OPTIONS = frozenset(
    {
        "num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "kpack", "debug",
        "matrix_instr_nonkdim", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl",
        "schedule_hint", "allow_flush_denorm", "max_num_imprecise_acc_default", "warmup",
        "cluster_dims", "instruction_sched_variant", "sanitize_overflow", "grf_mode",
        "instrumentation_mode", "num_consumer_groups", "num_buffers_warp_spec", "extern_libs",
        "minRegAutoWS", "maxRegAutoWS", "ir_override", "pre_hook", "profile_scratch_size",
        "enable_reflect_ftz",
    }
)  # fmt: skip
"""What a launch takes beside the parameters of the kernel, over the compiler's back ends."""


def check(subject: Subject) -> Iterator[Finding]:
    """Calls in one file that cannot be bound, and results that cannot be unpacked."""
    source = subject.file.source
    signatures = Signatures(subject.resolver)
    for site in source.calls:
        if site.guard & _QUIET or source.is_excused(site.node):
            continue
        yield from _call(subject, signatures, site, site.node)
    for unpacking in source.unpackings:
        if not source.is_excused(unpacking.node):
            yield from _unpacking(subject, unpacking, unpacking.node)


CHECK = Check(check, (LACKS, KEYWORD_UNKNOWN, EXCESS, TWICE, UNPACKING))

_QUIET = tolerance.CALLS | tolerance.VERSION | tolerance.TYPING


def _call(
    subject: Subject, signatures: Signatures, site: Site[Any], node: ast.Call
) -> Iterator[Finding]:
    if isinstance(node.func, ast.Subscript):
        kernels = present(subject.file.type_of(node.func.value, site.scope))
        chosen = [(value, signatures.kernel(value)) for value in kernels]
        given = _launched(arguments(node), chosen)
    else:
        node, later = _meant(subject, site, node)
        if site.scope.is_narrowed(_receiver(node)):
            return
        chosen = _callees(subject, signatures, site, node)
        given = arguments(node)._replace(double_star=later) if later else arguments(node)
    if not chosen or any(_accepts(signatures, value, taken, given) for value, taken in chosen):
        return
    value, taken = chosen[0]
    if _may_be_another_class(subject, signatures, site, node, value, given):
        return
    for misfit in misfits(taken or (), given):
        yield _report(subject, node, value, misfit)


def _meant(subject: Subject, site: Site[Any], node: ast.Call) -> tuple[ast.Call, bool]:
    """The call that `functools.partial` puts off, of which more arguments may come later;
    else the call itself."""
    if not node.args or isinstance(node.args[0], ast.Starred):
        return node, False
    made = subject.file.type_of(node.func, site.scope)
    if [value.name for value in made] != [_PARTIAL]:
        return node, False
    call = ast.Call(node.args[0], node.args[1:], node.keywords)
    return ast.copy_location(call, node), True


def _callees(
    subject: Subject, signatures: Signatures, site: Site[Any], node: ast.Call
) -> list[tuple[Value, Parameters | None]]:
    """What a call may call, with what each of them takes."""
    func = node.func
    if isinstance(func, ast.Attribute) and func.attr == "__init__":
        bases = subject.file.type_of(func.value, site.scope)
        if any(value.sort is Sort.SUPER for value in bases):
            return [(value, signatures.initializer(value)) for value in bases]
    found = present(subject.file.type_of(func, site.scope))
    return [(value, signatures.of(value)) for value in found]


def _accepts(
    signatures: Signatures, value: Value, taken: Parameters | None, given: Arguments
) -> bool:
    """True where the call fits, or fits an override, or nobody can tell."""
    if taken is None or fits(taken, given):
        return True
    owner, function = value.owner, value.function
    if value.sort in (Sort.INSTANCE, Sort.SUPER):
        owner, name = value, "forward" if value.sort is Sort.INSTANCE else "__init__"
    elif owner is None or function is None:
        return False
    else:
        name = function.name
    return any(other is None or fits(other, given) for other in _overrides(signatures, owner, name))


def _overrides(signatures: Signatures, owner: Value, name: str) -> Iterator[Parameters | None]:
    """What the descendants' own versions of a method take."""
    classes = signatures.resolver.classes
    for child in classes.descendants(owner):
        if owner.sort is Sort.SUPER:
            yield from _next_in_line(signatures, owner, child, name)
        elif name in child.record.members:
            method = classes.method(child.as_instance(), name)
            yield signatures.of(method) if method is not None else None


def _next_in_line(
    signatures: Signatures, owner: Value, child: Value, name: str
) -> Iterator[Parameters | None]:
    """What `super()` means in a class of several bases: whatever follows in their order."""
    chain = signatures.resolver.classes.chain(child).classes
    place = chain.index(owner.as_class())
    for cls in chain[place + 1 :]:
        if name in cls.record.members:
            if cls not in signatures.resolver.classes.chain(owner).classes:
                yield None
            return


def _may_be_another_class(
    subject: Subject,
    signatures: Signatures,
    site: Site[Any],
    node: ast.Call,
    value: Value,
    given: Arguments,
) -> bool:
    """`cls(...)` makes whatever class the method was called on."""
    if value.sort is not Sort.CLASS or not isinstance(node.func, ast.Name):
        return False
    holder = site.scope.holder(node.func.id)
    if holder is None or holder.kind != "function":
        return False
    children = subject.resolver.classes.descendants(value)
    taken = (signatures.constructor(child) for child in children)
    return any(parameters is None or fits(parameters, given) for parameters in taken)


def _launched(given: Arguments, chosen: list[tuple[Value, Parameters | None]]) -> Arguments:
    """What a launch passes to the kernel itself."""
    named = {p.name for _, parameters in chosen for p in parameters or ()}
    options = _LAUNCH_OPTIONS - named
    return given._replace(keywords=tuple(k for k in given.keywords if k not in options))


def _receiver(node: ast.Call) -> str:
    return dotted(value_term(node.func.value)) if isinstance(node.func, ast.Attribute) else ""


def _report(subject: Subject, node: ast.Call, value: Value, misfit: Misfit) -> Finding:
    name = value.name.removesuffix(".__init__")
    if value.sort is Sort.SUPER:
        name = f"{name}.super().__init__"
    shown = {
        MISSING: f"`{name}` is called without `{misfit.name}`",
        UNEXPECTED: f"`{name}` does not take `{misfit.name}`",
        TOO_MANY: f"`{name}` is called with too many positional arguments",
        REPEATED: f"`{name}` gets `{misfit.name}` by place and by keyword",
    }[misfit.kind]
    symbol = f"{name}({misfit.name})"
    return finding(subject.file.source.path, node, _RULES[misfit.kind], shown, symbol)


def _unpacking(subject: Subject, site: Site[Any], node: ast.Assign) -> Iterator[Finding]:
    target, call = node.targets[0], node.value
    if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
        return
    if any(isinstance(element, ast.Starred) for element in target.elts):
        return
    found: Type = present(subject.file.type_of(call.func, site.scope))
    arities = {_arity(subject, value) for value in found}
    if not arities or 0 in arities or len(target.elts) in arities:
        return
    name, count = found[0].name, arities.pop()
    message = f"`{name}` returns {count} values, {len(target.elts)} are unpacked"
    yield finding(subject.file.source.path, node, UNPACKING, message, name)


_RETURNING = frozenset(
    {"staticmethod", "classmethod", "jit", "no_grad", "inference_mode", "cache", "lru_cache"}
)
"""Decorators after which a function returns what it returned before."""


def _arity(subject: Subject, value: Value) -> int:
    """How many values a function is sure to return, 0 where that is open."""
    function, owner = value.function, value.owner
    if function is None or function.asynchronous:
        return 0
    plain = all(dotted(d).rpartition(".")[2] in _RETURNING for d in function.decorators)
    if not plain or (owner is not None and _overridden(subject, owner, function.name)):
        return 0
    return function.arity


def _overridden(subject: Subject, owner: Value, name: str) -> bool:
    children = subject.resolver.classes.descendants(owner)
    return any(name in child.record.members for child in children)
