"""Calls that do not fit what they call: functions, methods, constructors, launches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
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
from backport.audit.checks import shifted, unpacking
from backport.audit.signatures import Parameters, Signatures
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted, value_term
from backport.audit.values import Sort, Value, present
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
_RULES = {MISSING: LACKS, UNEXPECTED: KEYWORD_UNKNOWN, TOO_MANY: EXCESS, REPEATED: TWICE}

Suits = Callable[[Parameters | None], bool]
"""Whether a call is right for a signature; true where that is not known."""

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
    yield from unpacking.check(subject)


CHECK = Check(check, (LACKS, KEYWORD_UNKNOWN, EXCESS, TWICE, shifted.SHIFTED, unpacking.UNPACKING))

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
    if not chosen:
        return

    def suits(taken: Parameters | None) -> bool:
        return taken is None or fits(taken, given)

    def is_in_order(taken: Parameters | None) -> bool:
        return shifted.is_in_order(node, taken)

    if any(_accepts(signatures, *callee, suits) for callee in chosen):
        wrong = not any(_accepts(signatures, *callee, is_in_order) for callee in chosen)
        if wrong and not _may_be_another_class(
            subject, signatures, site, node, chosen, is_in_order
        ):
            yield from shifted.check(subject, node, chosen)
    elif not _may_be_another_class(subject, signatures, site, node, chosen, suits):
        value, taken = chosen[0]
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


def _accepts(signatures: Signatures, value: Value, taken: Parameters | None, suits: Suits) -> bool:
    """True where a signature suits the call, or that of an override does."""
    if suits(taken):
        return True
    owner, function = value.owner, value.function
    if value.sort in (Sort.INSTANCE, Sort.SUPER):
        owner, name = value, "forward" if value.sort is Sort.INSTANCE else "__init__"
    elif owner is None or function is None:
        return False
    else:
        name = function.name
    return any(suits(other) for other in _overrides(signatures, owner, name))


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
    chosen: list[shifted.Callee],
    suits: Suits,
) -> bool:
    """`cls(...)` makes whatever class the method was called on."""
    value, func = chosen[0][0], node.func
    if value.sort is not Sort.CLASS or not isinstance(func, ast.Name):
        return False
    holder = site.scope.holder(func.id)
    if holder is None or holder.kind != "function":
        return False
    children = subject.resolver.classes.descendants(value)
    return any(suits(signatures.constructor(child)) for child in children)


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
