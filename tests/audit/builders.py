"""Trees as plain dicts, and what the audit says of a change to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from backport.audit import Options, audit
from backport.audit.catalogue import CHECKS
from backport.audit.compiles import blob_id
from backport.core.outcomes import CheckResult, Finding
from backport.core.trees import REGULAR, Entry

Texts = Mapping[str, str | None]


@dataclass(frozen=True)
class Files:
    """A tree of the texts of a dict."""

    texts: Mapping[str, str]

    def entry(self, path: str) -> Entry | None:
        return Entry(REGULAR, self.texts[path].encode()) if path in self.texts else None

    def paths(self) -> Mapping[str, str]:
        return {path: blob_id(text.encode()) for path, text in self.texts.items()}


def files(texts: Texts) -> Files:
    """A tree; the texts may be indented as the code around them is."""
    return Files({path: dedent(text) for path, text in texts.items() if text is not None})


def results(base: Texts, change: Texts, **options: Any) -> dict[str, CheckResult]:
    """The results of the audit by the name of the check."""
    changes = {
        path: None if text is None else Entry(REGULAR, dedent(text).encode())
        for path, text in change.items()
    }
    found = audit(files(base), changes, options=Options(processes=1, **options))
    return {result.name: result for result in found}


def findings(base: Texts, change: Texts, **options: Any) -> list[Finding]:
    """Everything that the change made worse."""
    return [f for result in results(base, change, **options).values() for f in result.findings]


def said(base: Texts, change: Texts, **options: Any) -> list[str]:
    """The findings in short: path, line, code and symbol."""
    options.setdefault("checks", OWN)
    found = findings(base, change, **options)
    return [f"{f.path}:{f.line} {f.code} {f.symbol}" for f in found]


OWN = frozenset(CHECKS) - {"ruff", "ty"}
"""All checks but the opinions of other tools."""
