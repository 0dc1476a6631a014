"""Where the text that a stack's patches were made on is found: the repository at hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from backport.checkout import Checkout
from backport.core.stacks import Stack, below
from backport.core.trees import Tree

if TYPE_CHECKING:
    from backport.core.preimages import Preimages, Sources


def preimages(checkout: Checkout, stacks: Mapping[str, Stack]) -> Sources:
    """Each stack's pre-images: objects of the repository, or its home release if that is there,
    with those of `stacks` on it that it comes after.

    Nothing is read while every file is the very text that its patch was made on.
    """

    def blob(name: str) -> bytes | None:
        return checkout.read_objects([name])[0]

    def of(stack: Stack) -> Preimages:
        from backport.core.preimages import Preimages

        return Preimages(stack, blob, lambda: home_tree(checkout, stack.home), below(stack, stacks))

    return of


def home_tree(checkout: Checkout, home: str) -> Tree | None:
    """The release that patches were made on; None where it is not at hand."""
    commit = checkout.commit_id(home) if home else None
    return checkout.tree(commit) if commit else None
