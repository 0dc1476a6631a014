"""Fixtures: a test that is collected and fails when it is set up."""

from __future__ import annotations

import pytest

from tests.audit.builders import Texts, findings, said

BASE = {
    "tests/conftest.py": """
        import pytest


        @pytest.fixture
        def top():
            return 1


        @pytest.fixture(name="renamed")
        def make_renamed():
            return 2
        """,
    "tests/kernels/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef near():\n    return 1\n",
    "tests/kernels/test_old.py": "def test_old(from_a_plugin):\n    assert from_a_plugin\n",
}

FAULTS = {
    "a test": ("def test_it(default_cfg):\n    pass\n", "1 missing-fixture test_it(default_cfg)"),
    "a method": (
        "class TestIt:\n    def test_it(self, default_cfg):\n        pass\n",
        "2 missing-fixture test_it(default_cfg)",
    ),
    "a fixture": (
        "import pytest\n\n\n@pytest.fixture\ndef cfg(default_cfg):\n    return 1\n",
        "5 missing-fixture cfg(default_cfg)",
    ),
    "beside parametrised arguments": (
        (
            "import pytest\n\n\n@pytest.mark.parametrize('a, b', [(1, 2)])\n"
            "def test_it(a, b, default_cfg):\n    pass\n"
        ),
        "5 missing-fixture test_it(default_cfg)",
    ),
    "beside a parametrised module": (
        (
            "import pytest\n\npytestmark = pytest.mark.parametrize('a', [1])\n\n\n"
            "def test_it(a, default_cfg):\n    pass\n"
        ),
        "6 missing-fixture test_it(default_cfg)",
    ),
    "beside a hook": (
        (
            "def pytest_generate_tests(metafunc):\n    metafunc.parametrize('a', [1])\n\n\n"
            "def test_it(a, default_cfg):\n    pass\n"
        ),
        "5 missing-fixture test_it(default_cfg)",
    ),
    "what takes the values of a mark": (
        (
            "import pytest\n\n\n@pytest.mark.parametrize('srv', [1], indirect=True)\n"
            "def test_it(srv):\n    pass\n"
        ),
        "5 missing-fixture test_it(srv)",
    ),
    "what takes some of the values of a mark": (
        (
            "import pytest\n\n\n@pytest.mark.parametrize('a, srv', [(1, 2)], indirect=['srv'])\n"
            "def test_it(a, srv):\n    pass\n"
        ),
        "5 missing-fixture test_it(srv)",
    ),
    "a mark of a test": (
        "import pytest\n\n\n@pytest.mark.usefixtures('top', 'dist')\ndef test_it():\n    pass\n",
        "4 missing-fixture usefixtures(dist)",
    ),
    "a mark of a module": (
        "import pytest\n\npytestmark = pytest.mark.usefixtures('dist')\n",
        "3 missing-fixture usefixtures(dist)",
    ),
    "a mark of a class": (
        (
            "import pytest\n\n\n@pytest.mark.usefixtures('dist')\nclass TestIt:\n"
            "    def test_it(self):\n        pass\n"
        ),
        "4 missing-fixture usefixtures(dist)",
    ),
    "a fixture of a patched class": (
        (
            "import pytest\nfrom unittest.mock import patch\n\n\n@patch('a.b')\nclass TestIt:\n"
            "    @pytest.fixture\n    def own(self, default_cfg):\n        pass\n"
        ),
        "8 missing-fixture own(default_cfg)",
    ),
}

