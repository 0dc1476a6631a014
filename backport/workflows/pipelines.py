"""Pipelines that spread the checks over a CI's own machines, a shard for each stack and target.

Applying is cheap, so a shard works its whole target out and reports its own stack;
what the machines are for is the parity of fused kernels, which needs GPUs.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from backport.core.manifests import Manifest
from backport.library import Library

MATRIX_LIMIT = 256  # jobs that GitHub makes of one matrix
REPORTS = "backport-report"
_PYTHON = "python -m backport"


@dataclass(frozen=True, slots=True)
class Shard:
    """One stack on one target; stack "" is the target as a whole."""

    target: str
    stack: str
    parity: bool = False

    @property
    def name(self) -> str:
        return f"{self.target} {self.stack}".rstrip()

    @property
    def slug(self) -> str:
        """A file name that no other shard has."""
        kind = "parity" if self.parity else "check"
        plain = re.sub(r"[^a-z0-9.]+", "-", self.name.lower()).strip("-.")
        told = hashlib.sha256(self.name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        return f"{kind}-{plain}-{told}"


def shards(manifests: Sequence[Manifest], limit: int = MATRIX_LIMIT) -> list[Shard]:
    """A shard for each stack that a target does not skip, or one a target where they are too many.

    A target that skips every stack has one of its own: its evidence is still checked.
    """
    pairs = [
        Shard(manifest.name, stack) for manifest in manifests for stack in _taken(manifest) or [""]
    ]
    if len(pairs) > limit:
        pairs = [Shard(manifest.name, "") for manifest in manifests]
    return pairs


def _taken(manifest: Manifest) -> list[str]:
    return [stack for stack in manifest.stacks if not manifest.skip_of(stack)]


def parity_shards(library: Library, manifests: Sequence[Manifest]) -> list[Shard]:
    """A shard for each stack that has fused kernels to compare, on each target that takes it."""
    return [
        Shard(manifest.name, stack, parity=True)
        for manifest in manifests
        for stack in _taken(manifest)
        if library.stacks[stack].parity
    ]


def expected(manifests: Sequence[Manifest]) -> Iterator[tuple[str, str]]:
    """The (target, stack) pairs that the shards together have to tell."""
    for manifest in manifests:
        for stack in _taken(manifest) or [""]:
            yield manifest.name, stack


def check_words(shard: Shard) -> list[str]:
    """The arguments of the shard's own check."""
    words = ["check", "--target", shard.target]
    words += ["--stack", shard.stack] if shard.stack else []
    words += ["--no-audit"] if shard.parity else ["--no-parity"]
    return [*words, "--out", f"json={REPORTS}/{shard.slug}.json"]


# ---------------------------------------------------------------- GitHub


def github(library: Library, manifests: Sequence[Manifest], queues: Sequence[str]) -> str:
    """Two step outputs, `matrix` and `parity`, which a workflow reads with `fromJSON`."""
    checks = [_job(shard) for shard in shards(manifests)]
    parity = [
        {**_job(shard), "runner": json.dumps(queue.split(","))}
        for shard in parity_shards(library, manifests)
        for queue in queues
    ]
    return "".join(
        f"{key}={json.dumps({'include': jobs} if jobs else {})}\n"
        for key, jobs in (("matrix", checks), ("parity", parity[:MATRIX_LIMIT]))
    )


def _job(shard: Shard) -> dict[str, str]:
    return {
        "name": shard.name,
        "target": shard.target,
        "stack": shard.stack,
        "slug": shard.slug,
    }


# ---------------------------------------------------------------- Buildkite


def buildkite(
    library: Library,
    manifests: Sequence[Manifest],
    queues: Sequence[str],
    repo: str | None = None,
    queue: str | None = None,
) -> str:
    """The steps for `buildkite-agent pipeline upload`; JSON is YAML too."""
    where = {"agents": {"queue": queue}} if queue else {}
    steps: list[dict[str, Any]] = [
        {
            "group": "backport: check",
            "key": "backport-check",
            "steps": [_step(shard, repo, where) for shard in shards(manifests)],
        }
    ]
    parity = [
        _step(shard, repo, {"agents": {"queue": gpu}}, f" ({gpu})")
        for shard in parity_shards(library, manifests)
        for gpu in queues
    ]
    if parity:
        steps.append({"group": "backport: parity", "key": "backport-parity", "steps": parity})
    steps.append(_merge_step([step["key"] for step in steps], where))
    return json.dumps({"steps": steps}, indent=2) + "\n"


def _step(shard: Shard, repo: str | None, where: dict[str, Any], more: str = "") -> dict[str, Any]:
    words = [*check_words(shard), "--out", "buildkite", *(["--repo", repo] if repo else [])]
    what = "parity" if shard.parity else "check"
    return {
        "label": _literal(f"{what}: {shard.name}{more}"),
        "command": _literal(f"{_PYTHON} {shlex.join(words)}"),
        "artifact_paths": [f"{REPORTS}/*.json"],
        "soft_fail": [{"exit_status": 1}],  # the merged report fails the build
        "retry": {"automatic": [{"exit_status": -1, "limit": 2}]},
        **where,
    }


def _merge_step(after: list[str], where: dict[str, Any]) -> dict[str, Any]:
    merge = (
        f"{_PYTHON} report merge {REPORTS}/*.json --complete --out buildkite "
        f"--out junit={REPORTS}/junit-backport.xml --out html={REPORTS}/backport.html"
    )
    return {
        "label": "backport: report",
        "key": "backport-report",
        "depends_on": [{"step": key, "allow_failure": True} for key in after],
        "commands": [f"buildkite-agent artifact download '{REPORTS}/*.json' .", merge],
        "artifact_paths": [f"{REPORTS}/junit-backport.xml", f"{REPORTS}/backport.html"],
        **where,
    }


def _literal(text: str) -> str:
    """Text that `pipeline upload` takes as it is: a dollar sign would name a variable."""
    return text.replace("$", "$$")
