"""Where the text that a stack's patches were made on is found: the repository at hand."""

from __future__ import annotations

from backport.checkout import Checkout
from backport.core.preimages import Preimages
from backport.core.stacks import Stack
from backport.core.trees import Tree


def preimages(checkout: Checkout, stack: Stack) -> Preimages:
    """The stack's pre-images: objects of the repository, or its home release if that is there."""

    def blob(name: str) -> bytes | None:
        return checkout.read_objects([name])[0]

    def home() -> Tree | None:
        commit = checkout.commit_id(stack.home) if stack.home else None
        return checkout.tree(commit) if commit else None

    return Preimages(stack, blob, home)
