"""Walk a range of history for stacks: one `git log`, one reader, each version judged once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backport import plumbing
from backport.cache import ResultCache, digest, tool_identity
from backport.checkout import Checkout
from backport.core.objects import commit_text
from backport.core.paths import decode
from backport.core.scanning import (
    ABSENT,
    Commit,
    History,
    Seen,
    Sight,
    Unit,
    Version,
    judge,
    trace,
    units,
    versions_of,
    whole,
)
from backport.core.stacks import Stack
from backport.core.trees import DIRECTORY, GITLINK, Entry
from backport.errors import BackportError, BadInput, EnvironmentProblem
from backport.workflows.workers import Died, Workers, usable_cores

_LOG = (
    "--literal-pathspecs",
    "-c",
    "log.showRoot=true",
    "log",
    "--raw",
    "-z",
    "--no-abbrev",
    "--no-renames",
    "--no-color",
    "--no-ext-diff",
    "--no-show-signature",
    "--no-notes",
    "--first-parent",
    "--diff-merges=first-parent",
    "--reverse",
    "--encoding=UTF-8",
    "--format=tformat:%H,%p %ct %s",
)
Key = tuple[int, tuple[Version, ...]]
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Scan:
    """The histories of the stacks, and what they cost: versions judged, and known before."""

    start: str
    end: str
    histories: tuple[History, ...]
    judged: int = 0
    known: int = 0
    note: str = ""


@dataclass(slots=True)
class _Job:
    """One stack: its units, the versions they meet, and what is known of them."""

    stack: Stack
    parts: tuple[Unit, ...]
    key: str = ""
    needed: dict[Key, None] = field(default_factory=dict)
    judged: dict[Key, tuple[Seen, ...]] = field(default_factory=dict)


def parse_range(text: str) -> tuple[str, str]:
    """Both ends of `A..B`; raises BadInput for another form."""
    start, dots, end = text.partition("..")
    if not dots or not start or not end or end.startswith("."):
        raise BadInput(f"{text!r} is not a range START..END")
    return start, end


def scan(
    stacks: Sequence[Stack],
    reader: Checkout,
    start: str,
    end: str,
    *,
    cache: ResultCache | None = None,
    jobs: int | None = None,
    told: Told = lambda done, total: None,
) -> Scan:
    """How every hunk of the stacks stands after each commit of `start..end` that matters.

    First parents are followed: a merge counts as what it brought. Raises
    EnvironmentProblem where a name or an object is missing.
    """
    ends = reader.base(start), reader.base(end)
    paths = sorted({path for stack in stacks for path in stack.paths()})
    commits, first = _history(reader, *ends, paths)
    last = reader.tree(ends[1])  # what no commit touches is there as it was at the start
    known = {path: first.get(path) or last.locate(path) or ABSENT for path in paths}
    note = ""
    if any(commit.root for commit in commits):
        note = f"{start} and {end} share no history here, so they are compared as one step"
        known, commits = _one_step(reader, *ends, paths)
    work = [_job(stack, cache) for stack in stacks]
    for job in work:
        _needs(job, known, commits)
    before = sum(len(job.judged.keys() & job.needed.keys()) for job in work)
    count = _judge_all(work, reader, jobs or usable_cores(), told)
    if cache:
        for job in work:
            _keep(job, cache)
    histories = tuple(_trace(job, known, commits) for job in work)
    return Scan(start, end, histories, count, before, note)


def _trace(job: _Job, start: Mapping[str, Version], commits: Sequence[Commit]) -> History:
    mine = set(job.stack.paths())
    touching = [commit for commit in commits if mine & commit.versions.keys()]
    return trace(job.stack, job.parts, start, touching, job.judged)


def stands(
    stacks: Sequence[Stack], reader: Checkout, name: str, cache: ResultCache | None = None
) -> Sight:
    """How the stacks stand at one commit, the worst of them."""
    tree = reader.tree(reader.base(name))
    work = [_job(stack, cache) for stack in stacks]
    for job in work:
        versions = {path: tree.locate(path) or ABSENT for path in job.stack.paths()}
        _needs(job, versions, ())
    _judge_all(work, reader, 1, lambda done, total: None)
    sights = [whole([seen.sight for key in job.needed for seen in job.judged[key]]) for job in work]
    if cache:
        for job in work:
            _keep(job, cache)
    order = (Sight.CONFLICT, Sight.CLEAN, Sight.ALREADY)
    return min(sights, key=order.index, default=Sight.CLEAN)


# ---------------------------------------------------------------- the history


def _history(
    reader: Checkout, start: str, end: str, paths: Sequence[str]
) -> tuple[list[Commit], dict[str, Version]]:
    """The commits that touch the paths, oldest first, and the versions that the first one met."""
    out = plumbing.run(reader.git_dir, *_LOG, f"{start}..{end}", "--", *paths)
    first: dict[str, Version] = {}
    commits = []
    wanted = set(paths)
    for head, changes in _records(out.split(b"\0")):
        versions = {}
        for path, was, now in changes:
            if path in wanted:
                first.setdefault(path, was)
                versions[path] = now
        names, date, subject = head.split(" ", 2)
        commit, _, parents = names.partition(",")
        commits.append(Commit(commit, int(date), subject, versions, root=not parents))
    return commits, first


def _one_step(
    reader: Checkout, start: str, end: str, paths: Sequence[str]
) -> tuple[dict[str, Version], list[Commit]]:
    """The start's versions, and the end as the one commit that changed them."""
    trees = reader.tree(start), reader.tree(end)
    was, now = ({path: tree.locate(path) or ABSENT for path in paths} for tree in trees)
    head, message = commit_text(reader.read_object(end))
    committer = next(line for line in head.split("\n") if line.startswith("committer "))
    changed = {path: now[path] for path in paths if now[path] != was[path]}
    date = int(committer.rsplit(" ", 2)[1])
    return was, [Commit(end, date, message.partition("\n")[0], changed)] if changed else []


