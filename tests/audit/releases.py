"""Real releases as trees, read from the cached repository; fetched when absent."""

from __future__ import annotations

from functools import cache

from backport.audit import Auditor, Options
from backport.core.trees import Tree
from backport.sources import cache_dir
from backport.workflows.repositories import cached
from tests.audit.builders import OWN


@cache
def release(version: str) -> Tree:
    """The tree of a release, e.g. "0.28.0"."""
    repository = cached([f"v{version}"], lambda *_: None)
    return repository.tree(repository.base(f"v{version}"))


@cache
def auditor(version: str) -> Auditor:
    """The auditor of a release; its table is the one that the tool itself keeps."""
    return Auditor(release(version), Options(cache=cache_dir() / "tables", checks=OWN))
