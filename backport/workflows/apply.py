"""Apply a manifest and leave a branch, or find out what that would give and write nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.accepting import accept
from backport.core.display import counted
from backport.core.evaluating import Evaluation, evaluate
from backport.core.locks import compare_lock, lock_content, render_lock
from backport.core.manifests import Manifest
from backport.core.messages import lost_lines, squash_message, stack_of_message
from backport.core.objects import GitObject, Identity, render_commit
from backport.core.outcomes import CheckResult, StackOutcome, Status
from backport.core.paths import decode
from backport.core.reports import HunkText, Offer, StackReport, TargetReport, Verdict
from backport.core.trees import Entry
from backport.errors import BadInput, EnvironmentProblem
from backport.library import MAX_PATCH, Library, read_file
from backport.workflows.options import Options as Options  # noqa: PLC0414 - also of this module
from backport.workflows.preimages import preimages
from backport.workflows.proving import prove
from backport.workflows.verify import verify

if TYPE_CHECKING:
    from backport.core.preimages import Sources

MADE_BY = "\nStack: "  # the trailer that marks a commit as ours


class _Work(NamedTuple):
    """One target as far as it is computed; nothing of it is written yet."""

    manifest: Manifest
    commit: str
    base: CommitTree
    evaluation: Evaluation
    trees: list[str]
    objects: list[GitObject]

    @property
    def tree(self) -> str:
        return self.trees[-1] if self.trees else self.base.id


def run_target(
    library: Library, manifest: Manifest, checkout: Checkout, options: Options
) -> TargetReport:
    """One target: evaluated, verified, and with `options.write` left as a branch if it is clean."""
    work, report = _judge(library, manifest, checkout, options)
    if not options.write or report.verdict is not Verdict.CLEAN:
        return report
    return _write(library, checkout, options, work, report)


def check_target(
    library: Library, manifest: Manifest, repository: Checkout, options: Options
) -> tuple[TargetReport, Mapping[str, Entry | None]]:
    """One target as `apply` would find it, and the files that it changes; writes nothing."""
    work, report = _judge(library, manifest, repository, options)
    return report, work.evaluation.changes


def _judge(
    library: Library, manifest: Manifest, repository: Checkout, options: Options
) -> tuple[_Work, TargetReport]:
    work = _compute(library, manifest, repository)
    checks = [
        *work.evaluation.checks,
        *verify(library, manifest, work.base, work.evaluation, repository, options.audit),
        prove(library, manifest, repository, work.evaluation, options.parity),
        _lock(library, work, options),
    ]
    checks = list(accept(checks, manifest.accepts))
    conflict = any(r.outcome is StackOutcome.CONFLICT for r in work.evaluation.results)
    report = TargetReport(
        manifest.name,
        manifest.branch,
        work.commit,
        None if conflict else work.tree,
        tuple(StackReport(result) for result in work.evaluation.results),
        tuple(checks),
        repository=repository.shown,
        texts=_texts(library, work) if options.texts else {},
        offers=_offers(library, work, preimages(repository, library.stacks)) if conflict else {},
    )
    return work, report


def _offers(library: Library, work: _Work, sources: Sources) -> dict[str, tuple[Offer, ...]]:
    from backport.workflows.memory import offered

    results = {step.result.stack: step.result for step in work.evaluation.steps}
    return offered(library, work.manifest, results, work.base, sources)


def _texts(library: Library, work: _Work) -> dict[str, HunkText]:
    from backport.workflows.texts import hunk_texts

    return hunk_texts(library, work.manifest, work.evaluation, work.base)


def _compute(library: Library, manifest: Manifest, checkout: Checkout) -> _Work:
    commit = checkout.base(manifest.base)
    base = checkout.tree(commit)
    base.prefetch({path for name in manifest.stacks for path in library.stacks[name].paths()})
    sources = preimages(checkout, library.stacks)
    evaluation = evaluate(manifest, library.stacks, base, sources)
    if any(result.outcome is StackOutcome.CONFLICT for result in evaluation.results):
        from backport.core.unplaced import with_evidence
        from backport.workflows.explaining import explained

        evaluation = explained(checkout, commit, library.stacks, evaluation)
        results = with_evidence(evaluation.results, library.stacks, base, sources)
        evaluation = evaluation.telling(results)
    trees: list[str] = []
    objects: list[GitObject] = []
    for step in evaluation.steps:
        if step.result.changes or not trees:
            tree, made = base.with_changes(step.changes)
            objects += made
        trees.append(tree)
    return _Work(manifest, commit, base, evaluation, trees, objects)


# ---------------------------------------------------------------- lock


def _lock(library: Library, work: _Work, options: Options) -> CheckResult:
    file = (library.root / work.manifest.source).with_suffix(".lock")
    shown = work.manifest.source.removesuffix(".toml") + ".lock"
    if options.lock and options.write:
        note = f"{shown} is written by this run, where the target is clean"
        return CheckResult("lock", Status.NOT_RUN, note=note)
    if not file.exists():
        note = f"there is no {shown}; write it with --lock"
        return CheckResult("lock", Status.NOT_RUN, note=note)
    text = decode(read_file(file, MAX_PATCH, shown))
    return compare_lock(shown, text, _lock_content(library, work))


def _lock_content(library: Library, work: _Work) -> dict[str, object]:
    return lock_content(
        work.manifest, library.stacks, work.evaluation, work.base, work.commit, work.tree
    )


def _write_lock(library: Library, work: _Work) -> None:
    path = (library.root / work.manifest.source).with_suffix(".lock")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(render_lock(_lock_content(library, work)), "utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}") from None


# ---------------------------------------------------------------- commits and the branch


def _write(
    library: Library, checkout: Checkout, options: Options, work: _Work, report: TargetReport
) -> TargetReport:
    """Objects first, the one ref last; the branch is never half made."""
    if options.lock:
        from backport.workflows.memory import known, remember

        for name in work.manifest.stacks:
            known(library.root, name)  # what cannot be read is told before anything is written
    committer = checkout.identity(checkout.date(work.commit))
    stacks, commits = _commits(library, work, report, committer, checkout.algorithm)
    tip = commits[-1].id(checkout.algorithm) if commits else work.commit
    did = _leave_branch(checkout, options, work, commits, tip)
    if options.lock:
        _write_lock(library, work)
        remember(library, work.manifest, work.base)
    return report._replace(stacks=tuple(stacks), did=did)


def _commits(
    library: Library, work: _Work, report: TargetReport, committer: Identity, algorithm: str
) -> tuple[list[StackReport], list[GitObject]]:
    """One commit for every stack that changes something, each on top of the one before."""
    parent, before = work.commit, work.base.id
    stacks, commits = [], []
    for entry, tree in zip(report.stacks, work.trees, strict=True):
        if tree == before:
            stacks.append(entry)
            continue
        stack = library.stacks[entry.result.stack]
        message = squash_message(stack, work.manifest, entry.result.hunks, committer)
        commit = render_commit(tree, [parent], committer, committer, message)
        parent, before = commit.id(algorithm), tree
        commits.append(commit)
        stacks.append(StackReport(entry.result, parent))
    return stacks, commits


def _leave_branch(
    checkout: Checkout, options: Options, work: _Work, commits: list[GitObject], tip: str
) -> str:
    branch = work.manifest.branch
    old = checkout.branch_tip(branch)
    if old != tip:
        _refuse_foreign(checkout, options, work, old, commits)
    held = checkout.checked_out(branch)
    if held and old != tip and not options.checkout:
        raise EnvironmentProblem(
            f"branch {branch} is checked out in {held}; check out another one there, "
            "or give --checkout to update the work tree too"
        )
    if options.checkout:
        _refuse_checkout(checkout, held, tip)
    if old != tip:
        checkout.store([*work.objects, *commits])
    if options.checkout:
        checkout.switch(tip)
    if old != tip:
        checkout.move_branch(branch, tip, old, f"backport: apply {work.manifest.name}")
    if options.checkout:
        checkout.point_head(branch)
    if old == tip:
        return "was up to date"
    return "made" if old is None else f"moved from {old[:12]}"


def _refuse_checkout(checkout: Checkout, held: Path | None, tip: str) -> None:
    """Refuse what would mix with a person's own work; a run that was killed half-way may go on."""
    if held and str(held) != checkout.shown:
        raise EnvironmentProblem(f"the branch is checked out in another work tree, {held}")
    unfinished = checkout.unfinished()
    if unfinished:
        raise EnvironmentProblem(
            f"{checkout.shown} is in the middle of a {unfinished}; finish or abort it first"
        )
    dirty = checkout.dirty()
    if dirty and not checkout.is_at(tip):
        listed = ", ".join(dirty[:5]) + (f" and {len(dirty) - 5} more" if len(dirty) > 5 else "")
        raise EnvironmentProblem(
            f"{checkout.shown} has uncommitted changes in {listed}; commit or stash them first"
        )


