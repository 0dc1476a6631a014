"""The one rule of the architecture, read from the imports: each layer knows only those below it.

`cli` shows, `workflows` sequence, the middle touches the world or verifies, `core` decides.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "backport"


@dataclass(frozen=True)
class Import:
    """One imported module, and whether it is imported only once a function runs."""

    name: str
    late: bool = False

    @property
    def top(self) -> str:
        return self.name.partition(".")[0]


def imports(source: str) -> Iterator[Import]:
    """Every module that the source imports; `from a import b` may mean the module a.b."""
    for node, late in _nodes(ast.parse(source), late=False):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from (Import(f"{module}.{alias.name}", late) for alias in node.names)


def _nodes(node: ast.AST, late: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, late
        inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _nodes(child, late or inside)


def prints(source: str) -> bool:
    """True where the source writes to the terminal by itself."""
    return any(
        (isinstance(node, ast.Name) and node.id == "print")
        or (
            isinstance(node, ast.Attribute)
            and node.attr in ("stdout", "stderr")
            and isinstance(node.value, ast.Name)
            and node.value.id == "sys"
        )
        for node, _ in _nodes(ast.parse(source), late=False)
    )


def layer(module: str) -> int:
    """How high a module stands: core 0, the middle 1, workflows 2, cli 3."""
    part = module.split(".")[1] if module.count(".") else "cli"
    if part == "errors":  # the two ways to stop short are the middle's own words
        return 1
    return {"core": 0, "workflows": 2, "cli": 3, "__main__": 3}.get(part, 1)


def core_is_pure(module: str, found: Import) -> bool:
    inside = found.name.startswith("backport.core.")
    return layer(module) > 0 or inside or found.top in sys.stdlib_module_names


def core_does_no_io(module: str, found: Import) -> bool:
    world = ("os", "io", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib", "sys")
    return layer(module) > 0 or found.top not in world


def layers_point_downwards(module: str, found: Import) -> bool:
    ours = found.top == "backport" and found.name != "backport.__version__"
    return not ours or layer(found.name) <= layer(module)


def only_checkout_imports_git(module: str, found: Import) -> bool:
    return found.top not in ("git", "gitdb") or module == "backport.checkout"


def only_cli_imports_click_and_rich(module: str, found: Import) -> bool:
    return found.top not in ("click", "rich") or layer(module) == 3


def only_parity_imports_torch(module: str, found: Import) -> bool:
    return found.top not in ("torch", "triton") or module.split(".")[:2] == ["backport", "parity"]


def imports_are_absolute(module: str, found: Import) -> bool:
    return not found.name.startswith(".")


RULES: list[Callable[[str, Import], bool]] = [
    core_is_pure,
    core_does_no_io,
    layers_point_downwards,
    only_checkout_imports_git,
    only_cli_imports_click_and_rich,
    only_parity_imports_torch,
    imports_are_absolute,
]

MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__.replace("_", " "))
def test_every_import_keeps_the_rule(rule: Callable[[str, Import], bool]) -> None:
    broken = [
        f"{module} imports {found.name}{' late' if found.late else ''}"
        for module, path in MODULES.items()
        for found in imports(path.read_text("utf-8"))
        if not rule(module, found)
    ]
    assert broken == []


# Programs of their own: the benchmark runs where torch and Triton are and click is not, and a
# worker of the audit answers its parent through its standard output.
PROGRAMS = {"backport.audit.worker", "backport.parity.bench", "backport.parity.on_device"}


def test_only_the_cli_prints() -> None:
    assert {
        module
        for module, path in MODULES.items()
        if layer(module) < 3 and prints(path.read_text("utf-8"))
    } == PROGRAMS


def test_the_whole_package_is_looked_at() -> None:
    assert {"backport", "backport.core.placing", "backport.checkout", "backport.cli"} <= set(
        MODULES
    )
    assert {layer(module) for module in MODULES} == {0, 1, 2, 3}


# ---------------------------------------------------------------- the rules see what they forbid

FORBIDDEN = {
    "git in the core": ("backport.core.a", "import git", core_is_pure),
    "a file in the core": ("backport.core.a", "from pathlib import Path", core_does_no_io),
    "a process in the core": ("backport.core.a", "import subprocess", core_does_no_io),
    "the library in the core": (
        "backport.core.a",
        "def f():\n    from backport import library",
        layers_point_downwards,
    ),
    "errors in the core": (
        "backport.core.a",
        "from backport.errors import BadInput",
        core_is_pure,
    ),
    "a workflow below": (
        "backport.checkout",
        "import backport.workflows.apply",
        layers_point_downwards,
    ),
    "the screen in a workflow": (
        "backport.workflows.a",
        "from backport.cli import screen",
        layers_point_downwards,
    ),
    "git beside the checkout": (
        "backport.library",
        "def f():\n    from git import Repo",
        only_checkout_imports_git,
    ),
    "rich in a report": (
        "backport.report.a",
        "from rich.table import Table",
        only_cli_imports_click_and_rich,
    ),
    "click in a workflow": (
        "backport.workflows.a",
        "import click",
        only_cli_imports_click_and_rich,
    ),
    "torch elsewhere": (
        "backport.audit.a",
        "def f():\n    import torch",
        only_parity_imports_torch,
    ),
    "a relative import": ("backport.core.a", "from . import b", imports_are_absolute),
}


@pytest.mark.parametrize(("module", "source", "rule"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_what_is_forbidden_is_seen(
    module: str, source: str, rule: Callable[[str, Import], bool]
) -> None:
    assert not all(rule(module, found) for found in imports(source))


ALLOWED = {
    "the core in the core": ("backport.core.a", "from backport.core.b import c"),
    "the standard library in the core": (
        "backport.core.a",
        "import ast, zlib\nimport email.header",
    ),
    "the core in the middle": (
        "backport.checkout",
        "from backport.core import objects\nimport git",
    ),
    "the middle in the middle": ("backport.releases", "from backport import checkout"),
    "a workflow in the cli": (
        "backport.cli.a",
        "from backport.workflows import apply\nimport click",
    ),
    "the version anywhere": ("backport.sources", "from backport import __version__"),
    "torch late": ("backport.parity.a", "def f():\n    import torch"),
}


@pytest.mark.parametrize(("module", "source"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_is_allowed_passes_every_rule(module: str, source: str) -> None:
    assert [
        rule.__name__ for rule in RULES for found in imports(source) if not rule(module, found)
    ] == []


@pytest.mark.parametrize(
    "source", ["print(1)", "def f(w=print): ...", "import sys\nsys.stderr.write('')"]
)
def test_printing_is_seen(source: str) -> None:
    assert prints(source)


def test_a_word_of_that_name_prints_nothing() -> None:
    assert not prints("self.print = fingerprint\ndone.stdout\n'print(1)'")
