"""Imports: modules and symbols that the tree lacks."""

from __future__ import annotations

import pytest

from backport.core.outcomes import Status
from tests.audit.builders import findings, results, said

BASE = {
    "pkg/__init__.py": """
        from pkg.ops import concat as join
        from .sub import *

        try:
            from pkg._native import fast
        except ImportError:
            fast = None
        """,
    "pkg/ops.py": "def concat(a):\n    return a\n",
    "pkg/sub/__init__.py": "__all__ = ['listed']\nlisted = 1\nother = 2\n",
    "pkg/sub/deep.py": "import torch\n\nX = 1\n",
    "pkg/lazy.py": """
        TABLE = {"Engine": "pkg.ops"}


        def __getattr__(name):
            if name in TABLE:
                return TABLE[name]
            raise AttributeError(name)
        """,
    "pkg/anything.py": "def __getattr__(name):\n    return object()\n",
    "pkg/generated.py": "from pkg.built import something\n",
    "tests/conftest.py": "",
    "script/tool.py": "from helper import run\n",
    "script/helper.py": "def run():\n    pass\n",
}

FAULTS = {
    "a symbol that the module does not define": (
        "from pkg.ops import fused_gather\n",
        "pkg/new.py:1 missing-symbol pkg.ops.fused_gather",
    ),
    "a lazy import inside a function": (
        "def f():\n    from pkg.ops import fused_gather\n\n    return fused_gather\n",
        "pkg/new.py:2 missing-symbol pkg.ops.fused_gather",
    ),
    "a relative import": ("from .ops import gone\n", "pkg/new.py:1 missing-symbol .ops.gone"),
    "a module": ("import pkg.nowhere\n", "pkg/new.py:1 missing-module pkg.nowhere"),
    "a module that is given by its name": (
        "import importlib\n\nops = importlib.import_module('pkg.nowhere')\n",
        "pkg/new.py:3 missing-module pkg.nowhere",
    ),
    "a module without which a test is skipped": (
        "import pytest\n\nops = pytest.importorskip('pkg.nowhere')\n",
        "pkg/new.py:3 missing-module pkg.nowhere",
    ),
    "a module inside a plain module": (
        "import pkg.ops.deep\n",
        "pkg/new.py:1 missing-module pkg.ops.deep",
    ),
    "a relative module": ("from .nowhere import x\n", "pkg/new.py:1 missing-module .nowhere"),
    "a star import hides what __all__ leaves out": (
        "from pkg import other\n",
        "pkg/new.py:1 missing-symbol pkg.other",
    ),
    "a name that a table does not serve": (
        "from pkg.lazy import Worker\n",
        "pkg/new.py:1 missing-symbol pkg.lazy.Worker",
    ),
    "an attribute of a module": (
        "from pkg import ops\n\n\ndef f(a):\n    return ops.gather(a)\n",
        "pkg/new.py:5 missing-attribute pkg.ops.gather",
    ),
    "an attribute of a module under another name": (
        "import pkg.sub.deep as d\n\n\ndef f():\n    return d.Y\n",
        "pkg/new.py:5 missing-attribute pkg.sub.deep.Y",
    ),
}

