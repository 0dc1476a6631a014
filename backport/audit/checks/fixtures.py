"""Tests that ask for fixtures which neither the tree nor pytest has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from backport.audit.functions import Definition, decorator_term, signature
from backport.audit.paths import is_test
from backport.audit.records import EITHER, KEYWORD, Record
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted
from backport.core.outcomes import Finding

MISSING = Rule(
    "missing-fixture",
    "a test or fixture asks for a fixture that no conftest above it defines",
    "carry the fixture: the test is collected, and fails only when it is set up",
)

_KNOWN = frozenset(
    """
    cache capfd capfdbinary caplog capsys capsysbinary capteesys config doctest_namespace
    monkeypatch pytestconfig pytester record_property record_testsuite_property
    record_xml_attribute recwarn request subtests testdir tmp_path tmp_path_factory tmpdir
    tmpdir_factory aiohttp_client aiohttp_server anyio_backend anyio_backend_name benchmark
    class_mocker client cov db django_db_setup django_user_model event_loop
    event_loop_policy faker free_tcp_port free_udp_port freezer fs httpbin httpserver
    httpx_mock live_server mocker module_mocker mpl_image_compare no_cover package_mocker qtbot
    requests_mock respx_mock responses rf admin_client admin_user session_mocker settings
    snapshot testrun_uid unused_tcp_port unused_tcp_port_factory worker_id xprocess
    """.split()  # noqa: SIM905 - a list of words is read best as words
)
"""The fixtures of pytest and of its common plug-ins."""

_NAMED = re.compile(rb"fixture\([^)]*name\s*=\s*[\"'](\w+)[\"']")
_HARMLESS = frozenset({"inference_mode", "no_grad", "fixture", "asyncio"})


def check(subject: Subject) -> Iterator[Finding]:
    """Fixtures that one file asks for in vain."""
    source = subject.file.source
    name = source.path.rpartition("/")[2]
    if not (name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"):
        return
    known = _KNOWN | frozenset(_visible(subject, source.path))
    for cls, node in _requesting(source.tree, name == "conftest.py"):
        given = known | _parametrized(node)
        if cls is not None:
            given |= _parametrized(cls) | {n.name for n in cls.body if isinstance(n, Definition)}
        for parameter in _wanted(node, cls):
            if parameter not in given and not _comes_from_outside(subject, parameter):
                message = f"no fixture `{parameter}` for `{node.name}`"
                yield finding(source.path, node, MISSING, message, f"{node.name}({parameter})")


CHECK = Check(check, (MISSING,))


def _requesting(
    tree: ast.Module, conftest: bool
) -> Iterator[tuple[ast.ClassDef | None, Definition]]:
    """The tests and fixtures of a file, with the class around them."""
    for node in tree.body:
        if isinstance(node, Definition) and _requests(node, conftest):
            yield None, node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test") and not node.bases:
            inner = (n for n in node.body if isinstance(n, Definition))
            yield from ((node, n) for n in inner if _requests(n, conftest))


def _requests(node: Definition, conftest: bool) -> bool:
    """True for a fixture, and for a test whose arguments no other decorator supplies."""
    names = [dotted(decorator_term(d)) for d in node.decorator_list]
    if any(name.rpartition(".")[2] == "fixture" for name in names):
        return True
    plain = all(n.startswith("pytest.mark.") or n.rpartition(".")[2] in _HARMLESS for n in names)
    return node.name.startswith("test") and not conftest and plain


def _wanted(node: Definition, cls: ast.ClassDef | None) -> list[str]:
    static = any(dotted(decorator_term(d)) == "staticmethod" for d in node.decorator_list)
    parameters = signature(node)[1 if cls is not None and not static else 0 :]
    return [p.name for p in parameters if p.kind in (EITHER, KEYWORD) and p.default is None]


def _parametrized(node: Definition | ast.ClassDef) -> frozenset[str]:
    """The arguments that `parametrize` supplies: all of them, where their names are computed."""
    names: set[str] = set()
    for decorator in node.decorator_list:
        if dotted(decorator_term(decorator)).rpartition(".")[2] != "parametrize":
            continue
        first = decorator.args[:1] if isinstance(decorator, ast.Call) else []
        for part in getattr(first[0], "elts", first) if first else []:
            text = getattr(part, "value", None)
            if not isinstance(text, str):
                return frozenset(a.arg for a in ast.walk(node) if isinstance(a, ast.arg))
            names.update(piece.strip() for piece in text.split(","))
    return frozenset(names)


def _visible(subject: Subject, path: str) -> Iterator[str]:
    """The names that a test file and the conftests above it bind."""
    folders = path.split("/")[:-1]
    above = ["/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1)]
    for place in (path, *above):
        record = subject.table.record(place)
        if record is not None:
            yield from _bound(subject, record, place)
            entry = subject.entry(place)
            named = _NAMED.findall(entry.data) if entry is not None else []
            yield from (name.decode() for name in named)


def _bound(subject: Subject, record: Record, path: str) -> Iterator[str]:
    yield from record.names
    for level, module in record.stars:
        target = subject.table.modules.find(path, level, module)
        other = subject.table.record(target.path)
        if other is not None and other is not record:
            yield from other.names


def _comes_from_outside(subject: Subject, name: str) -> bool:
    """True where untouched tests ask for the fixture as well, and the pristine tree defines
    nothing of that name: a plug-in does. A conftest with `pytest_plugins` may take it from
    any file of the tree."""
    if name in subject.table.index.defined:
        return True
    if subject.before is not None and name in subject.before.index.defined:
        return False
    others = set(subject.table.mentioning(name)) - subject.touched - {subject.file.source.path}
    return any(is_test(other) and _asks(subject.table.record(other), name) for other in others)


def _asks(record: Record | None, name: str) -> bool:
    bindings = (b for found in (record.names if record else {}).values() for b in found)
    functions = (b.function for b in bindings if b.function is not None)
    return any(p.name == name for function in functions for p in function.parameters)
