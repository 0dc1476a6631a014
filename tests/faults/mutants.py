"""Small faults put into the heart of the tool, one at a time: the tests must see each of them.

    python -m tests.faults.mutants                    # every mutant of the files below
    python -m tests.faults.mutants --sample 60        # some of them
    python -m tests.faults.mutants backport/core/placing.py
    python -m tests.faults.mutants backport/core/x.py:tests/core/test_x.py

A mutant is imported in place of its module, in a fork of this process, and the tests
of its file, which must be green without it, run there until one fails: nothing else kills.
What survives is printed as `file:line: change`; the exit status is 1 where nobody has
said why it may, or where what was said is no longer true.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

import pytest

from tests.repos import PROJECT

HEART = {
    "backport/core/placing.py": ("test_placing", "test_properties", "test_applying"),
    "backport/core/applying.py": (
        *("test_applying", "test_twins", "test_properties", "test_merging_stacks"),
    ),
    "backport/core/applying_files.py": ("test_applying", "test_twins", "test_properties"),
    "backport/core/twins.py": ("test_twins", "test_as_git_merges"),
    "backport/core/diffing.py": ("test_merging", "test_as_git_merges"),
    "backport/core/applying_steps.py": ("test_applying",),
    "backport/core/merging.py": ("test_merging", "test_applying"),
    **{
        f"backport/core/merging_{name}.py": (
            "test_merging_rules",
            "test_merging_symbols",
            "test_merging_hunks",
            "test_merging",
            "test_merging_stacks",
        )
        for name in (
            "confidence",
            "files",
            "hunks",
            "imports",
            "regions",
            "results",
            "steps",
            "symbols",
        )
    },
}
# a file and a change in it that no test can see, and why
_FAILED = "any((hunk.outcome.failed for hunk in result.hunks))"
EQUIVALENT: dict[tuple[str, str], str] = {
    ("backport/core/applying.py", f"known and {_FAILED} -> known or {_FAILED}"): (
        "where nothing is left to be merged, the second pass comes to what the first one did"
    ),
    ("backport/core/applying_steps.py", "merges: bool = False -> merges: bool = True"): (
        "each pass says it anew, and without pre-images nothing is merged"
    ),
    ("backport/core/merging_regions.py", "there > line -> there >= line"): (
        "the line that is placed is not among those that are there"
    ),
}
SECONDS = 120  # a mutant that runs longer is caught: it hangs
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}


class Mutant(NamedTuple):
    """One changed module: where, what was changed, and its tree."""

    file: str
    line: int
    change: str
    tree: ast.Module

    @property
    def key(self) -> tuple[str, str]:
        return self.file, self.change


def mutants(file: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of its nodes."""
    source = ast.parse((PROJECT / file).read_text("utf-8"))
    for index, node in enumerate(ast.walk(source)):
        for nth in range(_changes(node)):
            tree = copy.deepcopy(source)
            spot = next(n for at, n in enumerate(ast.walk(tree)) if at == index)
            shown = _around(tree, spot)
            before = ast.unparse(shown)
            _change(spot, nth)
            ast.fix_missing_locations(tree)
            change = f"{before} -> {ast.unparse(_around(tree, spot))}"
            yield Mutant(file, getattr(node, "lineno", 0), change, tree)


def _around(tree: ast.Module, node: ast.AST) -> ast.AST:
    """What is shown of a changed node: a condition, or the expression that a number stands in."""
    if isinstance(node, ast.If | ast.While):
        return node.test
    if not isinstance(node, ast.Constant):
        return node
    shown = ast.expr | ast.keyword | ast.Assign | ast.AnnAssign | ast.Return
    around = (one for one in ast.walk(tree) if node in ast.iter_child_nodes(one))
    return next((one for one in around if isinstance(one, shown)), node)


