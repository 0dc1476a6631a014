"""Write a proposal into the library: a patch file, and a `replace` entry for a person to finish."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from backport.core.manifests import Manifest
from backport.core.outcomes import HunkResult, Proposal
from backport.core.paths import encode
from backport.core.reports import Report, TargetReport
from backport.errors import BadInput, EnvironmentProblem
from backport.library import Library


def accept_proposals(library: Library, report: Report, ids: Sequence[str]) -> list[str]:
    """Each proposal's patch and entry, written for the one target that makes it; tells the files.

    The reason is left empty, so that the manifest is refused until a person has read
    the patch. Raises BadInput where no target of the report proposes anything for an id,
    or several do.
    """
    chosen = [_proposed(report, wanted) for wanted in dict.fromkeys(ids)]
    return [_write(library, target, hunk, found) for target, hunk, found in chosen]


def _proposed(report: Report, wanted: str) -> tuple[TargetReport, HunkResult, Proposal]:
    found = [
        (target, hunk, hunk.proposal)
        for target in report.targets
        for stack in target.stacks
        for hunk in stack.result.hunks
        if str(hunk.id) == wanted and hunk.proposal is not None
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(target.target for target, _, _ in found)
        raise BadInput(f"{wanted}: {names} have a proposal each; accept it for one --target")
    raise BadInput(f"{wanted}: there is no proposal for this hunk; see `backport check`")


def _write(library: Library, target: TargetReport, hunk: HunkResult, found: Proposal) -> str:
    manifest = library.manifest(target.target)
    path = library.root / manifest.source
    folder = path.with_suffix("")
    name = f"{_word(hunk.id.patch)}-{_word(hunk.path)}-{hunk.id.ordinal}.patch"
    try:
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(encode(found.patch))
        _append(path, "\n".join(["", *_entry(hunk, found, name), ""]))
    except OSError as error:
        raise EnvironmentProblem(f"{path}: cannot be written: {error.strerror}") from None
    return (
        f"{_shown(manifest)}/{name} and an entry in {manifest.source}, whose evidence is made; "
        "read them, give the reason"
    )


def _shown(manifest: Manifest) -> str:
    return manifest.source.removesuffix(".toml")


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "-", text.rpartition("/")[2]).strip("-.") or "hunk"


def _entry(hunk: HunkResult, found: Proposal, name: str) -> list[str]:
    rules = ", ".join(found.rules)
    counted = (
        f"{found.same} of {found.cases} such merges were right" if found.cases else "unmeasured"
    )
    return [
        f"# proposed by rule {rules}: {counted}. Read the patch, then say why it is right.",
        "[[replace]]",
        f"hunk   = {_quoted(str(hunk.id))}",
        f"patch  = {_quoted(name)}",
        'reason = ""',
        f"when   = {{ present = {_quoted(_evidence(hunk, found))} }}",
    ]


def _evidence(hunk: HunkResult, found: Proposal) -> str:
    """A line of the target that the patch stands on: the longest, as the likeliest to be alone."""
    body = found.patch.partition("\n@@")[2].split("\n")[1:]
    there = [line[1:].strip() for line in body if line[:1] in ("-", " ") and line.strip()]
    line = max(there, key=len, default="")
    return f"{hunk.path}: {line}" if line else hunk.path


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def _append(path: Path, text: str) -> None:
    part = path.with_suffix(".toml.part")
    before = path.read_text("utf-8")
    part.write_text(before.rstrip("\n") + "\n" + text, "utf-8")
    part.replace(path)
