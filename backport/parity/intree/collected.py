"""The child of `carried`: run test files of a booted tree, and tell what became of each test.

usage: python -m backport.parity.intree.collected REQUEST ANSWER

The machine is a ROCm one without AITER and without a GPU: a test that asks for either
is skipped, by its own condition or because torch cannot give it a device.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from backport.parity.intree.booted import boot

NO_GPU = "it asks for a GPU"
USAGE_ERROR = 4  # what pytest returns, among others, where a conftest does not import
QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore", "--continue-on-collection-errors")


class Recorder:
    """A pytest plugin: per file, what was collected, passed, failed, or did not run and why."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = {name: self._blank() for name in files}

    @staticmethod
    def _blank() -> dict[str, Any]:
        return {"collected": 0, "passed": 0, "failed": {}, "not_run": {}, "problem": ""}

    def _file(self, nodeid: str) -> dict[str, Any]:
        return self.files.setdefault(nodeid.partition("::")[0], self._blank())

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            lines = str(report.longrepr).strip().splitlines()
            self._file(report.nodeid)["problem"] = lines[-1].removeprefix("E").strip()
        elif report.skipped:
            self._skipped(report, "the whole file")

    def pytest_itemcollected(self, item: Any) -> None:
        self._file(item.nodeid)["collected"] += 1
        item.add_marker("skip_global_cleanup")  # the tree's own word: no GPU to clean up after

    def pytest_runtest_setup(self, item: Any) -> None:
        _without_gpu()

    def pytest_runtest_teardown(self, item: Any) -> None:
        importlib.import_module("torch").set_default_device(None)

    def pytest_runtest_logreport(self, report: Any) -> None:
        found = self._file(report.nodeid)
        if report.failed:
            lines = str(report.longrepr).strip().splitlines()
            found["failed"][report.nodeid] = lines[-1]
        elif report.skipped:
            self._skipped(report, report.nodeid)
        elif report.when == "call":
            found["passed"] += 1

    def _skipped(self, report: Any, what: str) -> None:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        self._file(report.nodeid)["not_run"][what] = str(reason).removeprefix("Skipped: ")


def _without_gpu() -> None:
    """A request for a GPU ends the test as not run, instead of as an error of this torch."""
    pytest = importlib.import_module("pytest")

    def refuse(*_: Any) -> None:
        pytest.skip(NO_GPU)

    vars(importlib.import_module("torch.cuda"))["_lazy_init"] = refuse


def run(files: list[str]) -> dict[str, Any]:
    """The files' results, with the tree's own conftest where it imports."""
    pytest = importlib.import_module("pytest")
    for words in ((), ("--noconftest",)):
        recorder = Recorder(files)
        code = pytest.main([*QUIET, *words, *files], plugins=[recorder])
        if code != USAGE_ERROR:
            return {"files": recorder.files, "conftest": not words}
    return {"files": recorder.files, "conftest": False}


def main(request: str, answer: str) -> None:
    """Boot, run, tell."""
    asked = json.loads(Path(request).read_text("utf-8"))
    boot(asked["tree"], asked["chip"], with_aiter=False)
    Path(answer).write_text(json.dumps(run(asked["files"])), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
