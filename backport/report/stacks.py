"""One stack in words: what it is, its patches, and where each hunk landed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from backport.core.display import counted
from backport.core.outcomes import HunkResult
from backport.core.paths import decode
from backport.core.reports import TargetReport
from backport.core.stacks import Stack
from backport.report.machine import hunk_json

_FLAG = re.compile(r"\bVLLM_[A-Z0-9_]+\b")
_GATE = re.compile(r"def ((?:is_|_?can_|_?use_|_?has_|_?needs_)\w+|\w+_(?:supported|enabled))\(")
SHARED = ("vllm/",)
VENDOR_WORDS = ("rocm", "amd", "nvidia", "cuda", "xpu", "tpu", "cpu")


def stack_text(stack: Stack, reports: list[TargetReport]) -> str:
    """The stack for a person to read."""
    lines = [f"{stack.name} ({stack.kind}, home {stack.home}, digest {stack.digest})", stack.title]
    lines += [f"  {line}" for line in _origin(stack)]
    lines += ["", *stack.why.split("\n"), ""]
    for patch in stack.patches:
        lines.append(f"{patch.name}: {patch.subject}")
    lines += ["", f"shared surface: {shared_surface(stack)}", f"gates: {gates(stack)}", ""]
    landed = {report.target: _landed(stack, report) for report in reports}
    for hunk_id, _, _, _ in stack.hunks():
        lines.append(str(hunk_id))
        for target, results in landed.items():
            lines += [f"  {target}: {line}" for line in _places(results.get(str(hunk_id)))]
    for report in reports:
        lines += [f"{report.target}: {line}" for line in _whole(stack, report)]
    return "\n".join(lines) + "\n"


def _origin(stack: Stack) -> Iterator[str]:
    up = stack.upstream
    if up.repo:
        pull = f"#{up.pull}" if up.pull else ""
        commits = counted(len(up.commits), "commit")
        yield f"upstream {up.repo}{pull} ({up.state}), {up.relation}, {commits}"
    for project, version in stack.requires.items():
        yield f"requires {project} {version}"
    if stack.retire:
        yield f"retire {stack.retire}"


def shared_surface(stack: Stack) -> str:
    """The stack's files that are nobody's own: those outside vendor folders and tests."""
    files = [path for path in stack.paths() if path.startswith(SHARED) and not _vendor(path)]
    return ", ".join(files) or "none"


def gates(stack: Stack) -> str:
    """What the stack's added lines read to decide: environment flags, and predicates it defines."""
    added = [
        decode(line)
        for patch in stack.patches
        for file in patch.files
        if file.path.startswith(SHARED)
        for hunk in file.hunks
        for line in hunk.added
    ]
    found = {name for line in added for name in _GATE.findall(line) if name}
    flags = {name for line in added for name in _FLAG.findall(line)}
    return ", ".join([*sorted(flags), *sorted(found)]) or "none"


def _vendor(path: str) -> bool:
    words = path.lower().replace(".", "/").replace("_", "/").split("/")
    return any(word in VENDOR_WORDS for word in words)


def _landed(stack: Stack, report: TargetReport) -> dict[str, HunkResult]:
    return {
        str(hunk.id): hunk
        for entry in report.stacks
        if entry.result.stack == stack.name
        for hunk in entry.result.hunks
    }


def _places(hunk: HunkResult | None) -> Iterator[str]:
    if hunk:
        place = f" at line {hunk.line}" if hunk.line else ""
        offset = f" ({hunk.offset:+d})" if hunk.offset else ""
        why = hunk.reason or hunk.detail
        yield f"{hunk.outcome}{place}{offset}{f': {why}' if why else ''}"


def _whole(stack: Stack, report: TargetReport) -> Iterator[str]:
    if report.error:
        yield f"error: {report.error}"
    for entry in report.stacks:
        if entry.result.stack == stack.name:
            reason = f": {entry.result.reason}" if entry.result.reason else ""
            yield f"{entry.result.outcome}{reason}"


def stack_json(stack: Stack, reports: list[TargetReport]) -> str:
    """The same for a machine."""
    content = {
        "schema": 1,
        "name": stack.name,
        "title": stack.title,
        "kind": stack.kind,
        "home": stack.home,
        "digest": stack.digest,
        "patches": [patch.name for patch in stack.patches],
        "shared_surface": shared_surface(stack),
        "gates": gates(stack),
        "hunks": [str(hunk_id) for hunk_id, _, _, _ in stack.hunks()],
        "targets": {
            report.target: {
                "error": report.error or None,
                "hunks": [hunk_json(hunk) for hunk in _landed(stack, report).values()],
            }
            for report in reports
        },
    }
    return json.dumps(content, indent=1) + "\n"
