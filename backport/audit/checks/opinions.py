"""Second opinions of other tools, as children: ruff where it is installed, ty when asked for."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from backport.audit.checks.names import may_be_global
from backport.audit.subject import Check, CouldNotRun, Rule, Subject
from backport.core.outcomes import Finding, Severity
from backport.core.trees import EXECUTABLE, REGULAR
from backport.tools import UNFINISHED, found

RUFF = Rule(
    "ruff",
    "ruff finds a name undefined, defined twice or used too early",
    "see what ruff says of the rule in brackets (`ruff rule CODE`)",
)
TY = Rule(
    "ty",
    "ty finds a type error that the pristine tree does not have",
    "compare the types on the target with those that the hunk expects",
)

_SELECTED = "F502,F601,F701,F702,F704,F706,F707,F811,F821,F822,F823"
_LINE = re.compile(r"^(.+?):(\d+):(\d+): (\w+)\[([\w-]+)\] (.*)$")
_QUOTED = re.compile(r"`(\w+)`")
_LIMIT = 120


def ruff(subject: Subject) -> Iterator[Finding]:
    """What ruff says about the touched files."""
    command = ["check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json"]
    with _written(subject, subject.touched) as folder:
        text = _run("ruff", [*command, "--select", _SELECTED, "."], folder)
        for item in json.loads(text or "[]"):
            path = Path(item["filename"]).resolve().relative_to(Path(folder).resolve()).as_posix()
            place, code = item["location"], item["code"] or "syntax"
            if code == "F811" and _is_parameter(subject, path, **place):
                continue  # pytest's way to take an imported fixture
            if _is_given(subject, path, code, item["message"]):
                continue
            if code == "F821" and _is_from_before(subject, path, item["message"], place["row"]):
                continue
            if code != "syntax" and item["code"]:
                rule = RUFF._replace(mend=f"see what ruff says of it (`ruff rule {code}`)")
                message = f"{item['message']} ({code})"
                yield _finding(path, place["row"], place["column"], rule, message)


def _is_given(subject: Subject, path: str, code: str, message: str) -> bool:
    """True where the module has the name that ruff misses by other ways than a statement: by
    `globals()[name] = ...`, and an export by its `__getattr__` too."""
    name = _QUOTED.search(message)
    if name is None:
        return False
    if code == "F822":
        return subject.resolver.member(path, name[1]) is not None
    return code == "F821" and may_be_global(subject, path, name[1])


def _is_from_before(subject: Subject, path: str, message: str, row: int) -> bool:
    """True where a loop around the line binds the name: an earlier turn may have."""
    name, read = _QUOTED.search(message), subject.read(path)
    loops = (
        node
        for node in ast.walk(read.source.tree if read is not None else ast.Module([], []))
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
        and node.lineno <= row <= (node.end_lineno or 0)
    )
    stored = (n.id for loop in loops for n in ast.walk(loop)
              if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))  # fmt: skip
    return name is not None and name[1] in stored


def _is_parameter(subject: Subject, path: str, row: int, column: int) -> bool:
    """True where a parameter of a function stands at a place, counted from 1."""
    read = subject.read(path)
    nodes = ast.walk(read.source.tree) if read is not None else ()
    places = ((n.lineno, n.col_offset + 1) for n in nodes if isinstance(n, ast.arg))
    return (row, column) in places


def ty(subject: Subject) -> Iterator[Finding]:
    """What ty says about the touched files, with the whole tree to resolve imports in."""
    every = [path for path in subject.table.everything if path.endswith(".py")]
    touched = [path for path in sorted(subject.touched) if path.endswith(".py")]
    with _written(subject, every) as folder:
        present = [path for path in touched if (Path(folder) / path).is_file()]
        command = ["check", "--exit-zero", "--output-format", "concise", *present]
        for line in (_run("ty", command, folder) if present else "").splitlines():
            match = _LINE.match(line)
            if match and match[4] == "error":
                message = f"{match[6]} ({match[5]})"
                yield _finding(match[1], int(match[2]), int(match[3]), TY, message)


def _needs(tool: str) -> object:
    def needs(subject: Subject) -> str:
        if found(tool) is None:
            return f"{tool} is not installed"
        return "" if subject.touched else "nothing is changed"

    return needs


RUFF_CHECK = Check(ruff, (RUFF,), per_file=False, needs=_needs("ruff"))  # type: ignore[arg-type]
TY_CHECK = Check(ty, (TY,), per_file=False, needs=_needs("ty"), optional=True)  # type: ignore[arg-type]


def _run(tool: str, arguments: list[str], folder: str) -> str:
    """The standard output of a tool; raises CouldNotRun where it fails."""
    try:
        done = subprocess.run(
            [found(tool) or tool, *arguments],
            cwd=folder, capture_output=True, timeout=_LIMIT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise CouldNotRun(f"{tool} {UNFINISHED}: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        how = f"it ended with {done.returncode}: {said or 'without a word'}"
        raise CouldNotRun(f"{tool} {UNFINISHED}: {how}")
    return done.stdout.decode("utf-8", "replace")


class _written(tempfile.TemporaryDirectory):  # type: ignore[type-arg]  # noqa: N801
    """A folder with these files of the tree, while it is needed."""

    def __init__(self, subject: Subject, paths: Iterable[str]) -> None:
        super().__init__(prefix="audit-")
        for path in paths:
            entry = subject.entry(path) if path.endswith(".py") else None
            if entry is not None and entry.mode in (REGULAR, EXECUTABLE):
                file = Path(self.name) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(entry.data)


def _finding(path: str, line: int, column: int, rule: Rule, message: str) -> Finding:
    return Finding(path, line, column, Severity.ERROR, rule.code, message, message, rule.mend)
