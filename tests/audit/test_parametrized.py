"""`parametrize` and the tests under it: what pytest refuses when it collects."""

from __future__ import annotations

import pytest

from tests.audit.builders import said

CONFTEST = """
import pytest


@pytest.fixture
def model(width):
    return width


@pytest.fixture(autouse=True)
def seeded():
    pass
"""


def text(mark: str, parameters: str = "n", above: str = "") -> str:
    return (
        f"import pytest\n{above}\n\n@pytest.mark.parametrize({mark})\n"
        f"def test_it({parameters}):\n    pass\n"
    )


FAULTS = {
    "a name that is not taken": (text('"n, dim", [(1, 2)]'), "dim"),
    "a name that is not taken, in a list": (text('["n", "dim"], [(1, 2)]'), "dim"),
    "a name with a default": (text('"n", [1]', "n=2"), "n"),
    "a name beside `*args`": (text('"n", [1]', "*args"), "n"),
    "one value less": (text('"n,m", [(1, 2), (1,)]', "n, m"), "n,m"),
    "one value more": (text('("n", "m"), [(1, 2, 3)]', "n, m"), "n,m"),
    "a list of one name": (text('["n"], [(1, 2)]'), "n"),
    "`pytest.param` with two": (text('"n", [pytest.param(1, 2, id="a")]'), "n"),
    "values by keyword": (text('argnames="n,m", argvalues=[[1]]', "n, m"), "n,m"),
}


@pytest.mark.parametrize(("source", "symbol"), FAULTS.values(), ids=FAULTS.keys())
def test_fault(source: str, symbol: str) -> None:
    found = said({"tests/conftest.py": CONFTEST}, {"tests/test_new.py": source})
    assert found == [f"tests/test_new.py:4 parametrize-mismatch test_it({symbol})"]


SOUND = {
    "what fits": text('"n", [1, pytest.param(2, id="two")]'),
    "a tuple as the one value": text('"n", [(1, 2), (3,)]'),
    "a comma at the end, which versions of pytest read in two ways": text('"n,", [(1, 2)]'),
    "values from elsewhere": text('"n,m", [(1, *REST), CASE, make(), *CASES]', "n, m"),
    "names from elsewhere": text("NAMES, [(1, 2)]"),
    "names of one keyword-only parameter": text('"n", [1]', "*, n"),
    "what a fixture asks for": text('"width", [1]', "model"),
    "a fixture that is always used": text('"seeded", [1], indirect=True', ""),
    "a fixture that a mark asks for": text(
        '"dist", [1], indirect=True', "", 'pytestmark = pytest.mark.usefixtures("dist")'
    ),
    "what a fixture of the file asks for": text(
        '"dim", [1]', "made", "\n\n@pytest.fixture\ndef made(dim):\n    return dim\n"
    ),
    "plug-ins": text('"dim", [1]', "", 'pytest_plugins = ["given"]'),
    "a decorator that may take the argument": text('"n, dim", [(1, 2)]').replace(
        "def test_it", "@spread\ndef test_it"
    ),
    "a helper": text('"dim", [1]').replace("test_it", "helper"),
    "a mark of a class": (
        'import pytest\n\n\n@pytest.mark.parametrize("n", [1])\nclass TestIt:\n'
        "    def test_it(self):\n        pass\n"
    ),
}


@pytest.mark.parametrize("source", SOUND.values(), ids=SOUND.keys())
def test_silence(source: str) -> None:
    checks = frozenset({"parametrized"})
    base = {"tests/conftest.py": CONFTEST}
    assert said(base, {"tests/test_new.py": source}, checks=checks) == []


def test_what_an_imported_fixture_asks_for() -> None:
    base = {"tests/given.py": CONFTEST}
    source = text('"width", [1]', "model", "from tests.given import model")
    assert said(base, {"tests/test_new.py": source}) == []
    assert said(base, {"tests/test_new.py": text('"width", [1]', "")}) == [
        "tests/test_new.py:4 parametrize-mismatch test_it(width)"
    ]
