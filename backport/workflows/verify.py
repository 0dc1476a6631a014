"""The checks of a patched tree, beyond what the core itself proves of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from backport.checkout import Checkout
from backport.core.evaluating import Evaluation
from backport.core.manifests import Drop, Manifest
from backport.core.outcomes import CheckResult, StackOutcome, StackResult, Status
from backport.core.paths import decode
from backport.core.stacks import Stack
from backport.core.trees import Overlay, Tree
from backport.library import Library
from backport.workflows.preimages import home_tree

if TYPE_CHECKING:
    from backport.audit import Commit
    from backport.audit import Options as AuditOptions

LEFT_OUT = "left out with --no-audit"


def verify(
    library: Library,
    manifest: Manifest,
    base: Tree,
    evaluation: Evaluation,
    checkout: Checkout,
    audit: bool,
    history: Sequence[tuple[str, str]] | None = None,
) -> tuple[CheckResult, ...]:
    """Compile and audit the changed files; `not_run` with the reason where that was left out.

    The audit tells only what the stacks made worse, against the pristine base. `history`
    holds the (id, message) of later commits of the source that take back others. What the
    stacks were made on is looked up in `checkout`.
    """
    if not audit:
        return (CheckResult("compile", Status.NOT_RUN, note=LEFT_OUT),)
    applied = [r for r in evaluation.results if r.outcome is StackOutcome.APPLIED]
    if not applied or any(r.outcome is StackOutcome.CONFLICT for r in evaluation.results):
        from backport.audit.compiles import compile_check
        from backport.audit.versions import oldest_python

        note = "a stack does not apply" if applied else "no stack changes anything"
        compiled = compile_check(evaluation.changes, oldest_python(base))
        return (compiled, CheckResult("audit", Status.NOT_RUN, note=note))
    from backport.audit import audit as audited
    from backport.workflows.requiring import check_requires

    stacks = [library.stacks[result.stack] for result in applied]
    homes = _homes(library, applied, checkout)
    options = _options(library, manifest, stacks, history, homes)
    checks = audited(base, evaluation.changes, options=options)
    patched = Overlay(base, dict(evaluation.changes))
    return (*checks, check_requires(patched, stacks))


def _options(
    library: Library,
    manifest: Manifest,
    stacks: Sequence[Stack],
    history: Sequence[tuple[str, str]] | None,
    homes: Mapping[str, tuple[Tree, ...]],
) -> AuditOptions:
    from backport.audit import Commit, Options, names_defined
    from backport.sources import cache_dir

    lines = [
        decode(line)
        for stack in manifest.stacks
        for hunk_id, _, file, index in library.stacks[stack].hunks()
        if isinstance(manifest.adaptations_of(stack).get(str(hunk_id)), Drop) and index >= 0
        for line in file.hunks[index].added
    ]
    later = None if history is None else tuple(Commit.of(*entry) for entry in history)
    return Options(
        cache=cache_dir() / "tables",
        dropped=names_defined(lines),
        carried=tuple(commit for stack in stacks for commit in _carried(stack)),
        history=later,
        homes=homes,
    )


def _homes(
    library: Library, applied: Sequence[StackResult], checkout: Checkout
) -> dict[str, tuple[Tree, ...]]:
    """By path, the releases that the patches to it were made on, as far as they are at hand."""
    asked: dict[str, dict[str, None]] = {}
    for result in applied:
        for path in result.changes:
            asked.setdefault(path, {})[library.stacks[result.stack].home] = None
    names = {name for homes in asked.values() for name in homes}
    trees = {name: tree for name in names if (tree := home_tree(checkout, name)) is not None}
    found = {path: tuple(trees[n] for n in homes if n in trees) for path, homes in asked.items()}
    return {path: homes for path, homes in found.items() if homes}


def _carried(stack: Stack) -> Iterator[Commit]:
    """What of the source a stack carries: its commits, under the subject that they were merged
    with."""
    from backport.audit import Commit

    upstream = stack.upstream
    subject = f"{stack.title} (#{upstream.pull})" if upstream.pull else stack.title
    if upstream.pull or upstream.commits:
        yield from (Commit(commit, subject, "") for commit in upstream.commits or ("",))
