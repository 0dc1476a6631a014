"""Every format that one report can be written in."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from backport.core.reports import Report

_RENDERERS = {
    "json": ("machine", "as_json"),
    "junit": ("junit", "as_junit"),
    "sarif": ("sarif", "as_sarif"),
    "github": ("github", "as_github"),
    "buildkite": ("buildkite", "as_buildkite"),
    "markdown": ("markdown", "as_markdown"),
    "html": ("html", "as_html"),
    "text": ("plain", "as_text"),
}
FORMATS = tuple(_RENDERERS)


def rendered(name: str, report: Report) -> object:
    """The report in one format: text, or the texts of a CI that takes several."""
    module, function = _RENDERERS[name]  # imported late: a run pays for what it asks for
    found = importlib.import_module(f"backport.report.{module}")
    render: Callable[[Report], object] = getattr(found, function)
    return render(report)
