"""Files that build files and lists in the code name."""

from __future__ import annotations

import pytest

from tests.audit.builders import Texts, said

CMAKE = """\
set(SRC
  "csrc/ops.cu"
  csrc/bindings.cpp {more})
include(cmake/cpu.cmake)
"""
BASE: Texts = {
    "CMakeLists.txt": CMAKE.format(more=""),
    "cmake/cpu.cmake": 'add_library(x "csrc/cpu.cpp" "csrc/gone.cpp")\n',
    "csrc/ops.cu": "",
    "csrc/bindings.cpp": "",
    "csrc/cpu.cpp": "",
    "sub/CMakeLists.txt": "add_library(y src/y.cc)\n",
    "sub/src/y.cc": "",
    "bin/one": "",
    "bin/two": "",
    "setup.py": "SCRIPTS = ['bin/one', 'bin/two']\n",
    ".gitignore": "_version.py\ngenerated/\n",
}

FAULTS: dict[str, tuple[Texts, list[str]]] = {
    "a source that is not carried": (
        {"CMakeLists.txt": CMAKE.format(more="\n  csrc/fused.cu")},
        ["CMakeLists.txt:4 missing-file csrc/fused.cu"],
    ),
    "a source that is taken away": (
        {"csrc/cpu.cpp": None},
        ["cmake/cpu.cmake:1 missing-file csrc/cpu.cpp"],
    ),
    "in a folder of its own": (
        {"sub/CMakeLists.txt": "add_library(y src/y.cc src/z.cc)\n"},
        ["sub/CMakeLists.txt:1 missing-file src/z.cc"],
    ),
    "a script": (
        {"setup.py": "SCRIPTS = [\n    'bin/one',\n    'bin/all',\n    'bin/two',\n]\n"},
        ["setup.py:3 missing-file bin/all"],
    ),
}

SOUND: dict[str, Texts] = {
    "a source that comes with it": {
        "CMakeLists.txt": CMAKE.format(more="csrc/fused.cu"),
        "csrc/fused.cu": "",
    },
    "what another project has": {
        "CMakeLists.txt": CMAKE.format(more="${cutlass_SOURCE_DIR}/include/cutlass/a.h ../x/a.cc")
    },
    "what stands for many": {"CMakeLists.txt": CMAKE.format(more='"csrc/*/x.cu" "csrc/x*.cu"')},
    "a remark": {"CMakeLists.txt": CMAKE.format(more="# csrc/fused.cu")},
    "what the build makes": {"CMakeLists.txt": CMAKE.format(more="generated/x.cu")},
    "what was missing before": {"cmake/cpu.cmake": 'add_library(x "csrc/gone.cpp")\n'},
    "a list of other things": {"a.py": "X = ['bin/one', 'text/plain', 'text/html']\n"},
    "a folder": {"a.py": "X = ['bin/one', 'bin/two', 'sub/src']\n"},
    "beside the file": {"sub/a.py": "X = ['bin/one', 'bin/two', 'src/y.cc']\n"},
    "no list of paths": {"a.py": "X = ['bin/one', 'bin/two', 'bin/three four', 'bin']\n"},
}


@pytest.mark.parametrize(("change", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(change: Texts, expected: list[str]) -> None:
    assert said(BASE, change) == expected


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_silence(change: Texts) -> None:
    assert said(BASE, change) == []
