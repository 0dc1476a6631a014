"""Custom ops: fakes that differ, calls that do not fit, ops that nobody or two register."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from backport.audit import tolerance
from backport.audit.binding import MISSING, REPEATED, TOO_MANY, UNEXPECTED, arguments, fits, misfits
from backport.audit.checks import shifted
from backport.audit.operators import Operator, Operators, Parameters
from backport.audit.paths import is_test
from backport.audit.records import CONDITIONAL, FALLIBLE, KEYWORD, Function, Registration
from backport.audit.registrations import HELPERS
from backport.audit.resolve import Resolver
from backport.audit.returned import declared, observed
from backport.audit.schemas import returned as schema_returned
from backport.audit.source import Site
from backport.audit.subject import Check, Rule, Subject, finding, finding_at
from backport.audit.table import Table
from backport.audit.terms import dotted
from backport.audit.values import Sort
from backport.core.outcomes import Finding

DIFFERS = Rule(
    "fake-differs",
    "the fake of a custom op takes other arguments or returns other values than the implementation",
    "change the fake with the implementation: nothing fails until the op is traced",
)
ARGUMENTS = Rule(
    "op-arguments",
    "a custom op is called with arguments that it does not take, or without some that it needs",
    "carry the change of the op's signature, or call it as the target defines it",
)
UNREGISTERED = Rule(
    "unregistered-op",
    "a custom op is used that no registration in the tree defines",
    "carry the registration (or the binding), or test for the op before it is used",
)
MUTATES = Rule(
    "op-mutates",
    "a custom op is said to write to a parameter that its implementation does not have",
    "name the parameters as the implementation does: registering the op fails",
)
TWICE = Rule(
    "op-registered-twice",
    "two modules register a custom op of the same name, which fails when both are imported",
    "drop one registration: the target has the op already",
)


def check_fakes(subject: Subject) -> Iterator[Finding]:
    """Fakes that differ from what they stand for, and ops that are registered twice."""
    operators = Operators(subject.resolver)
    for real, fake in operators.fakes():
        for said in (_difference(real, fake), _returns_otherwise(subject, real, fake)):
            if said is not None:
                yield _at(fake.path, fake.registration, DIFFERS, *said)
    yield from _mutating(operators)
    yield from _twice(operators)


def check_calls(subject: Subject) -> Iterator[Finding]:
    """Uses of custom ops in one file that the tree's registrations do not allow."""
    operators = Operators(subject.resolver)
    source = subject.file.source
    record = subject.table.record(source.path)
    probed = frozenset(record.dynamic if record is not None else ())
    called = {site.node.func: site for site in source.calls}
    if not any(site.node.attr == "ops" for site in source.attributes):
        return
    for site in source.attributes:
        library, op = _operator(subject, site)
        if not op or site.guard & _QUIET or op in probed:
            continue
        found = operators.find(library, op)
        if not found:
            ours = operators.owns(library) or _was_ours(subject, library, op)
            if ours and not _known_elsewhere(subject, operators, library, op):
                message = f"`torch.ops.{library}.{op}` is registered nowhere in the tree"
                warns = subject.before is None and operators.is_completed_elsewhere(library)
                yield finding(
                    source.path, site.node, UNREGISTERED, message, f"{library}::{op}", warns=warns
                )
            continue
        call = called.get(site.node) or _overload_call(called, site.node)
        if call is not None and not source.is_excused(call.node):
            yield from _call(subject, call.node, library, op, found)


FAKES = Check(check_fakes, (DIFFERS, MUTATES, TWICE), per_file=False)
CALLS = Check(check_calls, (ARGUMENTS, UNREGISTERED, shifted.SHIFTED))

_QUIET = tolerance.ATTRIBUTES | tolerance.VERSION | tolerance.TYPING
_PREFIX = "torch.ops."


def _known_elsewhere(subject: Subject, operators: Operators, library: str, op: str) -> bool:
    """True where files that the stack leaves alone use the op too, and the pristine tree does
    not register it either: something outside the tree does."""
    others = set(operators.users(library, op)) - subject.touched - {subject.file.source.path}
    before = subject.before
    return bool(others) and (before is None or not _registers(before, op))


