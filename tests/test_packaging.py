"""What the project asks for, and what its lock file pins."""

from __future__ import annotations

import re
import tomllib

from tests.repos import PROJECT

LOCK = (PROJECT / "requirements-dev.lock").read_text("utf-8")
META = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
LEFT_OUT = {"torch"}  # a build of one's own


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_pins_every_package_that_the_tests_ask_for() -> None:
    asked = [*META["dependencies"], *META["optional-dependencies"]["test"]]
    names = {plain(re.split(r"[^\w.-]", need)[0]) for need in asked}
    pinned = {plain(name) for name in re.findall(r"^([\w.-]+)==", LOCK, re.MULTILINE)}
    assert len(names) > 10
    assert names - pinned == LEFT_OUT


def test_the_lock_has_a_hash_for_every_package() -> None:
    pins = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in pin for pin in pins)
    assert len(pins) > 30
