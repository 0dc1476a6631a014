"""The child of `boot`: import what changed in a booted tree, and run its layers.

usage: python -m backport.parity.intree.examined REQUEST ANSWER
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from backport.parity.intree.booted import Mismatches, boot, import_failures, record_ops


def examine(asked: dict[str, Any]) -> dict[str, Any]:
    """Everything that is asked of one tree on one chip."""
    mismatches: Mismatches = {}
    platform = boot(asked["tree"], asked["chip"])
    from backport.parity.intree.compiled_ops import CompiledOps

    compiled = CompiledOps(Path(asked["tree"]))
    ops = record_ops(mismatches)
    failed = import_failures(asked["modules"])
    from backport.parity.intree.whole import examine_layers

    found, closed = examine_layers(asked, platform, compiled)
    return {
        "failed": failed,
        "mismatches": mismatches,
        "ops": len(ops),
        "platform": str(platform),
        "measurements": found,
        "closed": closed,
    }


def main(request: str, answer: str) -> None:
    """Boot, look, tell."""
    asked = json.loads(Path(request).read_text("utf-8"))
    Path(answer).write_text(json.dumps(examine(asked)), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