def _refuse_foreign(
    checkout: Checkout, options: Options, work: _Work, old: str | None, commits: list[GitObject]
) -> None:
    """A branch that holds commits or words of somebody else is not replaced unasked."""
    if old is None or options.force:
        return
    made = checkout.history(old, work.commit)
    branch = work.manifest.branch
    if made is None:
        raise BadInput(
            f"branch {branch} does not start from {work.manifest.base}; "
            "rename it, or give --force to replace it"
        )
    foreign = [commit for commit, message in made if MADE_BY not in message]
    if foreign:
        raise BadInput(
            f"branch {branch} holds {counted(len(foreign), 'commit')} that this tool did not make "
            f"(the newest is {foreign[0][:12]}); "
            "move them elsewhere, or give --force to replace them"
        )
    amended = [(commit, text) for commit, text in made if not checkout.is_as_made(commit)]
    if amended and checkout.tree(old).id != work.tree:
        raise BadInput(
            f"{amended[0][0][:12]} on branch {branch} was changed after `apply` made it; take that "
            f"back with `backport refresh --target {work.manifest.name}`, or give --force to "
            "replace it"
        )
    _refuse_reworded(work, amended, "\n".join(decode(commit.data) for commit in commits))


def _refuse_reworded(work: _Work, amended: list[tuple[str, str]], new: str) -> None:
    """What a person wrote into the message of a commit is not lost unasked."""
    for commit, message in amended:
        lost = lost_lines(message, new)
        if lost:
            branch, stack = work.manifest.branch, stack_of_message(message)
            raise BadInput(
                f"the message of {commit[:12]} on branch {branch} was changed after `apply` made "
                f"it ({lost[0]!r}); take it over into `why` of patches/{stack}/stack.toml, or keep "
                f"the commit with `git branch parked {branch}` and give --force to replace it"
            )


def export_target(
    library: Library, manifest: Manifest, checkout: Checkout
) -> tuple[TargetReport, bytes | None]:
    """The target's squashed commits as an mbox, or its report alone where it is not clean."""
    options = Options(write=False, parity=False)
    work = _compute(library, manifest, checkout)
    report = run_target(library, manifest, checkout, options)
    if report.verdict is not Verdict.CLEAN:
        return report, None
    committer = checkout.identity(checkout.date(work.commit))
    _, commits = _commits(library, work, report, committer, checkout.algorithm)
    tip = commits[-1].id(checkout.algorithm) if commits else work.commit
    return report, checkout.mbox([*work.objects, *commits], work.commit, tip)
