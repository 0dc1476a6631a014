"""Write several files of the library at once: all of them or none, whenever a run is stopped.

The files are written into a draft beside the folders of the library first. Renaming the draft
decides: from there on its files are moved to their places, by the same run, which Ctrl-C does
not disturb meanwhile, or if it was killed by the next one that loads the library.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from backport.errors import BadInput, EnvironmentProblem

TOPS = ("patches", "manifests")  # each with drafts of its own: they may be on different disks
DECIDED = ".backport.part"
_FILES, _DELETED = "files", "deleted"

Files = Mapping[str, bytes | None]


def write_files(root: Path, files: Files) -> list[Path]:
    """Write the files and delete those that are None; the paths of all.

    Raises EnvironmentProblem where one cannot be written; every old file is as it was then.
    """
    by_top: dict[str, dict[str, bytes | None]] = {}
    for name, data in files.items():
        top, _, below = name.partition("/")
        by_top.setdefault(top, {})[below] = data
    drafts = [_draft(root / top) for top in by_top]
    try:
        for draft, some in zip(drafts, by_top.values(), strict=True):
            _remove_others(draft.parent)
            _fill(draft, some)
        with _undisturbed():
            for draft in drafts:
                _decide(draft)
    finally:
        for draft in drafts:
            _remove(draft)
    return [root / name for name in files]


def finish(root: Path) -> None:
    """Move what a run had decided to write when it was killed, if there is something."""
    for top in TOPS:
        if (root / top / DECIDED).is_dir():
            with _alone(root / top):
                _move(root / top)


def _draft(folder: Path) -> Path:
    return folder / f".backport.{os.getpid()}.part"


def _fill(draft: Path, files: Files) -> None:
    path = draft
    try:
        for name, data in files.items():
            path = draft / _FILES / name
            if data is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        path = draft / _DELETED
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\0".join(os.fsencode(name) for name in files if files[name] is None))
    except OSError as error:
        place = draft.parent.joinpath(*path.relative_to(draft).parts[1:])
        raise EnvironmentProblem(f"{place}: cannot be written: {error.strerror}") from None


def _decide(draft: Path) -> None:
    folder = draft.parent
    with _alone(folder):
        _move(folder)  # of a run that was killed since this one has loaded the library
        try:
            draft.rename(folder / DECIDED)
        except OSError as error:
            raise EnvironmentProblem(f"{folder}: cannot be written: {error.strerror}") from None
        _move(folder)


def _move(folder: Path) -> None:
    """Put every file of the decided draft, if there is one, in its place."""
    decided = folder / DECIDED
    if not decided.is_dir():
        return
    path = decided
    try:
        for file in sorted((decided / _FILES).rglob("*")):
            path = _inside(folder, file.relative_to(decided / _FILES))
            if not file.is_dir():
                path.parent.mkdir(parents=True, exist_ok=True)
                file.replace(path)
        deleted = (decided / _DELETED).read_bytes().split(b"\0")
        for name in filter(None, deleted):
            path = _inside(folder, Path(os.fsdecode(name)))
            path.unlink(missing_ok=True)
        path = _draft(folder)
        decided.rename(path)  # so that no run finds half of it
    except OSError as error:
        raise EnvironmentProblem(
            f"{path}: cannot be written: {error.strerror}; mend that and run again, or delete "
            f"{decided} to leave it"
        ) from None
    _remove(path)


def _inside(folder: Path, name: Path) -> Path:
    """The place below the folder; a library from elsewhere must not write outside of itself."""
    path = folder / name
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise BadInput(f"{folder / DECIDED}: would write to {path}, outside of the library")
    return path


def _remove(draft: Path) -> None:
    if draft.is_dir():
        import shutil

        shutil.rmtree(draft, ignore_errors=True)


def _remove_others(folder: Path) -> None:
    """Take away the drafts of runs that were killed while they wrote them."""
    for left in folder.glob(".backport.*.part"):
        try:
            os.kill(int(left.name.split(".")[2]), 0)
        except ProcessLookupError:
            _remove(left)
        except (ValueError, OSError):  # no draft, or that of somebody else
            continue


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While other runs wait, as far as the file system knows locks."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C and the like wait for a moment."""
    import signal

    waiting = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
