"""Tests that ask for fixtures which neither the tree nor pytest has."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from backport.audit.conftests import (
    asks,
    is_collected_file,
    is_out_of_sight,
    makers_of,
    others_saying,
    visible,
)
from backport.audit.functions import Definition, decorator_term, signature
from backport.audit.paths import with_conftests
from backport.audit.records import EITHER, KEYWORD
from backport.audit.subject import Check, Rule, Subject, finding
from backport.audit.terms import dotted
from backport.core.outcomes import Finding

MISSING = Rule(
    "missing-fixture",
    "a test or fixture asks for a fixture that no conftest above it defines",
    "carry the fixture: the test is collected, and fails only when it is set up",
)

KNOWN = frozenset(
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

_MARKS, _HOOK, _USING = "pytestmark", "pytest_generate_tests", "pytest.mark.usefixtures"
_HARMLESS = frozenset({"inference_mode", "no_grad", "fixture", "asyncio"})


def check(subject: Subject) -> Iterator[Finding]:
    """Fixtures that one file asks for in vain."""
    source = subject.file.source
    name = source.path.rpartition("/")[2]
    if not (is_collected_file(source.path) or name == "conftest.py"):
        return
    known = KNOWN | frozenset(visible(subject, source.path))
    around = [*_marks(source.tree.body), *_hooked(subject, source.path)]
    for cls, node in requesting(source.tree, name == "conftest.py"):
        suppliers, given = [*around, *node.decorator_list], known
        if cls is not None:
            suppliers += cls.decorator_list if is_plain(cls) else []
            suppliers += [*_marks(cls.body), *_generated(cls.body)]
            given = known | {n.name for n in cls.body if isinstance(n, Definition)}
        given |= _supplied(suppliers, node)
        for parameter in _wanted(node, cls):
            if parameter in given or _comes_from_outside(subject, parameter):
                continue
            message = _message(subject, parameter, node.name)
            yield finding(source.path, node, MISSING, message, f"{node.name}({parameter})")
    if is_collected_file(source.path):
        yield from _used(subject, known)


CHECK = Check(check, (MISSING,))


def _message(subject: Subject, name: str, asking: str) -> str:
    makers = makers_of(subject, name)
    where = f": the one of `{makers[0]}` is not above it" if makers else ""
    return f"no fixture `{name}` for `{asking}`{where}"


def _used(subject: Subject, known: frozenset[str]) -> Iterator[Finding]:
    """Fixtures that only marks ask for, and that no file of the tree defines."""
    source = subject.file.source
    inside = {n.name for n in source.nodes if isinstance(n, Definition)}
    for name, mark in asked_by_marks(source.tree).items():
        if name not in known | inside and not _comes_from_outside(subject, name, by_word=True):
            message = _message(subject, name, "usefixtures")
            yield finding(source.path, mark, MISSING, message, f"usefixtures({name})")


def asked_by_marks(tree: ast.Module) -> dict[str, ast.expr]:
    """The fixtures that `usefixtures` names in the marks of a file, each with its first mark."""
    asked: dict[str, ast.expr] = {}
    for mark in _marks_of(tree.body):
        if isinstance(mark, ast.Call) and dotted(decorator_term(mark)) == _USING:
            for part in mark.args:
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    asked.setdefault(part.value, mark)
    return asked


def _marks_of(body: list[ast.stmt]) -> Iterator[ast.expr]:
    """The marks of a module or class and of all that is collected in it."""
    yield from _marks(body)
    for node in body:
        if isinstance(node, ast.ClassDef) and _is_collected(node):
            yield from (*node.decorator_list, *_marks_of(node.body))
        elif isinstance(node, Definition) and node.name.startswith("test"):
            yield from node.decorator_list


def requesting(
    tree: ast.Module, conftest: bool
) -> Iterator[tuple[ast.ClassDef | None, Definition]]:
    """The tests and fixtures of a file, with the class around them."""
    for node in tree.body:
        if isinstance(node, Definition) and _requests(node, conftest):
            yield None, node
        elif isinstance(node, ast.ClassDef) and _is_collected(node):
            outside = conftest or not is_plain(node)
            inner = (n for n in node.body if isinstance(n, Definition))
            yield from ((node, n) for n in inner if _requests(n, outside))


def _is_collected(node: ast.ClassDef) -> bool:
    """True for a class that pytest makes tests of: it leaves alone one that it cannot make
    without arguments, or that says so."""
    own = {n.name for n in node.body if isinstance(n, Definition)}
    assigned = {getattr(t, "id", "") for n in node.body for t in getattr(n, "targets", ())}
    hidden = own & {"__init__", "__new__"} or "__test__" in assigned
    return node.name.startswith("Test") and not node.bases and not hidden


def _requests(node: Definition, outside: bool) -> bool:
    """True for a fixture, and, unless it stands outside of the tests that pytest alone
    calls, for a test whose arguments no other decorator supplies."""
    names = [dotted(decorator_term(d)) for d in node.decorator_list]
    if any(name.rpartition(".")[2] == "fixture" for name in names):
        return True
    return node.name.startswith("test") and not outside and is_plain(node)


def is_plain(node: Definition | ast.ClassDef) -> bool:
    """True where every decorator leaves the arguments alone, as `mock.patch` does not."""
    names = [dotted(decorator_term(d)) for d in node.decorator_list]
    return all(n.startswith("pytest.mark.") or n.rpartition(".")[2] in _HARMLESS for n in names)


def _wanted(node: Definition, cls: ast.ClassDef | None) -> list[str]:
    static = any(dotted(decorator_term(d)) == "staticmethod" for d in node.decorator_list)
    parameters = signature(node)[1 if cls is not None and not static else 0 :]
    return [p.name for p in parameters if p.kind in (EITHER, KEYWORD) and p.default is None]


def _supplied(suppliers: Iterable[ast.expr], node: Definition) -> frozenset[str]:
    """The arguments that decorators, marks and hooks supply: all of the function's, where
    one of them cannot be read."""
    names: set[str] = set()
    for supplier in suppliers:
        found = _arguments(supplier)
        if found is None:
            return frozenset(parameter.name for parameter in signature(node))
        names |= found
    return frozenset(names)


def _arguments(supplier: ast.expr) -> set[str] | None:
    """The arguments that `parametrize` names; none for other marks; None where a mark, or
    what is parametrised, is computed."""
    name = dotted(decorator_term(supplier))
    last = name.rpartition(".")[2]
    if last != "parametrize":
        return set() if ".mark." in f".{name}" or last in _HARMLESS else None
    given = options(supplier, ("argnames", "argvalues", "indirect"))
    names = texts_of(given.get("argnames"))
    if names is None:
        return None
    indirect = given.get("indirect")
    if isinstance(indirect, ast.Constant) and indirect.value is True:
        return set()  # fixtures of these names take the values
    return set(names) - set(texts_of(indirect) or ())


def options(call: ast.expr, places: tuple[str, ...]) -> dict[str, ast.expr]:
    """What a call passes, by the names of its parameters."""
    if not isinstance(call, ast.Call):
        return {}
    given = dict(zip(places, call.args, strict=False))
    return given | {k.arg: k.value for k in call.keywords if k.arg}


def texts_of(node: ast.expr | None) -> list[str] | None:
    """The names in a text with commas, or in a list of texts; None where they are computed."""
    parts = [] if node is None else getattr(node, "elts", [node])
    texts = [getattr(part, "value", None) for part in parts]
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    pieces = (piece.strip() for text in texts for piece in str(text).split(","))
    return [piece for piece in pieces if piece]


def _marks(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """The marks that `pytestmark` gives to every test of a module or class."""
    for node in body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        value = getattr(node, "value", None)
        if value is not None and any(getattr(t, "id", "") == _MARKS for t in targets):
            yield from getattr(value, "elts", [value])


def _hooked(subject: Subject, path: str) -> Iterator[ast.expr]:
    """What the hooks of a test file and of the conftests above it parametrise."""
    for place in with_conftests(path):
        record = subject.table.record(place)
        if record is None or _HOOK not in record.names:
            continue
        read = subject.file if place == path else subject.read(place)
        found = list(_generated(read.source.tree.body)) if read is not None else []
        yield from found or [ast.Name(_HOOK)]  # imported, or without a word about what


def _generated(body: Iterable[ast.stmt]) -> Iterator[ast.expr]:
    """The calls in the hook of a module or class that may parametrise."""
    for node in body:
        if isinstance(node, Definition) and node.name == _HOOK:
            own = node.args.args[-1].arg if node.args.args else ""
            calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
            for call in calls:
                hands_on = any(getattr(argument, "id", "") == own for argument in call.args)
                if hands_on or dotted(decorator_term(call)).endswith(".parametrize"):
                    yield call


def _comes_from_outside(subject: Subject, name: str, *, by_word: bool = False) -> bool:
    """True where a plug-in may give the fixture: untouched tests ask for it as well, and the
    pristine tree defines nothing of that name, or none that they see. What marks ask for is
    seen `by_word` alone."""
    if name in subject.table.index.defined:
        return not is_out_of_sight(subject, name)
    if subject.before is not None and name in subject.before.index.defined:
        return False
    return any(
        by_word or asks(subject.table.record(path), name) for path in others_saying(subject, name)
    )
