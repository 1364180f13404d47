"""`report.html` as a reader sees it: a real browser, two screens, with and without its script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.report.render import render_report
from tests.analysis.run_folder import TYPICAL, write_run

pytest.importorskip("websockets.sync.client", reason="no websockets package to talk to a browser with")
from tests.report.browser import Page, browser_path, open_page

PROGRAM = browser_path()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
SCREENS = (390, 1440)
OPEN_ALL = "document.querySelectorAll('details').forEach((box) => box.open = true)"
NUM_CELLS = len(TYPICAL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    planned = [replace(one, pairs=min(one.pairs, 6)) for one in TYPICAL]
    made = write_run(tmp_path_factory.mktemp("browser") / "run #1 100%", planned)
    (made / "traces").mkdir()
    (made / "traces" / "steady-decode.jsonl").write_text("{}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.report.plots.style.PNG_DPI", 20)  # the page holds SVG
        render_report(made)
    return made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert PROGRAM is not None
    with open_page(PROGRAM, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def url(folder: Path, page: Page) -> str:
    page.complaints.clear()
    page.requested.clear()
    return (folder / "report.html").as_uri()


def visible_rows(page: Page) -> int:
    return int(page.evaluate("[...document.querySelectorAll('tr[data-tier]')].filter((row) => !row.hidden).length"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", SCREENS)
def test_nothing_is_wider_than_the_screen_and_the_console_is_silent(
    page: Page, url: str, width: int, dark: bool
) -> None:
    page.show(url, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.evaluate(OPEN_ALL)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.complaints == []


def test_result_of_a_cell_is_read_on_a_phone_without_scrolling(page: Page, url: str) -> None:
    page.show(url, width=390)
    page.evaluate(OPEN_ALL)
    past = "(table) => table.scrollWidth - table.parentElement.clientWidth"
    widths = page.evaluate(f"[...document.querySelectorAll('table.two')].map({past})")
    assert len(widths) >= NUM_CELLS
    assert max(widths) <= 0


def test_page_asks_for_nothing_but_itself(page: Page, url: str) -> None:
    page.show(url, width=1440)
    assert set(page.requested) <= {url, "about:blank"}


def test_security_policy_stops_a_script_that_is_not_the_page_s_own(page: Page, url: str) -> None:
    page.show(url, width=1440)
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.evil = 1'}))")
    assert page.evaluate("window.evil === undefined")
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


def test_every_figure_and_control_has_a_name_for_those_who_cannot_see_it(page: Page, url: str) -> None:
    page.show(url, width=1440)
    page.evaluate(OPEN_ALL)
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    for role, least in (("image", 18), ("combobox", 3), ("button", 2)):
        named = [node for node in nodes if node.get("role", {}).get("value") == role and not node["ignored"]]
        assert len(named) >= least
        assert all(node["name"]["value"].strip() for node in named)


def test_dark_room_gets_light_text_on_dark(page: Page, url: str) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page.show(url, width=1440, dark=False)
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.show(url, width=1440, dark=True)
    assert page.evaluate(background) == "rgb(23, 23, 26)"


def test_phone_gets_cards_and_a_wide_screen_the_table(page: Page, url: str) -> None:
    shown = "[getComputedStyle(document.querySelector('.cards')).display, document.querySelector('.wide').offsetHeight]"
    page.show(url, width=390)
    assert page.evaluate(shown) == ["block", 0]
    page.show(url, width=1440)
    assert page.evaluate(shown)[0] == "none"
    assert page.evaluate(shown)[1] > 0


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("workload", "abort-storm", 2), ("tier", "engine", 2), ("n", "1024", 2), ("tier", "", NUM_CELLS)],
)
def test_filter_leaves_what_was_asked_for_and_says_how_many(
    page: Page, url: str, name: str, value: str, expected: int
) -> None:
    page.show(url, width=1440)
    page.evaluate(
        f"{{ const s = document.querySelector('select[name={name}]'); s.value = '{value}';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    assert visible_rows(page) == expected
    assert page.evaluate("document.querySelector('output').value") == f"{expected} of {NUM_CELLS} comparisons"
    cells = page.evaluate("[...document.querySelectorAll('details.cell')].filter((cell) => !cell.hidden).length")
    assert cells == expected


def test_show_all_takes_the_filters_back(page: Page, url: str) -> None:
    page.show(url, width=1440)
    page.evaluate(
        "{ const s = document.querySelector('select'); s.value = 'preemption';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    assert visible_rows(page) == 1
    page.evaluate("document.querySelector('button[type=reset]').click(); new Promise((done) => setTimeout(done, 20))")
    assert visible_rows(page) == NUM_CELLS


def test_link_of_a_row_opens_its_cell(page: Page, url: str) -> None:
    page.show(url, width=1440)
    link = "document.querySelector('tr[data-workload=preemption] a')"
    page.evaluate(f"{link}.click(); new Promise((done) => setTimeout(done, 50))")
    opened = page.evaluate("[...document.querySelectorAll('details.cell[open]')].map((cell) => cell.dataset.workload)")
    assert opened == ["preemption"]


def test_link_to_a_cell_that_is_filtered_out_brings_it_back(page: Page, url: str) -> None:
    page.show(url, width=1440)
    page.evaluate(
        "{ const s = document.querySelector('select'); s.value = 'abort-storm';"
        " s.dispatchEvent(new Event('change', {bubbles: true})); }"
    )
    cell = "document.querySelector('details.cell[data-workload=preemption]')"
    assert page.evaluate(f"{cell}.hidden")
    page.evaluate(f"location.hash = {cell}.querySelector('p').id; new Promise((done) => setTimeout(done, 50))")
    assert page.evaluate(f"!{cell}.hidden && {cell}.open")


def test_without_its_script_the_page_shows_everything_and_no_dead_control(page: Page, url: str) -> None:
    page.show(url, width=1440, scripts=False)
    document = page.call("DOM.getDocument", depth=-1)["root"]["nodeId"]
    rows = page.call("DOM.querySelectorAll", nodeId=document, selector="tr[data-tier]:not([hidden])")["nodeIds"]
    hidden = page.call("DOM.querySelectorAll", nodeId=document, selector="form.filters[hidden]")["nodeIds"]
    assert (len(rows), len(hidden)) == (NUM_CELLS, 1)


def test_every_raw_link_leads_to_a_file_of_the_run(page: Page, url: str, folder: Path) -> None:
    page.show(url, width=1440)
    links = page.evaluate("[...document.querySelectorAll('ul.raw a')].map((link) => decodeURI(link.href))")
    paths = {Path(link.removeprefix("file://").replace("%23", "#").replace("%25", "%")) for link in links}
    assert {path.name for path in paths} >= {"manifest.json", "comparisons.csv", "steady-decode.jsonl"}
    assert len(paths) > 2 * 6 * 8
    assert all(path.is_file() and path.is_relative_to(folder) for path in paths)
