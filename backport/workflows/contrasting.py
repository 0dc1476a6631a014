"""Apply the same stacks on two targets and put what comes of each side by side."""

from __future__ import annotations

from collections.abc import Sequence

from backport.checkout import Checkout
from backport.core.contrasting import Contrast, contrast
from backport.core.evaluating import Step, evaluate
from backport.core.manifests import Manifest
from backport.core.patches import FilePatch
from backport.errors import BadInput
from backport.library import Library
from backport.workflows.preimages import preimages
from backport.workflows.refresh import Changes, difference


class _Side:
    """One target: each of its stacks' results, and what the stack changes on top of those below."""

    def __init__(self, library: Library, manifest: Manifest, checkout: Checkout) -> None:
        self.checkout = checkout
        self.base = checkout.tree(checkout.base(manifest.base))
        below: Changes = {}
        self.steps: dict[str, tuple[Step, Changes]] = {}
        for step in evaluate(
            manifest, library.stacks, self.base, preimages(checkout, library.stacks)
        ).steps:
            self.steps[step.result.stack] = (step, below)
            below = step.changes

    def files(self, stack: str) -> tuple[FilePatch, ...]:
        if stack not in self.steps:
            return ()
        step, below = self.steps[stack]
        return difference(self.checkout, self.base, below, step.changes)


def contrasts(
    library: Library,
    targets: tuple[Manifest, Manifest],
    checkout: Checkout,
    stacks: Sequence[str] = (),
) -> list[Contrast]:
    """Every stack of either target, or those named; raises BadInput where neither has one."""
    listed = dict.fromkeys([*targets[0].stacks, *targets[1].stacks])
    for name in stacks:
        if library.stack(name).name not in listed:
            raise BadInput(f"neither {targets[0].name} nor {targets[1].name} has the stack {name}")
    one, other = (_Side(library, manifest, checkout) for manifest in targets)
    found = []
    for name in stacks or listed:
        results = (
            one.steps[name][0].result if name in one.steps else None,
            other.steps[name][0].result if name in other.steps else None,
        )
        found.append(contrast(name, results, (one.files(name), other.files(name))))
    return found
