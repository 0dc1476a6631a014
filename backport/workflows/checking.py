"""Check many targets: what is known already is read, the rest is worked out in parallel."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backport.cache import ResultCache, digest
from backport.checkout import Checkout
from backport.commit_tree import CommitTree
from backport.core.manifests import Manifest
from backport.core.objects import blob_id
from backport.core.outcomes import StackOutcome, Status
from backport.core.reports import Report, StackHead, TargetReport
from backport.core.stacks import Stack
from backport.core.tables import nearest
from backport.errors import BackportError, BadInput, EnvironmentProblem
from backport.library import Library
from backport.report.machine import target_values
from backport.report.reading import target_of
from backport.tools import UNFINISHED
from backport.workflows.inputs import Around, at_hand, inputs
from backport.workflows.options import Options
from backport.workflows.proving import settled
from backport.workflows.workers import Died, Workers, usable_cores

Told = Callable[[int, int], None]  # how many targets are done, of how many
GLOB = frozenset("*?[")


def select(library: Library, targets: Sequence[str], every: bool) -> list[Manifest]:
    """The manifests that a person means: all, named ones, or those that a glob fits, each once.

    Raises BadInput where a name or glob fits none.
    """
    if every == bool(targets):
        raise BadInput("give --target TARGET (several times if need be) or --all")
    if not library.manifests:
        raise BadInput(f"{library.root}: the library has no manifests")
    if every:
        return list(library.manifests.values())
    found: dict[str, Manifest] = {}
    for target in targets:
        found.update((manifest.name, manifest) for manifest in _meant(library, target))
    return list(found.values())


def _meant(library: Library, target: str) -> list[Manifest]:
    if not GLOB & set(target):
        return [library.manifest(target)]
    found = [
        manifest
        for name, manifest in library.manifests.items()
        if any(fnmatch.fnmatchcase(word, target) for word in _names(manifest, name))
    ]
    if not found:
        raise BadInput(f"no target fits {target!r}; {nearest(target, sorted(library.manifests))}")
    return found


def _names(manifest: Manifest, name: str) -> tuple[str, ...]:
    return name, manifest.version, manifest.version.removeprefix("v"), manifest.source


@dataclass(frozen=True, slots=True)
class _Plan:
    """One target: what its result is kept under, and the result where it is known."""

    manifest: Manifest
    key: str = ""
    commit: str = ""
    known: TargetReport | None = None


def check_targets(
    library: Library,
    manifests: Sequence[Manifest],
    reader: Checkout,
    options: Options,
    *,
    cache: ResultCache | None = None,
    jobs: int | None = None,
    told: Told = lambda done, total: None,
    keys: list[str] | None = None,
) -> Report:
    """Every target's report, in the order asked; one that fails keeps none from being told.

    What each result is kept under is added to `keys` ("" where it cannot be kept).
    """
    around = at_hand(library, reader, options) if cache else None
    plans = [_plan(library, manifest, reader, options, cache, around) for manifest in manifests]
    done = {plan.manifest.name: plan.known for plan in plans if plan.known}
    cold = [plan for plan in plans if not plan.known]
    count = jobs or usable_cores()

    readers = {os.getpid(): reader}

    def work(number: int) -> bytes:
        """One target's result as JSON; each process has a reader of its own."""
        mine = readers.setdefault(os.getpid(), reader.again())
        return json.dumps(_try(library, cold[number], mine, options)).encode()

    with Workers(work, len(cold), count) as workers:
        told(len(done), len(plans))
        for number, answer in workers.answers():
            plan = cold[number]
            values = _values(plan, reader, answer)
            done[plan.manifest.name] = target_of(values["target"])
            told(len(done), len(plans))
            if cache and plan.key and _keepable(done[plan.manifest.name]):
                cache.write(plan.key, values)
    if keys is not None:
        keys += [plan.key if _keepable(done[plan.manifest.name]) else "" for plan in plans]
    if cache and cold:
        cache.prune()
    return Report(tuple(done[plan.manifest.name] for plan in plans), heads(library.stacks))


def mark_of(keys: Sequence[str], library: Library) -> str:
    """A name for the whole result, or "" where a part of it cannot be kept."""
    titles = [f"{stack.name} {stack.title} {stack.state}" for stack in heads(library.stacks)]
    return digest([*keys, *titles]) if all(keys) else ""


