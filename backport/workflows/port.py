"""Carry a manifest to another release: write the new one, and tell what a person must decide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from backport.checkout import Checkout
from backport.core.manifest_format import read_manifest
from backport.core.manifest_writing import entry_lines, render_manifest
from backport.core.manifests import Manifest, Skip
from backport.core.outcomes import StackResult, Status
from backport.core.porting import Ported, port, replacements
from backport.core.reports import Offer, TargetReport
from backport.core.trees import Entry
from backport.core.unplaced import with_evidence
from backport.errors import BadInput
from backport.library import Library
from backport.report.plain import paste_block
from backport.sources import plain_version
from backport.workflows.apply import check_target
from backport.workflows.explaining import explain
from backport.workflows.memory import offered
from backport.workflows.options import Options
from backport.workflows.preimages import preimages
from backport.writing import write_files

_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOT_OF_A_DRAFT = ("lock", "parity")  # the one comes with `apply --lock`, the other with `apply`


class Porting(NamedTuple):
    """A manifest for another release, as it would be written, and what is to be told of it."""

    old: Manifest
    ported: Ported
    text: str
    patches: dict[str, bytes]
    offers: dict[str, tuple[Offer, ...]]
    report: TargetReport | None = None
    overwrites: bool = False

    @property
    def done(self) -> bool:
        """True where nothing is left to decide and every check is good."""
        clean = self.report is None or self.report.verdict == "clean"
        return clean and not self.ported.undecided


def named(library: Library, old: Manifest, to: str, stacks: Sequence[str]) -> Manifest:
    """The empty manifest for what a person means by `to`, with the old one's owner and order.

    Raises BadInput where `to` names no target, or a stack lacks one that it stands on.
    """
    owner, slash, version = to.rpartition("/")
    release = plain_version(version)
    version = f"v{release}" if release else version
    if not _VERSION.fullmatch(version) or (slash and not _VERSION.fullmatch(owner)):
        raise BadInput(f"{to!r} is no release or target such as 0.29.0 or moreh/v0.29.0")
    owner = owner or old.name.rpartition("/")[0]
    branch = old.branch.replace(old.version, version)
    if branch == old.branch:
        branch = f"{owner}/{version}"
    kept = tuple(name for name in old.stacks if not stacks or name in stacks)
    for name in kept:
        for first in library.stacks[name].after:
            if first in old.stacks and first not in kept:
                raise BadInput(f"{name} stands on {first}; add --stack {first}")
    source = f"manifests/{owner}/{version}.toml"
    return Manifest(f"{owner}/{version}", version, branch, kept, source=source)


def prepare(
    library: Library, old: Manifest, new: Manifest, checkout: Checkout, options: Options
) -> Porting:
    """The old manifest carried to the new one's base; nothing is written yet."""
    commit = checkout.base(new.base)
    base = checkout.tree(commit)
    was = checkout.tree(checkout.base(old.base))  # without it no line could be evidence
    base.prefetch({path for name in new.stacks for path in library.stacks[name].paths()})
    sources = preimages(checkout, library.stacks)
    ported = port(old, new, library.stacks, base, was, sources)
    ported = _explained(library, ported, checkout, commit)
    ported = _telling(ported, with_evidence(ported.results, library.stacks, base, sources))
    results = {result.stack: result for result in ported.results}
    offers = offered(library, ported.manifest, results, base, sources)
    found = Porting(old, ported, "", _patches(library, old, ported.manifest), offers)
    kept = {entry.stack for entry in found.ported.manifest.skips}
    judged = _judged(library, old, found, checkout, options) if set(new.stacks) - kept else found
    text = render_manifest(judged.ported.manifest, _remarks(judged))
    return judged._replace(text=text, overwrites=(library.root / new.source).exists())


def _explained(library: Library, ported: Ported, checkout: Checkout, commit: str) -> Ported:
    """The same, with each conflict explained as far as the repository can tell."""
    results = []
    under: dict[str, Entry | None] = {}
    for result in ported.results:
        stack = library.stacks[result.stack]
        results.append(explain(checkout, commit, stack, result, under))
        under |= result.changes
    return _telling(ported, results)


