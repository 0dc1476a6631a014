"""Write what could stand for a hunk into the library: what the tool proposes, or what people
decided for another target. A person reads it before it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backport.core.manifest_writing import patch_file
from backport.core.outcomes import HunkResult, Proposal
from backport.core.paths import encode
from backport.core.reports import Offer, Report, TargetReport
from backport.core.stack_writing import quoted
from backport.errors import BadInput
from backport.library import Library
from backport.writing import write_files


class _Taken(NamedTuple):
    """An entry for one target's manifest, the text of its patch file, and what is left to do."""

    target: str
    hunk: HunkResult
    lines: list[str]
    patch: str
    left: str


def accept_proposals(library: Library, report: Report, ids: Sequence[str]) -> list[str]:
    """Each entry and its patch, written for the one target that it is for; tells the files.

    An id is that of a hunk, whose proposal is taken, or `HUNK=TARGET`, and then what was
    decided for that target. The reason of a proposal is left empty, so that the manifest is
    refused until a person has read the patch. Raises BadInput where no target of the report
    has such a thing for the hunk, or several do.
    """
    chosen = [_chosen(report, wanted) for wanted in dict.fromkeys(ids)]
    return [_write(library, taken) for taken in chosen]


def _chosen(report: Report, wanted: str) -> _Taken:
    failed = [
        (target, hunk)
        for target in report.targets
        for stack in target.stacks
        for hunk in stack.result.hunks
        if hunk.outcome.failed
    ]
    known = any(str(hunk.id) == wanted for _, hunk in failed)
    key, _, made = (wanted, "", "") if known or "=" not in wanted else wanted.rpartition("=")
    mine = [(target, hunk) for target, hunk in failed if str(hunk.id) == key]
    found = [
        taken for each in mine for taken in (_decided(*each, made) if made else _proposed(*each))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(taken.target for taken in found)
        what = "an offer" if made else "a proposal"
        raise BadInput(f"{wanted}: {names} have {what} each; accept it for one --target")
    raise BadInput(f"{wanted}: {_nothing(mine, made)}; see `backport check`")


def _nothing(mine: Sequence[tuple[TargetReport, HunkResult]], made: str) -> str:
    """Why nothing can be taken, and what could be instead."""
    offers = [offer.made for target, hunk in mine for offer in target.offers.get(str(hunk.id), ())]
    if made:
        return f"nothing that was decided for {made} is offered for this hunk"
    if offers:
        names = ", ".join(f"={name}" for name in dict.fromkeys(offers))
        return f"there is no proposal for this hunk, but what was decided elsewhere: add {names}"
    return "there is no proposal for this hunk"


def _proposed(target: TargetReport, hunk: HunkResult) -> list[_Taken]:
    found = hunk.proposal
    if found is None:
        return []
    left = "whose evidence is made; read them, give the reason"
    return [_Taken(target.target, hunk, _entry(hunk, found), found.patch, left)]


def _decided(target: TargetReport, hunk: HunkResult, made: str) -> list[_Taken]:
    offers = [o for o in target.offers.get(str(hunk.id), ()) if _called(o.made, made)]
    left = "as it was decided there; read whether it holds here as well"
    return [
        _Taken(target.target, hunk, [_origin(offer), *offer.lines], offer.diff, left)
        for offer in offers
    ]


def _called(target: str, said: str) -> bool:
    """True where a person may mean the target by this: `me/v0.28.0`, `v0.28.0` or `0.28.0`."""
    version = target.rpartition("/")[2]
    return said in (target, version, version.removeprefix("v"))


def _origin(offer: Offer) -> str:
    return f"# as it was decided for {offer.made} ({offer.match})"


def _write(library: Library, taken: _Taken) -> str:
    manifest = library.manifest(taken.target)
    before = (library.root / manifest.source).read_bytes().rstrip(b"\n")
    entry = encode("\n".join(["", *taken.lines, ""]))
    files: dict[str, bytes | None] = {manifest.source: before + b"\n" + entry}
    patch = ""
    if taken.patch:
        patch = f"{manifest.source.removesuffix('.toml')}/{patch_file(taken.hunk.id)}"
        files[patch] = encode(taken.patch)
    write_files(library.root, files)
    return f"{f'{patch} and ' if patch else ''}an entry in {manifest.source}, {taken.left}"


def _entry(hunk: HunkResult, found: Proposal) -> list[str]:
    rules = ", ".join(found.rules)
    return [
        f"# proposed by rule {rules}: {found.counted}. Read the patch, then say why it is right.",
        "[[replace]]",
        f"hunk   = {quoted(str(hunk.id))}",
        f"patch  = {quoted(patch_file(hunk.id))}",
        'reason = ""',
        _when(hunk, found),
    ]


def _when(hunk: HunkResult, found: Proposal) -> str:
    """What was found true of the target, else a line of it that the patch stands on."""
    side, _, said = hunk.evidence.partition(" ")
    return f"when   = {{ {side or 'present'} = {quoted(said or _stands_on(hunk, found))} }}"


def _stands_on(hunk: HunkResult, found: Proposal) -> str:
    """A line of the target that the patch stands on: the longest, as the likeliest to be alone."""
    body = found.patch.partition("\n@@")[2].split("\n")[1:]
    there = [line[1:].strip() for line in body if line[:1] in ("-", " ") and line.strip()]
    line = max(there, key=len, default="")
    return f"{hunk.path}: {line}" if line else hunk.path
