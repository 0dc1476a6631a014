"""How things stand now, and what is different from an earlier result."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from backport.cache import ResultCache
from backport.checkout import Checkout
from backport.core.outcomes import Status
from backport.core.paths import encode, unsafe
from backport.core.reports import Report, TargetReport
from backport.core.trees import SYMLINK
from backport.errors import BackportError, BadInput
from backport.library import Library, load_all
from backport.report.reading import NotAReport, parse_report
from backport.workflows.checking import check_targets
from backport.workflows.history import last_result
from backport.workflows.options import Options

LAST = "last"
OPTIONS = Options(write=False, parity=False)  # what `check` does by default, without GPUs


def now(library: Library, reader: Checkout, told: Report | None) -> Report:
    """Every target as it stands, worked out only where it is not known.

    Parity is not run again: what the last check said of the very same tree counts.
    """
    cache = ResultCache.beside(reader.common_dir)
    report = check_targets(library, list(library.manifests.values()), reader, OPTIONS, cache=cache)
    last = {target.target: target for target in told.targets} if told else {}
    targets = tuple(_with_parity(target, last.get(target.target)) for target in report.targets)
    return report._replace(targets=targets)


def _with_parity(target: TargetReport, last: TargetReport | None) -> TargetReport:
    if last is None or target.tree is None or last.tree != target.tree:
        return target
    known = {check.name: check for check in last.checks if check.status is not Status.NOT_RUN}
    checks = (
        known.get(check.name, check) if check.name == "parity" else check for check in target.checks
    )
    return target._replace(checks=tuple(checks))


def result_of(ref: str, library: Library, reader: Checkout) -> Report:
    """An earlier result: a report's file, `last`, or the library as it was at a revision of git.

    Raises BadInput where `ref` is none of these.
    """
    if ref == LAST:
        found = last_result(reader.common_dir)
        if found is None:
            raise BadInput("there is no result of an earlier check of this repository")
        return found
    path = Path(ref)
    if path.is_file():
        try:
            return parse_report(path.read_bytes())
        except NotAReport as error:
            raise BadInput(f"{ref}: {error}") from None
    return _at_revision(ref, library, reader)


def _at_revision(ref: str, library: Library, reader: Checkout) -> Report:
    try:
        own = Checkout.open(library.root, search=True)
    except BackportError:
        raise BadInput(
            f"{ref!r} is no report's file, and the library is in no repository"
        ) from None
    with own, tempfile.TemporaryDirectory(prefix="backport-") as folder:
        commit = own.commit_id(ref)
        if commit is None:
            raise BadInput(f"{ref!r} is neither a report's file nor a revision of the library")
        _export(own, commit, library.root, Path(folder))
        then, manifests = load_all(Path(folder))
        cache = ResultCache.beside(reader.common_dir)
        return check_targets(then, manifests, reader, OPTIONS, cache=cache)


def _export(own: Checkout, commit: str, root: Path, folder: Path) -> None:
    """Write the library's own files as they were at the commit."""
    tree = own.tree(commit)
    inside = root.resolve().relative_to(Path(own.shown).resolve()).as_posix()
    prefix = "" if inside == "." else f"{inside}/"
    for top in ("patches", "manifests"):
        (folder / top).mkdir()
    for path in tree.paths():
        name = path.removeprefix(prefix)
        ours = path.startswith(prefix) and name.startswith(("patches/", "manifests/"))
        if not ours or unsafe(name):
            continue
        entry = tree.entry(path)
        if entry is None or entry.mode == SYMLINK:
            continue
        with suppress(ValueError):  # a name that this system cannot have
            target = folder / encode(name).decode()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(entry.data)
