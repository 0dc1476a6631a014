"""What a path says about the file: test code may do what other code may not."""

from __future__ import annotations

_FOLDERS = frozenset({"test", "tests", "testing", "unittests"})


def is_test(path: str) -> bool:
    """True for a file of tests or one that only tests use."""
    *folders, name = path.split("/")
    return (
        not _FOLDERS.isdisjoint(folders)
        or name.startswith("test_")
        or name.endswith("_test.py")
        or name == "conftest.py"
    )


def with_conftests(path: str) -> list[str]:
    """A test file, and the places where there may be a conftest above it."""
    folders = path.split("/")[:-1]
    above = ["/".join([*folders[:depth], "conftest.py"]) for depth in range(len(folders) + 1)]
    return list(dict.fromkeys([path, *above]))
