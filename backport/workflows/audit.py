"""Audit a target's patched tree alone, with what the source's history says of its changes."""

from __future__ import annotations

from backport.checkout import Checkout
from backport.core.accepting import accept
from backport.core.evaluating import evaluate
from backport.core.manifests import Manifest
from backport.core.reports import StackReport, TargetReport
from backport.library import Library
from backport.mainline import taken_back
from backport.workflows.preimages import preimages
from backport.workflows.verify import verify


def audit_target(library: Library, manifest: Manifest, checkout: Checkout) -> TargetReport:
    """The target with the checks of its patched tree; parity and the lock are left out."""
    commit = checkout.base(manifest.base)
    base = checkout.tree(commit)
    base.prefetch({path for name in manifest.stacks for path in library.stacks[name].paths()})
    done = evaluate(manifest, library.stacks, base, preimages(checkout, library.stacks))
    history = taken_back(checkout, commit)
    checks = verify(library, manifest, base, done, checkout, audit=True, history=history)
    return TargetReport(
        manifest.name,
        manifest.branch,
        commit,
        None,
        tuple(StackReport(result) for result in done.results),
        accept((*done.checks, *checks), manifest.accepts),
        repository=checkout.shown,
    )