SOUND = {
    "fixtures of pytest and of conftests": (
        "def test_it(tmp_path, monkeypatch, request, top, near, renamed):\n    pass\n"
    ),
    "a fixture of the file": (
        "import pytest\n\n\n@pytest.fixture\ndef own():\n    return 1\n\n\n"
        "def test_it(own):\n    pass\n"
    ),
    "an imported fixture": "from helpers import given\n\n\ndef test_it(given):\n    pass\n",
    "parametrised arguments": (
        "import pytest\n\n\n@pytest.mark.parametrize(['a', 'b'], [(1, 2)])\n"
        "@pytest.mark.parametrize('c', [1])\ndef test_it(a, b, c):\n    pass\n"
    ),
    "a parametrised class": (
        "import pytest\n\n\n@pytest.mark.parametrize('a', [1])\nclass TestIt:\n"
        "    def test_it(self, a):\n        pass\n"
    ),
    "arguments parametrised by keyword": (
        "import pytest\n\n\n@pytest.mark.parametrize(argnames='a', argvalues=[1])\n"
        "def test_it(a):\n    pass\n"
    ),
    "a parametrised module": (
        "import pytest\n\npytestmark = [pytest.mark.cpu, pytest.mark.parametrize('a', [1])]\n\n\n"
        "def test_it(a):\n    pass\n"
    ),
    "marks of a module that come from elsewhere": (
        "from helpers import MARKS\n\npytestmark = MARKS\n\n\ndef test_it(a):\n    pass\n"
    ),
    "a class with a parametrised mark": (
        "import pytest\n\n\nclass TestIt:\n    pytestmark = pytest.mark.parametrize('a', [1])\n\n"
        "    def test_it(self, a):\n        pass\n"
    ),
    "a hook of the module": (
        "def pytest_generate_tests(metafunc):\n    metafunc.parametrize('a', [1])\n\n\n"
        "def test_it(a):\n    pass\n"
    ),
    "a hook of the class": (
        "class TestIt:\n    def pytest_generate_tests(self, metafunc):\n"
        "        metafunc.parametrize('a', [1])\n\n    def test_it(self, a):\n        pass\n"
    ),
    "a hook that hands on": (
        "from helpers import spread\n\n\ndef pytest_generate_tests(metafunc):\n"
        "    spread(metafunc)\n\n\ndef test_it(a):\n    pass\n"
    ),
    "a class with arguments is never collected": (
        "class TestIt:\n    def __init__(self, q):\n        pass\n\n"
        "    def test_it(self, a):\n        pass\n"
    ),
    "a class that is no test": (
        "class TestIt:\n    __test__ = False\n\n    def test_it(self, a):\n        pass\n"
    ),
    "arguments that a decorator of the class gives": (
        "from unittest.mock import patch\n\n\n@patch('a.b')\nclass TestIt:\n"
        "    def test_it(self, patched):\n        pass\n"
    ),
    "arguments with defaults": "def test_it(x=1):\n    pass\n",
    "arguments that another decorator gives": (
        "from unittest import mock\n\n\n@mock.patch('a.b')\ndef test_it(patched):\n    pass\n"
    ),
    "helpers of tests": "def helper(x):\n    return x\n\n\ndef test_it():\n    helper(1)\n",
    "marks that ask for what there is": (
        "import pytest\n\n\n@pytest.fixture\ndef own():\n    return 1\n\n\n"
        "@pytest.mark.usefixtures('own', 'top', 'renamed', 'from_a_plugin', 'tmp_path', *MORE)\n"
        "@pytest.mark.parametrize('top', [1], indirect=True)\n"
        "@pytest.mark.parametrize('a', [1], indirect=False)\n"
        "@pytest.mark.parametrize('b', [1], indirect=MORE)\ndef test_it(top, a, b):\n    pass\n"
    ),
    "marks of what pytest leaves alone": (
        "import pytest\n\n\nclass Cases:\n    @pytest.mark.usefixtures('dist')\n"
        "    def test_it(self):\n        pass\n"
    ),
    "a fixture of a plug-in, as other tests show": "def test_it(from_a_plugin):\n    pass\n",
}