Change = tuple[str, Version, Version]


def _records(tokens: Iterable[bytes]) -> Iterator[tuple[str, list[Change]]]:
    """Each commit's own line, and its changes as (path, version before, version after).

    A commit's line starts with its id, a change with a colon, and each change is
    followed by its path, so no subject and no path can be taken for another thing.
    """
    head = ""
    changes: list[Change] = []
    left = iter(tokens)
    for token in left:
        word = token.lstrip(b"\n")
        if word.startswith(b":"):
            old_mode, new_mode, old, new = decode(word[1:]).split(" ")[:4]
            was, now = _present(old_mode, old), _present(new_mode, new)
            changes.append((decode(next(left, b"")), was, now))
        elif word:
            if head:
                yield head, changes
            head, changes = decode(word), []
    if head:
        yield head, changes


def _present(mode: str, blob: str) -> Version:
    return ABSENT if mode == "000000" else (mode, blob)


# ---------------------------------------------------------------- the judgements


def _job(stack: Stack, cache: ResultCache | None) -> _Job:
    job = _Job(stack, units(stack))
    if cache:
        job.key = digest(["scan", tool_identity(), stack.name, stack.digest])
        job.judged = _kept(cache, job.key)
    return job


def _needs(job: _Job, start: Mapping[str, Version], commits: Sequence[Commit]) -> None:
    versions = dict(start)
    for at, unit in enumerate(job.parts):
        job.needed[at, versions_of(unit, versions)] = None
    for commit in commits:
        versions.update(commit.versions)
        for at, unit in enumerate(job.parts):
            if any(path in commit.versions for path in unit.paths):
                job.needed[at, versions_of(unit, versions)] = None


def _judge_all(work: Sequence[_Job], reader: Checkout, jobs: int, told: Told) -> int:
    """Judge what is not known yet, in processes where that pays; returns how much it was."""
    todo = [(job, key) for job in work for key in job.needed if key not in job.judged]
    entries = [_entries(job.parts[key[0]], key[1], reader) for job, key in todo]

    def one(number: int) -> bytes:
        job, (at, _) = todo[number]
        return json.dumps([_plain(seen) for seen in judge(job.parts[at], entries[number])]).encode()

    with Workers(one, len(todo), jobs if len(todo) > jobs else 1) as workers:
        for done, (number, answer) in enumerate(workers.answers(), 1):
            if isinstance(answer, Died):
                raise EnvironmentProblem(f"scan: {answer}; run again with --jobs 1")
            job, key = todo[number]
            job.judged[key] = tuple(_seen(values) for values in json.loads(answer))
            told(done, len(todo))
    return len(todo)


def _entries(
    unit: Unit, versions: tuple[Version, ...], reader: Checkout
) -> dict[str, Entry | None]:
    found: dict[str, Entry | None] = {}
    for path, (mode, blob) in zip(unit.paths, versions, strict=True):
        if not mode:
            found[path] = None
        else:
            data = b"" if mode in (DIRECTORY, GITLINK) else reader.read_object(blob)
            found[path] = Entry(mode, data)
    return found


def _plain(seen: Seen) -> list[str | int]:
    return [seen.hunk, seen.path, str(seen.sight), seen.line, seen.detail]


def _seen(values: Sequence[Any]) -> Seen:
    hunk, path, sight, line, detail = values
    return Seen(str(hunk), str(path), Sight(sight), int(line), str(detail))


def _keep(job: _Job, cache: ResultCache) -> None:
    rows = [
        [at, list(versions), [_plain(seen) for seen in found]]
        for (at, versions), found in job.judged.items()
    ]
    cache.write(job.key, {"judged": rows})


def _kept(cache: ResultCache, key: str) -> dict[Key, tuple[Seen, ...]]:
    values = cache.read(key) or {}
    try:
        return {
            (int(at), tuple((str(mode), str(blob)) for mode, blob in versions)): tuple(
                _seen(seen) for seen in found
            )
            for at, versions, found in values.get("judged", ())
        }
    except (TypeError, ValueError):
        return {}


def bisect_exit(stacks: Sequence[Stack], reader: Checkout, cache: ResultCache | None) -> int:
    """What `git bisect run` is told of the commit at hand: 0 good, 1 bad, 125 cannot be told."""
    name = "BISECT_HEAD" if reader.commit_id("BISECT_HEAD") else "HEAD"
    try:
        return 1 if stands(stacks, reader, name, cache) is Sight.CONFLICT else 0
    except BackportError:
        return 125
