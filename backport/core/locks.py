"""Lock files: what was placed where and what came of it, to be compared in every run.

Blob ids of the touched paths hold on every machine; a tree id holds for one base
commit only, since a release archive and the git tag differ in generated files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from backport.core.evaluating import Evaluation
from backport.core.manifests import Manifest
from backport.core.objects import blob_id
from backport.core.outcomes import CheckResult, Finding, Severity, Status
from backport.core.stacks import Stack
from backport.core.trees import Entry, Tree

SCHEMA = 1


def lock_content(
    manifest: Manifest,
    stacks: Mapping[str, Stack],
    evaluation: Evaluation,
    base: Tree,
    commit: str,
    tree: str,
) -> dict[str, Any]:
    """What the lock file records of one run."""
    return {
        "schema": SCHEMA,
        "target": manifest.name,
        "base": {"name": manifest.base, "commit": commit},
        "tree": tree,
        "stacks": [
            {
                "name": result.stack,
                "digest": stacks[result.stack].digest,
                "outcome": str(result.outcome),
                "hunks": [
                    {"id": str(hunk.id), "outcome": str(hunk.outcome), "line": hunk.line}
                    for hunk in result.hunks
                ],
            }
            for result in evaluation.results
        ],
        "files": {
            path: {"before": _blob(base.entry(path)), "after": _blob(entry)}
            for path, entry in sorted(evaluation.changes.items())
        },
    }


def _blob(entry: Entry | None) -> str | None:
    return blob_id(entry.data) if entry else None


def render_lock(content: Mapping[str, Any]) -> str:
    """The text of the lock file; the same run gives the same bytes."""
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def compare_lock(file: str, text: str | None, now: Mapping[str, Any]) -> CheckResult:
    """Compare a run with its lock; a hunk that moved and a blob that changed are named."""
    if text is None:
        return CheckResult("lock", Status.NOT_RUN, note=f"there is no {file}; write it with --lock")
    try:
        then = json.loads(text)
        problems = _differences(then, now)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        problems = [f"is damaged ({error}); write it again with `backport apply --lock`"]
    findings = tuple(
        Finding(
            file,
            0,
            0,
            Severity.ERROR,
            "lock",
            problem,
            problem,
            "read what changed, then write the lock again with `backport apply --lock`",
        )
        for problem in problems
    )
    return CheckResult("lock", Status.FAILED if findings else Status.PASSED, findings)


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    if then["schema"] != SCHEMA:
        return [f"has schema {then['schema']}, this tool writes {SCHEMA}"]
    out = []
    if [stack["name"] for stack in then["stacks"]] != [stack["name"] for stack in now["stacks"]]:
        out.append("the list of stacks changed")
    before = {stack["name"]: stack for stack in then["stacks"]}
    for stack in now["stacks"]:
        if stack["name"] in before:
            out += _stack_differences(before[stack["name"]], stack)
    same_base = then["base"]["commit"] == now["base"]["commit"]
    out += _file_differences(then["files"], now["files"])
    if same_base and then["tree"] != now["tree"] and not out:
        out.append(f"the tree is {now['tree']}, it was {then['tree']}")
    return out


def _stack_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    name = now["name"]
    out = []
    if then["digest"] != now["digest"]:
        out.append(f"{name}: the patches changed ({then['digest']} -> {now['digest']})")
    if then["outcome"] != now["outcome"]:
        out.append(f"{name}: was {then['outcome']}, is {now['outcome']}")
    places = {hunk["id"]: hunk for hunk in then["hunks"]}
    for hunk in now["hunks"]:
        was = places.get(hunk["id"])
        if was and was["line"] != hunk["line"]:
            out.append(f"{hunk['id']} moved from line {was['line']} to {hunk['line']}")
        if was and was["outcome"] != hunk["outcome"]:
            out.append(f"{hunk['id']} was {was['outcome']}, is {hunk['outcome']}")
    return out


def _file_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    out = []
    for path in sorted({*then, *now}):
        was, new = then.get(path), now.get(path)
        if was is None or new is None:
            out.append(
                f"{path}: {'is' if new else 'was'} changed, and {'was' if new else 'is'} not"
            )
        elif was["before"] != new["before"]:
            out.append(
                f"{path}: the base has {new['before']}, the lock was made on {was['before']}"
            )
        elif was["after"] != new["after"]:
            out.append(f"{path}: the result is {new['after']}, it was {was['after']}")
    return out
