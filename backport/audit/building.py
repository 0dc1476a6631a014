"""The table of a tree: loaded if it is cached, else built by several processes.

A file is read once for each content: what a cached table of another tree holds by
blob id is taken over from there.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from backport.audit import worker
from backport.audit.compiles import blob_id
from backport.audit.index import Postings, index_of
from backport.audit.store import Stored, key_of, load, newest, save, stored
from backport.audit.worker import NATIVE, NOTHING, Reading
from backport.core.trees import EXECUTABLE, REGULAR, Tree

_FEW = 60
"""Up to so many files, starting a process costs more than it saves."""

Job = tuple[int, bool, bytes]
Jobs = queue.Queue[Job | None]


def table_of(tree: Tree, cache: Path | None, processes: int | None) -> Stored:
    """The stored table of a tree, from the cache or built and put there."""
    blobs = {
        path: blob or _blob_of(tree, path) for path, blob in tree.paths().items() if is_source(path)
    }
    if cache is None:
        return _built(tree, blobs, None, processes)
    key = key_of(blobs)
    found = load(cache, key)
    if found is None:
        found = _built(tree, blobs, newest(cache), processes)
        save(cache, key, found)
    return found


def _blob_of(tree: Tree, path: str) -> str:
    entry = tree.entry(path)
    return blob_id(entry.data) if entry is not None else ""


def is_source(path: str) -> bool:
    """True for the files that the table covers."""
    return path.endswith((".py", *NATIVE))


def _built(
    tree: Tree, blobs: Mapping[str, str], other: Stored | None, processes: int | None
) -> Stored:
    paths = list(blobs)
    known = _taken_over(other, blobs) if other is not None else {}
    missing = [number for number, path in enumerate(paths) if blobs[path] not in known]
    readings = _read_all(_jobs(tree, paths, missing), len(missing), processes)
    every = [readings.get(n) or known.get(blobs[p], NOTHING) for n, p in enumerate(paths)]
    postings = Postings.of(reading.words.split("\n") for reading in every)
    table = stored(blobs, (reading.raw for reading in every), index_of({}), postings)
    records = {path: table.record(number) for number, path in enumerate(paths)}
    return Stored(blobs, table.ends, table.data, index_of(records), postings)


def _taken_over(other: Stored, wanted: Mapping[str, str]) -> dict[str, Reading]:
    """Readings by blob id that another tree's table already holds."""
    blobs = set(wanted.values())
    words = other.postings.per_file(len(other.blobs))
    return {
        blob: Reading(other.raw(number), "\n".join(words[number]))
        for number, blob in enumerate(other.blobs.values())
        if blob in blobs
    }


def _jobs(tree: Tree, paths: list[str], numbers: Iterable[int]) -> Iterator[Job]:
    for number in numbers:
        entry = tree.entry(paths[number])
        if entry is not None and entry.mode in (REGULAR, EXECUTABLE):
            yield number, paths[number].endswith(NATIVE), entry.data


def _read_all(jobs: Iterator[Job], count: int, processes: int | None) -> dict[int, Reading]:
    wanted = processes or min(os.cpu_count() or 1, 8)
    if wanted < 2 or count <= _FEW:
        return {number: worker.read(native, data) for number, native, data in jobs}
    return _read_by_children(jobs, wanted)


def _read_by_children(jobs: Iterator[Job], wanted: int) -> dict[int, Reading]:
    """Deal the files out to children as they take them; read here what a lost child had."""
    waiting: Jobs = queue.Queue(maxsize=4 * wanted)
    found: dict[int, Reading] = {}
    lost: list[Job] = []
    threads = [
        threading.Thread(target=_feed, args=(waiting, found, lost), daemon=True)
        for _ in range(wanted)
    ]
    for thread in threads:
        thread.start()
    for job in jobs:
        waiting.put(job)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    found |= {number: worker.read(native, data) for number, native, data in lost}
    return found


def _feed(waiting: Jobs, found: dict[int, Reading], lost: list[Job]) -> None:
    """Keep one child busy; all its files are lost when it fails."""
    given: list[Job] = []
    coming = iter(waiting.get, None)
    try:
        with worker.started() as (source, sink):
            for job in coming:
                given.append(job)
                worker.send(source, *job)
            source.close()
            found.update(worker.receive(sink))
    except (OSError, EOFError, ValueError, TypeError, subprocess.SubprocessError):
        lost += [*given, *coming]
