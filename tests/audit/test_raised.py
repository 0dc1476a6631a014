"""Requirements that a stack raises are told; what only looks like it is not."""

from __future__ import annotations

import pytest

from backport.core.outcomes import Severity
from tests.audit.builders import findings, said

PROJECT = """
    [project]
    name = "engine"
    dependencies = ["kernels>={kernels}", "same>=3"]
    """
BASE = {
    "requirements/rocm.txt": "# needs\nkernels>=1.2\nPinned_One == 0.1.5\nfree\nsame>=3,<4\n",
    "pyproject.toml": PROJECT.format(kernels="1.2"),
    "docker/Dockerfile.rocm_base": 'ARG AITER_BRANCH="v0.1.5"\n',
}

FAULTS = {
    "a lower bound": ("requirements/rocm.txt", "kernels>=1.2", "kernels>=1.4", "2 kernels"),
    "a pin": ("requirements/rocm.txt", "Pinned_One == 0.1.5", "pinned-one==0.1.7", "3 pinned-one"),
    "of the project": ("pyproject.toml", "kernels>=1.2", "kernels>=2", "4 kernels"),
    "of the image": ("docker/Dockerfile.rocm_base", "v0.1.5", "v0.1.6", "1 aiter"),
}

SOUND = {
    "a lower one": ("kernels>=1.2", "kernels>=1.1"),
    "an upper bound": ("same>=3,<4", "same>=3,<5"),
    "a new project": ("free", "free\nother>=2"),
    "its first bound": ("free", "free>=2"),
    "a comment": ("# needs", "# kernels>=9"),
    "a longer spelling": ("kernels>=1.2", "kernels>=1.2.0"),
    "another machine's": ("free", "free\nkernels>=9; sys_platform == 'win32'"),
}


@pytest.mark.parametrize(("path", "old", "new", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(path: str, old: str, new: str, expected: str) -> None:
    line, project = expected.split()
    change = {path: BASE[path].replace(old, new)}
    assert said(BASE, change) == [f"{path}:{line} raised-requirement {project}"]
    assert {f.severity for f in findings(BASE, change)} == {Severity.WARNING}


@pytest.mark.parametrize(("old", "new"), SOUND.values(), ids=SOUND.keys())
def test_silence(old: str, new: str) -> None:
    text = BASE["requirements/rocm.txt"]
    assert old in text
    assert said(BASE, {"requirements/rocm.txt": text.replace(old, new)}) == []


def test_the_message_says_both() -> None:
    path = "requirements/rocm.txt"
    (found,) = findings(BASE, {path: BASE[path].replace("kernels>=1.2", "kernels>=1.10")})
    assert found.message == "`kernels` is asked for from 1.10, not from 1.2"
