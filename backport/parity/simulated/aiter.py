"""One simulated AITER build: its version, its kernels, and how often each was launched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from backport.parity.simulated.contract import ContractError
from backport.parity.simulated.modules import installed


class Aiter:
    """Kernels by the module and name that vLLM imports them from.

    `misread` tells what happens where the real build reads the wrong bytes
    without a check: False raises ContractError, True reads them.
    """

    def __init__(self, version: str, misread: bool = False) -> None:
        self.version = version
        self.misread = misread
        self.launches: Counter[str] = Counter()
        self.provided: dict[str, dict[str, Any]] = {}

    def launched(self, kernel: str) -> None:
        """Count a launch."""
        self.launches[kernel] += 1

    def unchecked(self, holds: bool, broken: str) -> bool:
        """True where a rule that the real build does not check is broken and is to be acted out."""
        if not holds and not self.misread:
            raise ContractError(f"AITER {self.version} does not check this: {broken}")
        return not holds

    def provide(self, module: str, **names: Any) -> Aiter:
        """Offer names from `module` (for example `aiter.ops.cache`); returns itself."""
        self.provided.setdefault(module, {}).update(names)
        return self

    @contextmanager
    def installed(self) -> Iterator[Aiter]:
        """`import aiter` gives this build inside the block."""
        with installed("aiter", self.provided):
            yield self
