"""The HTML page in a real browser, from a file, with the network off."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backport.core.reports import Report
from backport.report.html import as_html

pytestmark = pytest.mark.browser
SHOTS = Path(os.environ.get("BACKPORT_SCREENSHOTS") or "build/screenshots")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-sync")
READ = (
    *(f".cell.{look}" for look in ("clean", "moved", "contained", "conflict", "skipped")),
    *(".badge.clean", ".counts", ".facts", "body"),
)
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no Chromium with its driver on PATH (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(driver)
    found = webdriver.Chrome(options=options, service=service)
    found.execute_cdp_cmd("Network.enable", {})
    found.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield found
    found.quit()


@pytest.fixture
def page(browser: Any, report: Report, tmp_path: Path) -> Open:
    """Open the report at a width, in light or dark, perhaps at an anchor."""
    path = tmp_path / "report.html"
    path.write_text(as_html(report), "utf-8")

    def opened(width: int = 1280, dark: bool = False, anchor: str = "") -> Any:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})
        browser.get("about:blank")
        browser.get(f"{path.as_uri()}{anchor}")
        return browser

    return opened


def shown(browser: Any, query: str) -> list[Any]:
    """The elements that can be seen."""
    return [found for found in browser.find_elements("css selector", query) if found.is_displayed()]


def opened_entry(browser: Any) -> Any:
    """The one entry that is open, once the page has followed the link."""
    until = time.monotonic() + 10
    while not (found := shown(browser, ".entry[open]")) and time.monotonic() < until:
        time.sleep(0.02)
    (entry,) = found
    return entry


def press(browser: Any, *keys: str) -> None:
    """Type into whatever has the focus."""
    webdriver = pytest.importorskip("selenium.webdriver")
    webdriver.ActionChains(browser).send_keys(*keys).perform()


def focused(browser: Any) -> Any:
    return browser.switch_to.active_element


def screenshot(browser: Any, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SHOTS / f"{name}.png"))


def test_it_loads_nothing_and_runs_without_an_error(page: Open, report: Report) -> None:
    found = page()
    assert found.get_log("browser") == []
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", as_html(report))
    requests = "return performance.getEntriesByType('resource').length"
    assert found.execute_script(requests) == 0
    screenshot(found, "light")


def test_what_a_patch_says_is_shown_and_not_run(page: Open) -> None:
    found = page(anchor="#s1t2")
    assert len(found.find_elements("css selector", "script")) == 1
    assert found.find_elements("css selector", "main b:not([aria-hidden])") == []
    assert "<script>alert(1)</script>" in found.page_source or "&lt;script&gt;" in found.page_source


def test_each_cell_says_its_outcome_in_a_word_and_a_sign(page: Open) -> None:
    cells = page().find_elements("css selector", ".matrix tbody .cell")
    words = {cell.find_element("css selector", "span").text for cell in cells}
    assert words == {"clean", "moved", "contained", "conflict", "not applicable", "error"}
    signs = {cell.find_element("css selector", "b").text for cell in cells}
    assert len(signs) == len(words)


def test_a_cell_opens_to_hunks_reasons_and_both_sides(page: Open) -> None:
    found = page()
    found.find_element("css selector", ".matrix .cell.conflict").click()
    entry = opened_entry(found)
    assert "the target has no line" in entry.text
    assert "[[reanchor]]" in entry.text or "[[drop]]" in entry.text
    tables = [
        table for table in entry.find_elements("css selector", ".sides") if table.is_displayed()
    ]
    heads = [head.text for table in tables for head in table.find_elements("css selector", "th")]
    assert heads == ["the hunk expects", "the target has", "before", "after"]
    assert "gate_10 = 10" in tables[0].text
    assert "gate_10 = 0" in tables[0].text
    screenshot(found, "conflict")


def test_a_skipped_stack_opens_to_its_reason(page: Open) -> None:
    found = page()
    found.find_element("css selector", ".matrix .cell.skipped").click()
    entry = opened_entry(found)
    assert "not needed <script>" in entry.text


@pytest.mark.parametrize(
    ("action", "left"),
    [
        ("document.getElementById('search').value = 'gate.py'", "gate-fix"),
        ("document.getElementById('stack').value = 'cache-fix'", "cache-fix"),
        ("document.getElementById('target').value = 'team/v1.3.0'", "team/v1.3.0"),
    ],
    ids=["by file", "by stack", "by target"],
)
def test_filters(page: Open, action: str, left: str) -> None:
    found = page()
    before = len(shown(found, ".entry"))
    told = "document.querySelector('form').dispatchEvent(new Event('input'))"
    found.execute_script(f"{action}; {told}")
    entries = shown(found, ".entry")
    assert 0 < len(entries) < before
    assert all(left in entry.text for entry in entries)
    assert f"{len(entries)} of {before}" in found.find_element("id", "shown").text


def test_filter_by_outcome(page: Open) -> None:
    found = page()
    for box in found.find_elements("css selector", "input[name=look]"):
        if box.get_attribute("value") != "conflict":
            box.click()
    (entry,) = shown(found, ".entry")
    assert "conflict" in entry.get_attribute("class")
    assert len(shown(found, "section.target")) == 2  # the conflict's, and the one in trouble


def test_the_keyboard_alone_is_enough(page: Open) -> None:
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    found = page()
    press(found, "/")
    assert focused(found).get_attribute("id") == "search"
    press(found, keys.ESCAPE)
    found.execute_script("document.querySelector('a.cell').focus()")
    press(found, keys.ARROW_DOWN, keys.ARROW_RIGHT, keys.ARROW_RIGHT)
    cell = focused(found)
    assert "conflict" in cell.get_attribute("class")
    press(found, keys.ENTER)
    assert opened_entry(found).find_element("css selector", "summary") == focused(found)
    press(found, keys.ESCAPE)
    assert shown(found, ".entry[open]") == []
    assert focused(found) == cell
    press(found, keys.ENTER)
    assert opened_entry(found)


def test_a_link_to_a_cell_opens_it(page: Open) -> None:
    entry = opened_entry(page(anchor="#s1t1"))
    assert entry.get_attribute("id") == "s1t1"


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_only_the_matrix_scrolls_sideways(page: Open, width: int) -> None:
    found = page(width, anchor="#s1t2")
    assert found.execute_script("return document.documentElement.scrollWidth") == width
    screenshot(found, f"phone-{width}")


def _contrast(browser: Any, query: str) -> float:
    """The contrast of an element's text with what is behind it, as WCAG counts it."""
    script = """
    const parse = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b]
      .map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    let node = document.querySelector(arguments[0]);
    const ink = light(parse(getComputedStyle(node).color));
    const opaque = (value) => !/, 0\\)$|transparent/.test(value);
    while (!opaque(getComputedStyle(node).backgroundColor)) node = node.parentNode;
    const paper = light(parse(getComputedStyle(node).backgroundColor));
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    """
    return float(browser.execute_script(script, query))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_in_light_and_dark(page: Open, dark: bool) -> None:
    found = page(dark=dark)
    background = found.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", background)[:3])) < 200) is dark
    for query in READ:
        assert _contrast(found, query) >= 4.5, query
    screenshot(found, "dark" if dark else "light")


def test_without_scripts_everything_can_still_be_opened(page: Open) -> None:
    found = page()
    found.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        found = page()
        found.find_element("css selector", ".entry.conflict > summary").click()
        assert "the target has no line" in found.find_element("css selector", ".entry[open]").text
    finally:
        found.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
