"""Single faults over real files: each compiles, and each breaks something at run time.

A kind of mutant finds its places by syntax alone, without the resolution under test: a
function imported by name from the project and called by that name, a method of the
class the call stands in, a child built in `__init__`. Among them a seeded choice is made,
of files first and then of places; nothing is chosen for being caught.

    python -m tests.audit.mutants 0.28.0 0.33.0
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from backport.audit import Auditor
from backport.core.outcomes import Status
from backport.core.trees import REGULAR, Entry, Tree
from tests.audit.mutants import calls, names, objects, operators
from tests.audit.mutants.files import Kind, Project

FOLDERS = (
    "vllm/model_executor/layers/",
    "vllm/model_executor/models/",
    "vllm/models/",
    "vllm/v1/",
    "vllm/_aiter_ops.py",
    "vllm/envs.py",
    "vllm/platforms/",
    "vllm/config/",
    "vllm/distributed/",
    "vllm/compilation/",
    "tests/",
)
RARE = {"flag entry": "vllm/envs.py", "registry entry": "registry.py"}
"""Kinds that only files of this name can have."""

_IN_TESTS = (
    "option twice",
    "missing fixture",
    "fixture beside",
    "patched path",
    "patched attribute",
)
_KINDS: tuple[Kind, ...] = (
    *(names.undefined_name, names.removed_constant, names.removed_function, names.import_symbol),
    *(names.import_module, names.lazy_import_symbol, names.import_dropped, names.typing_import),
    *(names.imported_definition, names.environment_flag, names.flag_entry, names.enum_member),
    names.member_twice,
    *(names.static_method, names.duplicate_function, names.registry_entry, names.newer_library),
    *(
        names.missing_fixture,
        names.fixture_beside,
        names.patched_path,
        names.patched_attribute,
        objects.self_method,
        objects.self_method_keyword,
    ),
    *(objects.self_attribute, objects.assignment_dropped, objects.child_attribute),
    *(objects.child_call_keyword, objects.method_renamed, objects.parameter_attribute),
    *(objects.callee_renamed, objects.field_renamed, objects.override_parameter),
    *(
        objects.abstract_method,
        objects.field_default,
        objects.dataclass_frozen,
        calls.function_keyword,
        calls.function_argument,
    ),
    *(calls.constructor_keyword, calls.function_excess, calls.super_init_keyword),
    *(calls.launch_argument, calls.launch_keyword, calls.launch_keyword_dropped),
    *(calls.keyword_dropped, calls.parameter_renamed, calls.parameters_swapped, calls.unpacking),
    *(calls.await_dropped, calls.await_added, calls.option_twice),
    *(operators.fake_parameter, operators.fake_order, operators.fake_lacks),
    *(operators.operator_name, operators.operator_keyword, operators.operator_argument),
    *(operators.registration_dropped, operators.constexpr_unwrapped),
)
KINDS: dict[str, Kind] = {kind.__name__.replace("_", " "): kind for kind in _KINDS}


class Mutant(NamedTuple):
    """One fault: the kind, the file, the line, and the file's new text."""

    kind: str
    path: str
    line: int
    text: str


def mutants(
    tree: Tree, seed: int, each: int, kinds: Iterable[str] = tuple(KINDS)
) -> Iterator[Mutant]:
    """Up to `each` mutants of every kind asked for, no two of a kind in one file."""
    project = Project(tree)
    paths = [p for p in sorted(tree.paths()) if p.startswith(FOLDERS) and p.endswith(".py")]
    for name in kinds:
        chance = random.Random(f"{seed} {name}")  # noqa: S311 - a choice that can be repeated
        mine = [p for p in paths if p.startswith("tests/") == (name in _IN_TESTS)]
        mine = [p for p in mine if p.endswith(RARE.get(name, ""))]
        chance.shuffle(mine)
        left = each
        for path in mine:
            found = _mutant(project, name, path, chance)
            if found is not None:
                left -= 1
                yield found
            if not left:
                break


def _mutant(project: Project, name: str, path: str, chance: random.Random) -> Mutant | None:
    file = project.file(path)
    places = list(KINDS[name](file)) if file is not None else []
    if not places:
        return None
    line, text = chance.choice(places)
    return Mutant(name, path, line, text) if _compiles(text) else None


def caught(auditor: Auditor, mutant: Mutant) -> list[str]:
    """The codes of the errors that the audit finds in a mutant."""
    results = auditor.audit({mutant.path: Entry(REGULAR, mutant.text.encode())})
    return [f.code for r in results if r.status is Status.FAILED for f in r.findings]


def _compiles(text: str) -> bool:
    try:
        compile(text, "<mutant>", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True
