"""Apply a target in memory and ask its stacks' parity cases about the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backport.core.evaluating import evaluate
from backport.core.outcomes import StackOutcome, StackResult, Status
from backport.errors import BadInput
from backport.workflows.preimages import preimages

if TYPE_CHECKING:
    from backport.checkout import Checkout
    from backport.core.manifests import Manifest
    from backport.library import Library
    from backport.parity.values import ParityResult

EXIT = {Status.PASSED: 0, Status.FAILED: 1, Status.NOT_RUN: 3}


def parity_target(
    library: Library,
    manifest: Manifest,
    checkout: Checkout,
    stack: str | None = None,
    device: str = "cpu",
    boot: bool = False,
) -> ParityResult:
    """What the cases of the applied stacks (or of one of them) say about the patched tree.

    Raises BadInput where a stack does not apply, or the one asked for is not applied here.
    """
    from backport.parity import run_parity

    base = checkout.tree(checkout.base(manifest.base))
    done = evaluate(manifest, library.stacks, base, preimages(checkout, library.stacks))
    stacks = [library.stacks[name] for name in _asked(done.results, stack)]
    return run_parity(base, done.changes, stacks, device=device, boot=boot)


def _asked(results: tuple[StackResult, ...], stack: str | None) -> list[str]:
    broken = [r.stack for r in results if r.outcome is StackOutcome.CONFLICT]
    if broken:
        raise BadInput(f"{', '.join(broken)}: does not apply; see `backport check`")
    applied = [r.stack for r in results if r.outcome is StackOutcome.APPLIED]
    if stack is None:
        return applied
    if stack not in applied:
        reasons = [r.reason or str(r.outcome) for r in results if r.stack == stack]
        reason = reasons[0] if reasons else "the manifest does not list it"
        raise BadInput(f"{stack} is not applied here: {reason}")
    return [stack]