def heads(stacks: Mapping[str, Stack]) -> tuple[StackHead, ...]:
    """What the library's stacks are, for the report's reader."""
    return tuple(
        StackHead(
            stack.name,
            stack.title,
            stack.kind,
            stack.home,
            stack.digest,
            f"{stack.upstream.repo}#{stack.upstream.pull}" if stack.upstream.pull else "",
            stack.upstream.state if stack.upstream.repo else "",
            stack.retire,
            stack.why,
        )
        for stack in stacks.values()
    )


# ---------------------------------------------------------------- one target


def try_target(
    library: Library, manifest: Manifest, checkout: Checkout, options: Options
) -> TargetReport:
    """One target as `apply` would find it, with trouble around it as its verdict."""
    from backport.workflows.apply import run_target

    try:
        if manifest.name in library.broken:
            raise BadInput(library.broken[manifest.name])
        return run_target(library, manifest, checkout, options)
    except BackportError as error:
        return _trouble(manifest, checkout, error)


def _try(library: Library, plan: _Plan, reader: Checkout, options: Options) -> dict[str, Any]:
    from backport.workflows.apply import check_target  # what is known already does not need it

    manifest = plan.manifest
    try:
        report, changes = check_target(library, manifest, reader, options._replace(texts=True))
        after = {
            path: [entry.mode, blob_id(entry.data, reader.algorithm)] if entry else None
            for path, entry in changes.items()
        }
        return {"target": target_values(report), "commit": plan.commit, "after": after}
    except BackportError as error:
        return {"target": target_values(_trouble(manifest, reader, error))}
    except Exception as error:  # noqa: BLE001 - a bug in one target must not hide the others
        name = manifest.name
        problem = f"a bug in backport: {error!r}; `backport apply --dry-run --target {name}` tells"
        return {"target": target_values(_trouble(manifest, reader, EnvironmentProblem(problem)))}


def _trouble(manifest: Manifest, reader: Checkout, problem: BackportError) -> TargetReport:
    return TargetReport(
        manifest.name,
        manifest.branch,
        error=str(problem),
        repository=reader.shown,
        bad_input=isinstance(problem, BadInput),
    )


def _values(plan: _Plan, reader: Checkout, answer: bytes | Died) -> dict[str, Any]:
    if isinstance(answer, Died):
        problem = EnvironmentProblem(f"{answer}; run again with --jobs 1")
        return {"target": target_values(_trouble(plan.manifest, reader, problem))}
    values: dict[str, Any] = json.loads(answer)
    return values


def _keepable(report: TargetReport) -> bool:
    """False for trouble around the tool, and for what a GPU or a tool that broke had a part in."""
    told = any(UNFINISHED in c.note for c in report.checks if c.status is Status.NOT_RUN)
    parity = [check for check in report.checks if check.name == "parity"]
    return not report.error and not told and all(map(settled, parity))


# ---------------------------------------------------------------- what is known already


def _plan(
    library: Library,
    manifest: Manifest,
    reader: Checkout,
    options: Options,
    cache: ResultCache | None,
    around: Around | None,
) -> _Plan:
    if manifest.name in library.broken:
        problem = BadInput(library.broken[manifest.name])
        return _Plan(manifest, known=_trouble(manifest, reader, problem))
    if cache is None or around is None:
        return _Plan(manifest)
    try:
        commit = reader.base(manifest.base)
        base = reader.tree(commit)
        key = digest(inputs(library, manifest, commit, base, options, around))
    except BackportError:
        return _Plan(manifest)  # the target's own report will say what is wrong
    kept = cache.read(key)
    known = _revived(kept, commit, base, reader) if kept else None
    return _Plan(manifest, key, commit, known)


def _revived(
    kept: Mapping[str, Any], commit: str, base: CommitTree, reader: Checkout
) -> TargetReport | None:
    """The kept report, as the commit at hand would have it; None where that cannot be said."""
    try:
        report = target_of(kept["target"])._replace(repository=reader.shown)
        if kept["commit"] == commit:
            return report
        if any(stack.result.outcome is StackOutcome.CONFLICT for stack in report.stacks):
            return None  # its hints name files of the whole tree
        after = {path: (at[0], at[1]) if at else None for path, at in kept["after"].items()}
        return report._replace(base=commit, tree=base.with_ids(after))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
