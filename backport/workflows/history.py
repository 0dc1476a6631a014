"""The last result of every target of a repository, and the one before something changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from backport.cache import ResultCache, read_values, state_folder, write_values
from backport.checkout import Checkout
from backport.core.manifests import Manifest
from backport.core.reports import Report, StackHead, TargetReport
from backport.library import Library
from backport.report.machine import report_values
from backport.report.reading import NotAReport, parse_report
from backport.workflows.checking import Told, check_targets, mark_of
from backport.workflows.options import Options


def check_and_record(
    library: Library,
    manifests: Sequence[Manifest],
    reader: Checkout,
    options: Options,
    cache: ResultCache | None,
    jobs: int | None,
    told: Told,
) -> Report:
    """Check the targets; with a cache the result is also noted as the last one."""
    keys: list[str] = []
    report = check_targets(
        library, manifests, reader, options, cache=cache, jobs=jobs, told=told, keys=keys
    )
    if cache:
        record(reader.common_dir, report, mark_of(keys, library))
    return report


def record(common_dir: Path, report: Report, mark: str = "") -> None:
    """Note the report's targets as the last result; targets that were not checked stay.

    `mark` names what the report was made of: the same mark twice is the same result.
    """
    folder = state_folder(common_dir) / "history"
    values = read_values(folder / "mark.json")
    if mark and values == {"mark": mark}:
        return
    write_values(folder / "mark.json", {})  # until the new result stands
    last = _read(folder / "last.json")
    joined = join([last, report]) if last else report
    if write_values(folder / "last.json", report_values(joined)) and mark:
        write_values(folder / "mark.json", {"mark": mark})


def last_result(common_dir: Path) -> Report | None:
    """What the last checks said, or None where there were none."""
    return _read(state_folder(common_dir) / "history" / "last.json")


def join(reports: list[Report]) -> Report:
    """The targets and stacks of all reports; where two tell of one, the later counts."""
    targets: dict[str, TargetReport] = {}
    heads: dict[str, StackHead] = {}
    for report in reports:
        targets.update((target.target, target) for target in report.targets)
        heads.update((head.name, head) for head in report.stacks)
    return Report(tuple(targets.values()), tuple(heads.values()))


def _read(path: Path) -> Report | None:
    values = read_values(path)
    try:
        return parse_report(json.dumps(values)) if values else None
    except NotAReport:
        return None
