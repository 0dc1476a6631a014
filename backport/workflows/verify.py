"""The checks of a patched tree, beyond what the core itself proves of it."""

from __future__ import annotations

import re
import tomllib

from backport.core.evaluating import Evaluation
from backport.core.outcomes import CheckResult, Status
from backport.core.trees import Tree

LEFT_OUT = "left out with --no-audit"


def minimum_python(tree: Tree) -> tuple[int, int] | None:
    """The oldest Python that the tree's `requires-python` allows, or None where it says none."""
    entry = tree.entry("pyproject.toml")
    try:
        project = tomllib.loads(entry.data.decode()) if entry else {}
        wanted = str(project.get("project", {}).get("requires-python", ""))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
        return None
    found = re.search(r">=?\s*(\d+)\.(\d+)", wanted)
    return (int(found.group(1)), int(found.group(2))) if found else None


def verify(base: Tree, evaluation: Evaluation, audit: bool) -> tuple[CheckResult, ...]:
    """Compile the changed files; one result per check, `not_run` where it was left out."""
    if not audit:
        return (CheckResult("compile", Status.NOT_RUN, note=LEFT_OUT),)
    from backport.audit.compiles import compile_check

    return (compile_check(evaluation.changes, minimum_python(base)),)