def _telling(ported: Ported, results: Sequence[StackResult]) -> Ported:
    """The same with these results, which say more of the same outcomes."""
    told = {hunk.id: hunk for result in results for hunk in result.hunks}
    undecided = tuple(
        item._replace(hunk=told.get(item.hunk.id, item.hunk)) for item in ported.undecided
    )
    return ported._replace(results=tuple(results), undecided=undecided)


def _patches(library: Library, old: Manifest, new: Manifest) -> dict[str, bytes]:
    folder = (library.root / old.source).with_suffix("")
    return {name: (folder / name).read_bytes() for name in replacements(new)}


def _judged(
    library: Library, old: Manifest, found: Porting, checkout: Checkout, options: Options
) -> Porting:
    """The porting with the checks of the new target, and the acceptances that they still need."""
    manifest = found.ported.manifest._replace(accepts=old.accepts)
    report, _ = check_target(library, _read_back(library, manifest, found), checkout, options)
    unused = {
        finding.symbol
        for check in report.checks
        if check.name == "accepted" and check.status is Status.FAILED
        for finding in check.findings
    }
    accepts = tuple(
        entry for entry in old.accepts if f"{entry.code} {entry.path} {entry.symbol}" not in unused
    )
    manifest = found.ported.manifest._replace(accepts=accepts)
    left_out = (*_NOT_OF_A_DRAFT, *["accepted"] * bool(unused))
    checks = tuple(check for check in report.checks if check.name not in left_out)
    return found._replace(
        ported=found.ported._replace(manifest=manifest), report=report._replace(checks=checks)
    )


def _read_back(library: Library, manifest: Manifest, found: Porting) -> Manifest:
    """The manifest as it will be read from its file: what is written must be what was tried."""
    text = render_manifest(manifest)
    read, problems = read_manifest(
        manifest.name, manifest.source, text, library.stacks, found.patches
    )
    if problems:
        raise BadInput(problems)
    return read


def _remarks(found: Porting) -> list[str]:
    """What is left to decide, as comments below the entries: to be completed or deleted."""
    lines: list[str] = []
    for item in found.ported.undecided:
        lines += ["", f"to decide: {item.hunk.detail or item.hunk.outcome} [{item.hunk.outcome}]"]
        lines += paste_block(item.hunk)
    for stack, evidence in found.ported.taken.items():
        lines += ["", "or, if upstream took the change in another form:"]
        lines += entry_lines(Skip("", (evidence,), "", stack))
    return lines[1:]


def be_whole(new: Manifest, known: Manifest | None) -> None:
    """Raises BadInput where the new manifest would take the place of one that lists more."""
    lost = [stack for stack in (known.stacks if known else ()) if stack not in new.stacks]
    if lost:
        raise BadInput(
            f"{new.source} lists {', '.join(lost)} too, and all that is decided about them would "
            "be lost; port every stack, or give another name with --to owner/version"
        )


def write(root: Path, found: Porting, force: bool) -> list[Path]:
    """Write the manifest and the patches that it names; raises BadInput where one is there.

    With `force` what is there is replaced, its replacement patches included.
    """
    path = root / found.ported.manifest.source
    if path.exists() and not force:
        raise BadInput(
            f"{found.ported.manifest.source} exists; look at the report with --dry-run, "
            "or give --force to replace it"
        )
    source = found.ported.manifest.source
    beside = source.removesuffix(".toml")
    files: dict[str, bytes | None] = {f"{beside}/{name}": d for name, d in found.patches.items()}
    files[source] = found.text.encode()
    stale = [old.name for old in sorted(path.with_suffix("").glob("*.patch"))]
    files |= {f"{beside}/{name}": None for name in stale if name not in found.patches}
    write_files(root, files)
    return [path, *(path.with_suffix("") / name for name in found.patches)]