def _was_ours(subject: Subject, library: str, op: str) -> bool:
    """True where the pristine tree defines the op in a library of its own: the stack may have
    removed the last binding of the library with it."""
    if subject.before is None:
        return False
    operators = Operators(Resolver(subject.before))
    return operators.owns(library) and bool(operators.find(library, op))


def _registers(table: Table, op: str) -> bool:
    return any(registration.op.partition(".")[0] == op for _, registration in table.registrations())


def _difference(real: Operator, fake: Operator) -> tuple[str, str] | None:
    """What the fake does otherwise: the message, and the parameters that tell the findings
    of one op apart. The order and number must agree, and so must names where the
    signature is written in Python on both sides."""
    ours, theirs = real.parameters or (), fake.parameters or ()
    op = real.registration.op
    lacking = [p.name for p in ours if p.name not in {q.name for q in theirs}]
    extra = [q.name for q in theirs if q.name not in {p.name for p in ours}]
    if any(q.kind in (2, 4) for q in theirs) or any(p.kind in (2, 4) for p in ours):
        return None
    native = real.registration.schema is not None
    if len(ours) == len(theirs) and native and lacking:
        return None  # the names of a schema are its author's; the places count
    if len(lacking) == len(extra) and lacking:
        names = ", ".join(f"`{a}` is `{b}`" for a, b in zip(lacking, extra, strict=True))
        return f"custom op `{op}`: in the fake {names}", f"{op}({','.join(lacking)})"
    if lacking or extra:
        return _counted(op, ours, theirs, lacking, extra)
    return _order_and_defaults(op, ours, theirs, native)


def _counted(
    op: str, ours: Parameters, theirs: Parameters, lacking: list[str], extra: list[str]
) -> tuple[str, str]:
    parts = [f"{', '.join(f'`{n}`' for n in lacking)} missing in the fake"] if lacking else []
    parts += [f"{', '.join(f'`{n}`' for n in extra)} only in the fake"] if extra else []
    counts = f"the implementation takes {len(ours)}, the fake {len(theirs)}"
    symbol = f"{op}({','.join(lacking + extra)})"
    return f"custom op `{op}`: {counts} ({'; '.join(parts)})", symbol


def _order_and_defaults(
    op: str, ours: Parameters, theirs: Parameters, native: bool
) -> tuple[str, str] | None:
    placed = [p.name for p in ours if p.kind != KEYWORD]
    other = [q.name for q in theirs if q.kind != KEYWORD]
    if placed != other:
        return f"custom op `{op}`: the fake takes its arguments in another order", f"{op}(order)"
    defaults = {q.name: q.default for q in theirs}
    for p in () if native else ours:
        if p.default != defaults.get(p.name):
            message = f"custom op `{op}`: the default of `{p.name}` differs in the fake"
            return message, f"{op}({p.name}=)"
    return None


def _returns_otherwise(subject: Subject, real: Operator, fake: Operator) -> tuple[str, str] | None:
    """Another number of values that the fake returns, where both are sure. The body of the
    fake counts, which is read where the signatures do not agree."""
    wanted, function = _number(real), fake.function
    if wanted is None or function is None or not _is_plain(function):
        return None
    if wanted == (function.arity or declared(function)):
        return None
    node = subject.definition(fake.value)
    given = observed(function, node) if node is not None else None
    if given is None or given == wanted:
        return None
    op = real.registration.op
    shown = [f"{n} value{'s' * (n != 1)}" if n else "nothing" for n in (wanted, given)]
    message = f"custom op `{op}`: the implementation returns {shown[0]}, the fake {shown[1]}"
    return message, f"{op}(returns)"


def _number(real: Operator) -> int | None:
    """How many values an op returns: its schema says it, or the annotation that torch makes
    the schema of."""
    if real.registration.schema is not None:
        return schema_returned(real.registration.schema)
    function = real.function
    if function is None or not _is_plain(function):
        return None
    return declared(function) if function.returns is not None else function.arity or None


