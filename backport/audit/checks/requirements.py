"""What the stack requires of another project, against the version that the target pins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from backport.audit.subject import Check, Rule, Subject
from backport.audit.versions import parse, satisfies
from backport.core.outcomes import Finding, Severity

UNMET = Rule(
    "requirement-unmet",
    "the target pins a version of another project that the stack's requirement excludes",
    "raise the pin with the stack, or probe for the feature and fall back without it",
)

_BUILD = re.compile(
    rb"^\s*(?:ARG|ENV|export)?\s*([A-Z][A-Z0-9_]*)_(?:BRANCH|VERSION|TAG|REF|COMMIT)\s*[=\s]\s*"
    rb"[\"']?([\w.+/-]+)",
    re.MULTILINE,
)
_PIN = re.compile(
    rb"^\s*[\"']?([A-Za-z0-9][\w.-]*)\s*(?:\[[^]]*\])?\s*==\s*([\w.+!-]+)", re.MULTILINE
)
_PLACES = re.compile(r"(^|/)(Dockerfile[^/]*|requirements[^/]*\.txt|pyproject\.toml|[^/]*\.env)$")
_FOLDERS = ("requirements/", "docker/")


class Pin(NamedTuple):
    """A version that the target fixes, with where it does."""

    path: str
    line: int
    name: str
    version: str


def check(subject: Subject) -> Iterator[Finding]:
    """Requirements of the stack that a pin of the target does not meet."""
    pins = list(_pins(subject))
    for name, requirement in subject.options.requires.items():
        for pin in pins:
            if not _is_of(pin, name):
                continue
            version = parse(pin.version.rpartition("/")[2])
            if version is not None and satisfies(version, requirement) is False:
                message = f"the stack requires {name} {requirement}, the target pins {pin.version}"
                yield Finding(
                    pin.path, pin.line, 1, Severity.ERROR, UNMET.code, message, name, UNMET.mend
                )


def needs(subject: Subject) -> str:
    """The check needs a requirement, and for each one a pin that can be compared."""
    requires = subject.options.requires
    if not requires:
        return "the stack requires nothing of other projects"
    pins = list(_pins(subject))
    unknown = [n for n, wanted in requires.items() if not _comparable(pins, n, wanted)]
    return f"no comparable pin of {', '.join(unknown)} in the target" if unknown else ""


CHECK = Check(check, (UNMET,), per_file=False, needs=needs, compared=False)


def _comparable(pins: list[Pin], name: str, requirement: str) -> bool:
    found = (parse(pin.version.rpartition("/")[2]) for pin in pins if _is_of(pin, name))
    return any(v is not None and satisfies(v, requirement) is not None for v in found)


def _pins(subject: Subject) -> Iterator[Pin]:
    """The pins in the tree's build files."""
    for path in sorted(subject.table.everything):
        if not _PLACES.search(path) and not path.startswith(_FOLDERS):
            continue
        entry = subject.entry(path)
        data = entry.data if entry is not None else b""
        for pattern in (_BUILD, _PIN):
            for match in pattern.finditer(data):
                line = data.count(b"\n", 0, match.start(1)) + 1
                yield Pin(path, line, match[1].decode(), match[2].decode())


def _is_of(pin: Pin, name: str) -> bool:
    """`AITER`, `amd-aiter` and `aiter` are one project: the words of its name are compared."""
    words = re.split(r"[-_.]", pin.name.lower())
    return name.lower() in (pin.name.lower().replace("_", "-"), words[-1]) or words == re.split(
        r"[-_.]", name.lower()
    )