@pytest.mark.parametrize(("text", "expected"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(text: str, expected: str) -> None:
    path = "tests/kernels/test_new.py"
    assert said(BASE, {path: text}) == [f"{path}:{expected}"]


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND.keys())
def test_silence(text: str) -> None:
    checks = frozenset({"fixtures"})
    assert said(BASE, {"tests/kernels/test_new.py": text}, checks=checks) == []


BESIDE = "tests/core/test_new.py"
ASKS = "def test_it(near):\n    pass\n"
UNSEEN = [f"{BESIDE}:1 missing-fixture test_it(near)"]
NAMED = "import pytest\n\n\n@pytest.fixture(name='near')\ndef make():\n    return 1\n"
CALLED = "import pytest\n\nnear = pytest.fixture(lambda: 1)\n"

OUT_OF_SIGHT: dict[str, Texts] = {
    "in a conftest beside": {},
    "by another name": {"tests/kernels/conftest.py": NAMED},
    "made by a call": {"tests/kernels/conftest.py": CALLED},
    "in another test": {
        "tests/kernels/conftest.py": "",
        "tests/test_other.py": "import pytest\n\n\n@pytest.fixture\ndef near():\n    return 1\n",
    },
    "which tests below see": {"tests/kernels/test_use.py": ASKS},
    "beside plug-ins of others": {"tests/test_other.py": "pytest_plugins = ('pytest_asyncio',)\n"},
    "beside other functions of the name": {"pkg/near.py": "def near():\n    return 1\n"},
}

IN_SIGHT: dict[str, Texts] = {
    "imported by a conftest above": {"tests/core/conftest.py": "from kernels import near\n"},
    "by star imports": {
        "tests/core/conftest.py": "from tests.one import *\n",
        "tests/one.py": "from tests.two import *\n",
        "tests/two.py": "from tests.kernels.conftest import *\n",
    },
    "loaded as a plug-in": {"tests/conftest.py": "pytest_plugins = ['tests.kernels.conftest']\n"},
    "loaded by the settings": {"pytest.ini": "[pytest]\naddopts = -p tests.kernels.conftest\n"},
    "a module that may be a plug-in": {
        "pkg/plugin.py": "import pytest\n\n\n@pytest.fixture\ndef near():\n    return 1\n"
    },
    "that other tests get without it": {"tests/test_other.py": ASKS},
    "a conftest that makes names": {
        "tests/core/conftest.py": "for n in 'ab':\n    globals()[n] = 1\n"
    },
}


@pytest.mark.parametrize("more", OUT_OF_SIGHT.values(), ids=OUT_OF_SIGHT.keys())
def test_a_fixture_out_of_sight(more: Texts) -> None:
    assert said(BASE | dict(more), {BESIDE: ASKS}) == UNSEEN


@pytest.mark.parametrize("more", IN_SIGHT.values(), ids=IN_SIGHT.keys())
def test_a_fixture_in_sight(more: Texts) -> None:
    assert said(BASE | dict(more), {BESIDE: ASKS}, checks={"fixtures"}) == []


def test_a_fixture_below_is_not_seen_from_above() -> None:
    found = findings(BASE, {"tests/test_top.py": ASKS}, checks={"fixtures"})
    where = "the one of `tests/kernels/conftest.py` is not above it"
    assert [f.message for f in found] == [f"no fixture `near` for `test_it`: {where}"]


def test_a_mark_that_asks_for_a_fixture_out_of_sight() -> None:
    text = "import pytest\n\npytestmark = pytest.mark.usefixtures('near')\n"
    assert said(BASE, {BESIDE: text}) == [f"{BESIDE}:3 missing-fixture usefixtures(near)"]


def test_a_fixture_that_the_stack_moves_away() -> None:
    base = BASE | {"tests/kernels/test_use.py": ASKS}
    moved = {"tests/kernels/conftest.py": "", "tests/core/conftest.py": NAMED}
    assert said(base, moved) == ["tests/kernels/test_use.py:1 missing-fixture test_it(near)"]


def test_a_fixture_that_the_stack_removes() -> None:
    base = BASE | {"tests/kernels/test_use.py": "def test_use(near):\n    assert near\n"}
    assert said(base, {"tests/kernels/conftest.py": ""}) == [
        "tests/kernels/test_use.py:1 missing-fixture test_use(near)"
    ]


def test_a_hook_of_a_conftest_above() -> None:
    text = "def pytest_generate_tests(metafunc):\n    metafunc.parametrize('gg', [1])\n"
    base = BASE | {"tests/kernels/conftest.py": text}
    use = "def test_it(gg, default_cfg):\n    pass\n"
    assert said(base, {"tests/kernels/test_new.py": use}) == [
        "tests/kernels/test_new.py:1 missing-fixture test_it(default_cfg)"
    ]