def _changes(node: ast.AST) -> int:
    """In how many ways a node is changed; what only type checkers read is left alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return 0
    if isinstance(node, ast.Compare):
        return sum(type(op) in _SWAPS for op in node.ops)
    if isinstance(node, ast.BoolOp | ast.BinOp):
        return int(type(node.op) in _SWAPS)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return 1
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, ast.Not))
    return int(isinstance(node, ast.Constant) and isinstance(node.value, int))


def _change(node: ast.AST, nth: int) -> None:
    if isinstance(node, ast.Compare):
        at = [place for place, op in enumerate(node.ops) if type(op) in _SWAPS][nth]
        node.ops[at] = _SWAPS[type(node.ops[at])]()  # type: ignore[call-overload]
    elif isinstance(node, ast.BoolOp | ast.BinOp):
        node.op = _SWAPS[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.UnaryOp):
        node.op = ast.UAdd()
        node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
    elif isinstance(node, ast.Constant):
        node.value = not node.value if isinstance(node.value, bool) else node.value + 1  # type: ignore[operator]


def survives(mutant: Mutant, tests: Sequence[str]) -> bool:
    """True unless a test fails with the mutant in place, or hangs."""
    return _ended(mutant, tests) not in (pytest.ExitCode.TESTS_FAILED, None)


def be_green(file: str, tests: Sequence[str]) -> None:
    """Raises SystemExit where the tests fail with the file as it is: they see no mutant then."""
    same = Mutant(file, 0, "", ast.parse((PROJECT / file).read_text("utf-8")))
    code = _ended(same, tests)
    if code != pytest.ExitCode.OK:
        how = f"pytest ended with {code}" if code is not None else f"it takes over {SECONDS} s"
        raise SystemExit(f"{file}: {' '.join(tests)}: not green without a mutant: {how}")


def _ended(mutant: Mutant, tests: Sequence[str]) -> int | None:
    """How pytest ended in a fork with the mutant in place; None where it did not."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            _put(mutant)
            words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
            code = int(pytest.main(words))
        finally:
            os._exit(code)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def _put(mutant: Mutant) -> None:
    """Have the mutant imported in place of its module, by modules that are imported anew too.

    A module that ran again among those that hold its old classes would fail by itself.
    """
    for name in [*sys.modules]:
        if name.startswith(("backport.", "tests.core.", "tests.builders", "tests.conftest")):
            del sys.modules[name]
    path, read, given = PROJECT / mutant.file, SourceFileLoader.get_code, []

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        if Path(self.path) != path:
            return read(self, name)
        given.append(name)
        code: CodeType = compile(mutant.tree, mutant.file, "exec")
        return code

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]
    importlib.import_module(mutant.file.removesuffix(".py").replace("/", "."))
    if not given:
        os._exit(pytest.ExitCode.INTERNAL_ERROR)


def main() -> None:
    given = _arguments()
    files = dict(map(_tests, given.pairs or HEART))
    every = [mutant for file in files for mutant in mutants(file)]
    made = every
    if given.sample:
        made = random.Random(given.seed).sample(every, min(given.sample, len(every)))  # noqa: S311
    for file in dict.fromkeys(mutant.file for mutant in made):
        be_green(file, files[file])
    left = [mutant for mutant in made if _told(mutant, survives(mutant, files[mutant.file]))]
    untrue = stale(every, made, left)
    for file, change in untrue:
        sys.stdout.write(f"{file}: {change}: EQUIVALENT has it, and it is killed or gone\n")
    explained = sum(mutant.key in EQUIVALENT for mutant in left)
    sys.stdout.write(
        f"{len(made)} mutants, {len(made) - len(left)} killed, {len(left)} survived, "
        f"{explained} of them explained\n"
    )
    sys.exit(bool(untrue or len(left) > explained))


def _tests(pair: str) -> tuple[str, list[str]]:
    """A file and the tests that must see its mutants: those given, or those of the heart."""
    file, _, tests = pair.partition(":")
    return file, [tests] if tests else [f"tests/core/{name}.py" for name in HEART[file]]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", nargs="*", metavar="FILE[:TESTS]")
    parser.add_argument("--sample", type=int, help="only so many, chosen by chance")
    parser.add_argument("--seed", type=int, default=8)
    return parser.parse_args()


def stale(
    every: Sequence[Mutant], made: Sequence[Mutant], left: Sequence[Mutant]
) -> list[tuple[str, str]]:
    """The explanations of mutants that are killed, or that there are none of any more."""
    files = {mutant.file for mutant in every}
    there, tried, alive = ({mutant.key for mutant in some} for some in (every, made, left))
    return [
        key
        for key in EQUIVALENT
        if key[0] in files and (key not in there or (key in tried and key not in alive))
    ]


def _told(mutant: Mutant, survived: bool) -> bool:
    if survived:
        why = EQUIVALENT.get(mutant.key, "")
        note = f" ({why})" if why else ""
        sys.stdout.write(f"{mutant.file}:{mutant.line}: {mutant.change}{note}\n")
        sys.stdout.flush()
    return survived


if __name__ == "__main__":
    main()