def _is_plain(function: Function) -> bool:
    """True where the function returns what its body does."""
    last = {dotted(term).rpartition(".")[2] for term in function.decorators}
    return last <= HELPERS and not function.asynchronous


def _mutating(operators: Operators) -> Iterator[Finding]:
    """Registrations that torch refuses, since it looks for what the op writes to in the
    signature of the implementation."""
    for path, registration in operators.definitions():
        made = operators.implementation(path, registration) if registration.mutates else None
        function = made.function if made is not None else None
        if function is None or not _is_plain(function):
            continue
        taken = {p.name for p in function.parameters}
        for name in sorted(set(registration.mutates) - taken):
            op = registration.op
            message = f"custom op `{op}`: `{function.name}` has no `{name}` to write to"
            yield _at(path, registration, MUTATES, message, f"{op}({name})")


def _twice(operators: Operators) -> Iterator[Finding]:
    """Definitions of one name that both run: neither stands under a condition."""
    first: dict[tuple[str | None, str], str] = {}
    for path, registration in sorted(operators.definitions(), key=lambda d: (d[0], d[1].line)):
        guarded = registration.guard & (CONDITIONAL | FALLIBLE)
        if guarded or is_test(path) or not _is_definition(registration):
            continue
        key = (registration.library, registration.op)
        if key in first:
            op = registration.op
            message = f"custom op `{op}` is registered in `{first[key]}` and in `{path}`"
            yield _at(path, registration, TWICE, message, op)
        else:
            first[key] = path


def _is_definition(registration: Registration) -> bool:
    """Anything may be called `define`; only what carries a schema or a function defines an op."""
    return bool(registration.op) and (
        registration.schema is not None or registration.implementation is not None
    )


def _operator(subject: Subject, site: Site[ast.Attribute]) -> tuple[str, str]:
    """Library and name of the op that an attribute means; empty for anything else."""
    for value in subject.file.type_of(site.node, site.scope):
        if value.sort is Sort.EXTERNAL and value.name.startswith(_PREFIX):
            parts = value.name[len(_PREFIX) :].split(".")
            if len(parts) == 2:
                return parts[0], parts[1]
    return "", ""


def _overload_call(called: dict[ast.expr, Site[Any]], node: ast.Attribute) -> Site[Any] | None:
    """The call of `op.default(...)`, given `op`."""
    for func, site in called.items():
        if isinstance(func, ast.Attribute) and func.value is node:
            return site if func.attr == "default" else None
    return None


def _call(
    subject: Subject, node: ast.Call, library: str, op: str, found: list[Operator]
) -> Iterator[Finding]:
    given = arguments(node)
    signatures = [operator.parameters for operator in found]
    if any(taken is None or fits(taken, given) for taken in signatures):
        before = _before(subject, library, op)
        yield from shifted.told(subject, node, f"{library}::{op}", signatures, before)
        return
    for misfit in misfits(signatures[0] or (), given):
        shown = {
            MISSING: f"is called without `{misfit.name}`",
            UNEXPECTED: f"does not take `{misfit.name}`",
            TOO_MANY: "is called with too many positional arguments",
            REPEATED: f"gets `{misfit.name}` by place and by keyword",
        }[misfit.kind]
        message = f"custom op `{library}::{op}` {shown}"
        symbol = f"{library}::{op}({misfit.name})"
        yield finding(subject.file.source.path, node, ARGUMENTS, message, symbol)


def _before(subject: Subject, library: str, op: str) -> Iterator[Parameters | None]:
    """The signatures of the op in the pristine tree."""
    if subject.before is not None:
        found = Operators(Resolver(subject.before)).find(library, op)
        yield from (operator.parameters for operator in found)


def _at(path: str, registration: Registration, rule: Rule, message: str, symbol: str) -> Finding:
    return finding_at(path, registration.line, rule, message, symbol)
