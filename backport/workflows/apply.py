"""Apply a manifest and leave a branch, or find out what that would give and write nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.accepting import accept
from backport.core.evaluating import Evaluation, evaluate
from backport.core.locks import compare_lock, lock_content, render_lock
from backport.core.manifests import Manifest
from backport.core.messages import squash_message
from backport.core.objects import GitObject, Identity, render_commit
from backport.core.outcomes import CheckResult, StackOutcome, Status
from backport.core.reports import StackReport, TargetReport, Verdict
from backport.errors import BackportError, BadInput, EnvironmentProblem
from backport.library import Library
from backport.workflows.verify import verify

MADE_BY = "\nStack: "  # the trailer that marks a commit as ours


@dataclass(frozen=True, slots=True)
class Options:
    """What a person asked for; `write` is False for `check` and dry runs."""

    write: bool = True
    audit: bool = True
    parity: bool = True
    checkout: bool = False
    force: bool = False
    lock: bool = False


@dataclass(frozen=True, slots=True)
class _Work:
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
    work = _compute(library, manifest, checkout)
    checks = [
        *work.evaluation.checks,
        *verify(work.base, work.evaluation, options.audit),
        _parity(options),
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
        repository=checkout.shown,
    )
    if not options.write or report.verdict is not Verdict.CLEAN:
        return report
    return _write(library, checkout, options, work, report)


def try_target(
    library: Library, manifest: Manifest, checkout: Checkout, options: Options
) -> TargetReport:
    """Like `run_target`, with trouble around this one target as its verdict."""
    try:
        return run_target(library, manifest, checkout, options)
    except BackportError as error:
        return TargetReport(
            manifest.name, manifest.branch, error=str(error), repository=checkout.shown
        )


def check_targets(
    library: Library,
    manifests: list[Manifest],
    checkout: Checkout,
    options: Options,
    progress: Callable[[str], None],
) -> list[TargetReport]:
    """Every target in turn; one that fails does not keep the others from being told."""
    out = []
    for manifest in manifests:
        progress(manifest.name)
        out.append(try_target(library, manifest, checkout, options))
    return out


def _compute(library: Library, manifest: Manifest, checkout: Checkout) -> _Work:
    commit = checkout.base(manifest.base)
    base = checkout.tree(commit)
    evaluation = evaluate(manifest, library.stacks, base)
    trees: list[str] = []
    objects: list[GitObject] = []
    for step in evaluation.steps:
        if step.result.changes or not trees:
            tree, made = base.with_changes(step.changes)
            objects += made
        trees.append(tree)
    return _Work(manifest, commit, base, evaluation, trees, objects)


def _parity(options: Options) -> CheckResult:
    note = "no parity cases are in this version" if options.parity else "left out with --no-parity"
    return CheckResult("parity", Status.NOT_RUN, note=note)


# ---------------------------------------------------------------- lock


def _lock(library: Library, work: _Work, options: Options) -> CheckResult:
    content = _lock_content(library, work)
    path = library.root / work.manifest.source
    file = path.with_suffix(".lock")
    shown = work.manifest.source.removesuffix(".toml") + ".lock"
    if options.lock:
        note = f"{shown} is written by this run"
        return CheckResult("lock", Status.NOT_RUN, note=note)
    text = file.read_text("utf-8") if file.exists() else None
    return compare_lock(shown, text, content)


def _lock_content(library: Library, work: _Work) -> dict[str, object]:
    return lock_content(
        work.manifest, library.stacks, work.evaluation, work.base, work.commit, work.tree
    )


def _write_lock(library: Library, work: _Work) -> None:
    path = (library.root / work.manifest.source).with_suffix(".lock")
    part = path.with_suffix(".lock.part")
    try:
        part.write_text(render_lock(_lock_content(library, work)), "utf-8")
        part.replace(path)
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}") from None


# ---------------------------------------------------------------- commits and the branch


def _write(
    library: Library, checkout: Checkout, options: Options, work: _Work, report: TargetReport
) -> TargetReport:
    """Objects first, the one ref last; the branch is never half made."""
    committer = checkout.identity(checkout.date(work.commit))
    stacks, commits = _commits(library, work, report, committer, checkout.algorithm)
    tip = commits[-1].id(checkout.algorithm) if commits else work.commit
    did = _leave_branch(checkout, options, work, [*work.objects, *commits], tip)
    if options.lock:
        _write_lock(library, work)
    return TargetReport(
        report.target,
        report.branch,
        report.base,
        report.tree,
        tuple(stacks),
        report.checks,
        repository=report.repository,
        did=did,
    )


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
    checkout: Checkout, options: Options, work: _Work, objects: list[GitObject], tip: str
) -> str:
    branch = work.manifest.branch
    old = checkout.branch_tip(branch)
    if old != tip:
        _refuse_foreign(checkout, options, work, old)
    held = checkout.checked_out(branch)
    if held and old != tip and not options.checkout:
        raise EnvironmentProblem(
            f"branch {branch} is checked out in {held}; check out another one there, "
            "or give --checkout to update the work tree too"
        )
    if options.checkout:
        _refuse_dirty(checkout, held)
    if old != tip:
        checkout.store(objects)
    if options.checkout:
        checkout.switch(tip)
    if old != tip:
        checkout.move_branch(branch, tip, old, f"backport: apply {work.manifest.name}")
    if options.checkout:
        checkout.point_head(branch)
    if old == tip:
        return "was up to date"
    return "made" if old is None else f"moved from {old[:12]}"


def _refuse_dirty(checkout: Checkout, held: object) -> None:
    dirty = checkout.dirty()
    if held and str(held) != checkout.shown:
        raise EnvironmentProblem(f"the branch is checked out in another work tree, {held}")
    if dirty:
        listed = ", ".join(dirty[:5]) + (f" and {len(dirty) - 5} more" if len(dirty) > 5 else "")
        raise EnvironmentProblem(
            f"{checkout.shown} has uncommitted changes in {listed}; commit or stash them first"
        )


def _refuse_foreign(checkout: Checkout, options: Options, work: _Work, old: str | None) -> None:
    """A branch that holds commits of somebody else is not replaced unasked."""
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
            f"branch {branch} holds {len(foreign)} commits that this tool did not make "
            f"(the newest is {foreign[0][:12]}); "
            "move them elsewhere, or give --force to replace them"
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
