"""The checks of a patched tree, beyond what the core itself proves of it."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from backport.core.evaluating import Evaluation
from backport.core.manifests import Drop, Manifest
from backport.core.outcomes import CheckResult, StackOutcome, Status
from backport.core.paths import decode
from backport.core.trees import Tree
from backport.library import Library

if TYPE_CHECKING:
    from backport.audit import Options as AuditOptions

LEFT_OUT = "left out with --no-audit"
_OURS = ("requires", "landing")  # judged here and while placing, with more at hand


def minimum_python(tree: Tree) -> tuple[int, int] | None:
    """The oldest Python that the tree's `requires-python` allows, or None where it says none."""
    entry = tree.entry("pyproject.toml")
    try:
        project = tomllib.loads(entry.data.decode()) if entry else {}
        wanted = str(project.get("project", {}).get("requires-python", ""))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError, RecursionError):
        return None
    found = re.search(r">=?\s*(\d+)\.(\d+)", wanted)
    return (int(found.group(1)), int(found.group(2))) if found else None


def verify(
    library: Library, manifest: Manifest, base: Tree, evaluation: Evaluation, audit: bool
) -> tuple[CheckResult, ...]:
    """Compile and audit the changed files; `not_run` with the reason where that was left out.

    The audit tells only what the stacks made worse, against the pristine base.
    """
    if not audit:
        return (CheckResult("compile", Status.NOT_RUN, note=LEFT_OUT),)
    applied = [r for r in evaluation.results if r.outcome is StackOutcome.APPLIED]
    if not applied or any(r.outcome is StackOutcome.CONFLICT for r in evaluation.results):
        from backport.audit.compiles import compile_check

        note = "a stack does not apply" if applied else "no stack changes anything"
        compiled = compile_check(evaluation.changes, minimum_python(base))
        return (compiled, CheckResult("audit", Status.NOT_RUN, note=note))
    from backport.audit import audit as audited
    from backport.workflows.requiring import check_requires

    checks = audited(base, evaluation.changes, options=_options(library, manifest, base))
    stacks = [library.stacks[result.stack] for result in applied]
    told = [check for check in checks if check.name not in _OURS]
    return (*told, check_requires(base, stacks))


def _options(library: Library, manifest: Manifest, base: Tree) -> AuditOptions:
    from backport.audit import Options, names_defined
    from backport.sources import cache_dir

    lines = [
        decode(line)
        for stack in manifest.stacks
        for hunk_id, _, file, index in library.stacks[stack].hunks()
        if isinstance(manifest.adaptations_of(stack).get(str(hunk_id)), Drop) and index >= 0
        for line in file.hunks[index].added
    ]
    return Options(
        cache=cache_dir() / "tables", minimum=minimum_python(base), dropped=names_defined(lines)
    )
