"""Make mutants of releases, list those that nothing is said about, and count by kind."""

from __future__ import annotations

import gc
import py_compile
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from backport.audit import Auditor
from tests.audit.mutants import KINDS, Mutant, caught, mutants
from tests.audit.releases import auditor

COLUMNS = ("audit", "ruff F", "py_compile")


def judged(pristine: Auditor, mutant: Mutant, folder: Path) -> dict[str, bool]:
    """Who says something about a mutant."""
    file = folder / "mutant.py"
    file.write_text(mutant.text)
    codes = caught(pristine, mutant)
    return {"audit": bool(codes), "ruff F": _ruff(file), "py_compile": _py_compile(file)}


def _py_compile(file: Path) -> bool:
    try:
        py_compile.compile(str(file), cfile=str(file.with_suffix(".pyc")), doraise=True)
    except py_compile.PyCompileError:
        return True
    return False


def _ruff(file: Path) -> bool:
    """True where ruff finds what no release has: names that are undefined or defined twice."""
    ruff = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
    words = ["check", "--isolated", "--quiet", "--select", "F821,F811,F823,F822", str(file)]
    return subprocess.run([ruff, *words], capture_output=True, check=False).returncode == 1


def main(versions: list[str], each: int = 3, seed: int = 20) -> None:
    """List what is missed, and count by kind."""
    total: Counter[str] = Counter()
    hit: Counter[tuple[str, str]] = Counter()
    gc.disable()
    with tempfile.TemporaryDirectory() as folder:
        for version in versions:
            pristine = auditor(version)
            for mutant in mutants(pristine.base, seed, each):
                said = judged(pristine, mutant, Path(folder))
                total[mutant.kind] += 1
                hit.update((mutant.kind, who) for who, speaks in said.items() if speaks)
                if not said["audit"]:
                    place = f"{mutant.path}:{mutant.line}"
                    sys.stdout.write(f"missed {version} {mutant.kind}: {place}\n")
                    sys.stdout.flush()
    _table(total, hit)


def _table(total: Counter[str], hit: Counter[tuple[str, str]]) -> None:
    sys.stdout.write(f"| kind | mutants | {' | '.join(COLUMNS)} |\n|---|--:|{'--:|' * 3}\n")
    for kind in KINDS:
        counts = " | ".join(str(hit[kind, who]) for who in COLUMNS)
        sys.stdout.write(f"| {kind} | {total[kind]} | {counts} |\n")
    sums = (sum(n for (_, by), n in hit.items() if by == who) for who in COLUMNS)
    sys.stdout.write(f"| **all** | {total.total()} | {' | '.join(map(str, sums))} |\n")


if __name__ == "__main__":
    main(sys.argv[1:])
