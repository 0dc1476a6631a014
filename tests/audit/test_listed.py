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
    "by a command that the tree declares": (
        {"sub/CMakeLists.txt": "define_extension_target(y SOURCES src/z.cc)\n"},
        ["sub/CMakeLists.txt:1 missing-file src/z.cc"],
    ),
    "appended, several in one text": (
        {"sub/CMakeLists.txt": '# )\nif(X)\n  list(APPEND Y\n    "src/y.cc;src/z.cc")\nendif()\n'},
        ["sub/CMakeLists.txt:4 missing-file src/z.cc"],
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
    "what is made in a folder of its own": {"a.py": "X = ['bin/one', 'bin/two', 'dist/x']\n"},
    "what a call is given": {"a.py": "print(['cp', 'bin/one', 'bin/two', 'bin/three'])\n"},
    "no list of paths": {"a.py": "X = ['bin/one', 'bin/two', 'bin/three four', 'bin']\n"},
}

# Commands that read a path of another place, or make the file.
COMMANDS = {
    "a custom command": "add_custom_command(OUTPUT csrc/k.cu COMMAND python gen.py)",
    "a file that one makes": "set(K csrc/k.cu)\nadd_custom_command(OUTPUT csrc/k.cu)",
    "a list of what one makes": "set(K csrc/k.cu)\nadd_custom_command(OUTPUT ${K})",
    "a configured file": "configure_file(csrc/ops.cu csrc/version.h)",
    "a written file": 'file(WRITE csrc/k.cpp "int x;")\nadd_library(k csrc/k.cpp)',
    "a header of the system": "find_path(NUMA NAMES numa/numa.h)",
    "a header that is asked for": "check_include_file(sys/stat.h HAVE_STAT)",
    "a prefix of another project": (
        "set(K src/k.cpp)\nlist(TRANSFORM K PREFIX ${other_SOURCE_DIR}/)"
    ),
    "a question": "if(EXISTS other/k.h)\nendif()",
    "a message": 'message(STATUS "see csrc/k.cu now")',
    "a text": 'set(HELP "see csrc/k.cu now")',
    "another name in the end": "install(FILES csrc/ops.cu RENAME csrc/k.cpp)",
    "another name": 'string(REPLACE csrc/ops.cu csrc/k.hip S "${S}")',
    "what hipify makes": "set(K csrc/k.hip)\nhipify_sources_target(K x csrc/ops.cu)",
    "remarks": '#[[\nset(K csrc/k.cu)\n]] #[=[ ]] set(K csrc/k.cu) ]=]\n# "\n# set(K csrc/k.cu)',
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_commands_that_list_nothing(command: str) -> None:
    assert said(BASE, {"CMakeLists.txt": f"{CMAKE.format(more='')}{command}\n"}) == []


@pytest.mark.parametrize(("change", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(change: Texts, expected: list[str]) -> None:
    assert said(BASE, change) == expected


@pytest.mark.parametrize("change", SOUND.values(), ids=SOUND.keys())
def test_silence(change: Texts) -> None:
    assert said(BASE, change) == []
