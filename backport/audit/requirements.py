"""What a tree asks of other projects: the oldest version of each that it takes."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from backport.audit.versions import Version, parse
from backport.core.trees import REGULAR, Entry

if TYPE_CHECKING:
    from packaging.requirements import Requirement

IMAGE = "docker/Dockerfile.rocm_base"
"""Where vLLM pins what its ROCm image is built from."""

_FILE = re.compile(r"(requirements/([\w.-]+/)?[\w.-]+|[\w.-]*requirements[\w.-]*)\.(txt|in)")
_ARGUMENT = re.compile(r"^ARG (\w+)_BRANCH=\"?([\w.+-]+)", re.MULTILINE)
_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_BOUNDS = (">=", ">", "==", "===", "~=")
_MACHINE = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}
"""The machine that markers are asked for, whatever machine this is: one that ROCm runs on."""

_Python = tuple[int, int] | None


class Pin(NamedTuple):
    """A version that a release's image is built from: its line, and its tag as text."""

    line: int
    version: Version
    tag: str


def canonical(project: str) -> str:
    """A project's name in the one spelling that all of its spellings share (PEP 503)."""
    return re.sub(r"[-_.]+", "-", project).lower()


def pins(image: str) -> dict[str, Pin]:
    """The versions that the text of a ROCm image pins, by project; commits are left out."""
    found: dict[str, Pin] = {}
    for match in _ARGUMENT.finditer(image):
        version = parse(match[2])
        if version is not None:
            line = image.count("\n", 0, match.start()) + 1
            found.setdefault(canonical(match[1]), Pin(line, version, match[2]))
    return found


def oldest(
    project: str,
    paths: Iterable[str],
    entry: Callable[[str], Entry | None],
    python: _Python = None,
) -> Version | None:
    """The oldest version of a project that a tree's requirement files allow.

    Read are `requirements` files of the root and of `requirements/`, `pyproject.toml`,
    `setup.cfg` and the pins of the ROCm image. None without a lower bound; of several bounds
    the lowest counts, as each stands for a supported set-up. A requirement whose marker leaves
    out `python`, the oldest that the tree supports, on Linux and x86-64 does not count; markers
    are not read where `python` is None.
    """
    found: list[Version] = []
    for path in paths:
        file = entry(path) if is_read(path) else None
        if file is not None and file.mode == REGULAR:
            text = file.data.decode("utf-8", "replace")
            found += _READERS.get(path, _lines)(text, project, python)
    return min(found, default=None)


def is_read(path: str) -> bool:
    """True for a file that may say which versions of other projects a tree takes."""
    return path in _READERS or _FILE.fullmatch(path) is not None


def _lines(text: str, project: str, python: _Python) -> Iterator[Version]:
    """The bounds of requirements that stand a line each; other lines say nothing."""
    from packaging.requirements import InvalidRequirement, Requirement

    for line in text.splitlines():
        named = _NAME.match(line)
        if named is None or canonical(named[1]) != project:
            continue
        try:
            wanted = Requirement(re.sub(r"(^|\s)#.*|\s--.*|\\\s*$", "", line).strip())
        except InvalidRequirement:
            continue
        if _is_meant(wanted, python):
            bounds = (parse(s.version) for s in wanted.specifier if s.operator in _BOUNDS)
            lowest = max((bound for bound in bounds if bound), default=None)
            yield from () if lowest is None else (lowest,)


def _is_meant(wanted: Requirement, python: _Python) -> bool:
    """False where the marker of a requirement leaves out the oldest supported Python."""
    if wanted.marker is None or python is None:
        return True
    version = ".".join(map(str, python))
    given = {"python_version": version, "python_full_version": f"{version}.0"}
    try:
        return wanted.marker.evaluate({**_MACHINE, **given})
    except ValueError:
        return True  # it compares what cannot be compared


def _project(text: str, project: str, python: _Python) -> Iterator[Version]:
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    told = _table(table.get("project"))
    extras = _table(told.get("optional-dependencies")).values()
    for listed in (told.get("dependencies"), *extras):
        if isinstance(listed, list):
            lines = "\n".join(each for each in listed if isinstance(each, str))
            yield from _lines(lines, project, python)


def _setup(text: str, project: str, python: _Python) -> Iterator[Version]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    yield from _lines(parser.get("options", "install_requires", fallback=""), project, python)


def _image(text: str, project: str, _: _Python) -> Iterator[Version]:
    pin = pins(text).get(project)
    yield from () if pin is None else (pin.version,)


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_READERS = {"pyproject.toml": _project, "setup.cfg": _setup, IMAGE: _image}