SOUND = {
    "re-exports, star imports, submodules": (
        "from pkg import join, listed, fast, sub\nfrom pkg.sub import deep\nimport pkg.sub.deep\n"
    ),
    "what a module imports itself": "from pkg.sub.deep import torch\n",
    "a served name": "from pkg.lazy import Engine\n",
    "a module that serves anything": "from pkg.anything import whatever\n",
    "other projects": "import torch.nn as nn\nfrom aiter.ops import gather\n",
    "the standard library": "import os.path\nfrom collections import abc\n",
    "a module that is built later, as others import it too": "from pkg.built import something\n",
    "a dunder of a module": "from pkg import __doc__, __path__\n",
    "an attribute that may be missing": (
        "import pkg.ops\n\ntry:\n    f = pkg.ops.gather\nexcept AttributeError:\n    f = None\n"
    ),
    "modules by a name that is there, relative, computed, or perhaps of a compiled one": (
        "import importlib\n\nimportlib.import_module('pkg.ops')\nf = importlib.import_module\n"
        "f('pkg' + '.gone')\nimportlib.import_module('.gone', 'pkg')\n"
        "importlib.import_module('pkg._C')\nimportlib.import_module('torch.gone')\n"
    ),
    "a version test": (
        "import sys\n\nif sys.version_info >= (3, 12):\n    from pkg.ops import gather\n"
    ),
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    assert said(BASE, {"pkg/new.py": text}) == [expected]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    assert said(BASE, {"pkg/new.py": text}) == []


def test_an_import_that_may_fail_is_only_a_warning() -> None:
    text = "try:\n    from pkg.ops import gather\nexcept ImportError:\n    gather = None\n"
    result = results(BASE, {"pkg/new.py": text})["imports"]
    assert result.status is Status.PASSED
    assert [str(f.severity) for f in result.findings] == ["warning"]


def test_a_handler_that_raises_anew_tolerates_nothing() -> None:
    text = (
        "try:\n    from pkg.ops import gather\nexcept ImportError as e:\n"
        "    raise RuntimeError('needs gather') from e\n"
    )
    assert [str(f.severity) for f in findings(BASE, {"pkg/new.py": text})] == ["error"]


def test_what_the_build_makes_is_named_by_gitignore() -> None:
    base = BASE | {".gitignore": "pkg/_version.py\n/pkg/third_party/\n"}
    text = "from pkg._version import v\nfrom pkg.third_party.kernels import run\n"
    assert said(base, {"pkg/new.py": text}) == []


def test_a_module_that_the_stack_deletes_is_missed_by_its_importers() -> None:
    base = BASE | {
        "pkg/a.py": "from pkg.ops import concat\n",
        "pkg/b.py": "import pkg.ops\n",
    }
    assert said(base, {"pkg/ops.py": None}) == [
        "pkg/__init__.py:2 missing-module pkg.ops",
        "pkg/a.py:1 missing-module pkg.ops",
        "pkg/b.py:1 missing-module pkg.ops",
    ]


def test_a_symbol_that_the_stack_renames_is_missed_by_its_importers() -> None:
    change = {"pkg/ops.py": "def concatenate(a):\n    return a\n"}
    assert said(BASE, change) == ["pkg/__init__.py:2 missing-symbol pkg.ops.concat"]


def test_a_rename_that_leaves_an_alias_is_fine() -> None:
    change = {"pkg/ops.py": "def concatenate(a):\n    return a\n\n\nconcat = concatenate\n"}
    assert said(BASE, change) == []


def test_an_unpublished_folder_is_the_tree_s_own() -> None:
    text = "def test_it():\n    from tests.utils import make_meta\n\n    assert make_meta\n"
    assert said(BASE, {"tests/test_new.py": text}) == [
        "tests/test_new.py:2 missing-module tests.utils"
    ]


def test_a_folder_may_share_its_name_with_a_published_package() -> None:
    base = BASE | {"datasets/make.py": "X = 1\n"}
    assert said(base, {"pkg/new.py": "from datasets import load_dataset\n"}) == []


def test_a_script_sees_its_neighbours() -> None:
    assert said(BASE, {"script/more.py": "from helper import run\n"}) == []
    assert said(BASE, {"script/more.py": "from helper import stop\n"}) == [
        "script/more.py:1 missing-symbol helper.stop"
    ]


def test_packages_below_a_source_folder_are_found() -> None:
    base = {"src/eng/__init__.py": "", "src/eng/ops.py": "def f():\n    pass\n"}
    assert said(base, {"src/eng/a.py": "from eng.ops import f\n"}) == []
    assert said(base, {"src/eng/a.py": "from eng.ops import g\n"}) == [
        "src/eng/a.py:1 missing-symbol eng.ops.g"
    ]


def test_a_name_that_was_only_passed_on_hurts_those_who_had_it_from_there() -> None:
    base = {
        "pkg/__init__.py": "",
        "pkg/spec.py": "class Spec:\n    pass\n",
        "pkg/a.py": "from pkg.spec import Spec\n",
        "pkg/b.py": "from pkg.a import Spec\n",
        "pkg/c.py": "from pkg.spec import Spec\n",
    }
    assert said(base, {"pkg/a.py": "x = 1\n"}) == ["pkg/b.py:1 missing-symbol pkg.a.Spec"]


@pytest.mark.parametrize(
    "use",
    ["from eng import ops\n\nX = ops.two()\n", "from . import ops as o\n\nX = o.two()\n",
     "import eng.ops as o\n\nX = o.two()\n"],
)  # fmt: skip
def test_a_name_that_a_package_passed_on_is_read_on_the_package(use: str) -> None:
    base = {
        "eng/__init__.py": "",
        "eng/ops/__init__.py": "from eng.ops.impl import one, two\n",
        "eng/ops/impl.py": "def one():\n    pass\n\n\ndef two():\n    pass\n",
        "eng/use.py": use,
        "eng/other.py": "from eng.ops import impl\n\nX = impl.two()\n",
    }
    fewer = {"eng/ops/__init__.py": "from eng.ops.impl import one\n"}
    assert said(base, fewer) == ["eng/use.py:3 missing-attribute eng.ops.two"]
    kept = {"eng/ops/__init__.py": "from eng.ops import impl\n\none, two = impl.one, impl.two\n"}
    assert said(base, kept) == []


def test_a_module_whose_own_dict_others_fill_may_have_any_name() -> None:
    base = {
        "units/__init__.py": "from units.si import *\n",
        "units/core.py": "def define(name, namespace):\n    namespace[name] = name\n",
        "units/si.py": "from units.core import define\n\n_ns = {}\n\ndefine('metre', _ns)\n",
    }
    use = {"use.py": "import units\n\nx = units.metre\n"}
    filled = {**base, "units/si.py": base["units/si.py"].format("globals()")}
    read = {**base, "units/si.py": base["units/si.py"].format("dict(globals())")}
    assert said(filled, use) == []
    assert said(read, use) == ["use.py:3 missing-attribute units.metre"]


@pytest.mark.parametrize(
    "made",
    [
        'sys.modules["eng.fakey"] = m',
        'sys.modules.setdefault("eng.fakey", m)',
        'sys.modules.update({"eng.fakey": m})',
        'monkeypatch.setitem(sys.modules, "eng.fakey", m)',
        'mock.patch.dict(sys.modules, {"eng.fakey": m})',
        'mock.patch.dict("sys.modules", {"eng.fakey": m})',
        'for name in ("eng.fakey",):\n    sys.modules[name] = m',
    ],
)
@pytest.mark.parametrize("use", ["import eng.fakey", "from eng.fakey import x, y"])
def test_a_module_that_the_file_makes_up(made: str, use: str) -> None:
    base = {"eng/__init__.py": "", "tests/conftest.py": ""}
    text = f"import sys\n\n{{}}\n\n\ndef test_a():\n    {use}\n"
    checks = frozenset({"imports"})
    assert said(base, {"tests/test_a.py": text.format(made)}, checks=checks) == []
    above = {"tests/conftest.py": f"import sys\n\n{made}\n"}
    assert said(base, {"tests/test_a.py": text.format("")} | above, checks=checks) == []
    gone = 'sys.modules.pop("eng.fakey", None)'
    assert said(base, {"tests/test_a.py": text.format(gone)}, checks=checks) == [
        "tests/test_a.py:7 missing-module eng.fakey"
    ]


def test_a_made_up_module_in_the_place_of_one_of_the_tree() -> None:
    base = {"eng/__init__.py": "", "eng/api.py": ""}
    text = "import sys\n\n{}\nfrom eng.api import gone\n"
    put = 'sys.modules["eng.api"] = object()'
    assert said(base, {"test_a.py": text.format(put)}, checks=frozenset({"imports"})) == []
    assert said(base, {"test_a.py": text.format("")}) == ["test_a.py:4 missing-symbol eng.api.gone"]


def test_a_name_that_a_condition_binds() -> None:
    base = {"a.py": "import os\n\nif (found := os.name) and (other := found):\n    pass\n"}
    text = "from a import found, other\nfrom a import gone\n"
    assert said(base, {"b.py": text}) == ["b.py:2 missing-symbol a.gone"]


def test_a_loader_makes_nothing_up() -> None:
    base = {"eng/__init__.py": ""}
    text = "import sys\n\n\ndef load(name, m):\n    sys.modules[name] = m\n\n\nimport eng.gone\n"
    texts = 'KNOWN = "eng.gone"\n'
    assert said(base, {"a.py": text + texts}, checks=frozenset({"imports"})) == [
        "a.py:8 missing-module eng.gone"
    ]
