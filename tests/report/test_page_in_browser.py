"""The page in a real browser: it opens in silence, can be read by eye, ear and keyboard, and no log line acts."""

import os
import shutil
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from leadsman.report.page.render import render_page

pytestmark = pytest.mark.browser

VIEWPORT = {"width": 1100, "height": 900}
NAMES = ("chromium", "chromium-browser", "google-chrome")
# No sandbox, because CI runs as root; no GPU and no /dev/shm, because containers have neither.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
DRAWN_OUTSIDE = """() => [...document.querySelectorAll('.chart svg')].flatMap(svg => {
  const all = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('path, use, text')].filter(e => !e.closest('defs'))
    .map(e => e.getBoundingClientRect()).filter(
    e => e.left < all.left - 1 || e.right > all.right + 1 || e.top < all.top - 1 || e.bottom > all.bottom + 1);
}).length"""
SPILLING = """() => [...document.querySelectorAll('main *')].filter(
  e => !e.closest('.scroll, .unseen') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.className)"""
CONTRASTS = """() => {
  const rgb = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = colour => colour.map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!c.endsWith(', 0)')) return c; } };
  return [...document.querySelectorAll('main :is(p, code, td, th, dt, dd, summary), .badge, .state, .txt')]
    .filter(e => e.textContent.trim() && e.checkVisibility()).map(e => {
      const [a, b] = [getComputedStyle(e).color, ground(e)].map(c => light(rgb(c)));
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.className + ' ' + e.tagName];
    }).filter(([ratio]) => ratio < 4.5);
}"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    named = os.environ.get("LEADSMAN_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        program = named or (own if Path(own).exists() else None)
        if program is None:
            pytest.fail(
                "No Chromium to open the page in: install the package `chromium` or set LEADSMAN_CHROMIUM to one."
            )
        opened = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield opened
        opened.close()


class Opened:
    """A page in a tab that remembers what it complained about, asked for, and popped up."""

    def __init__(self, tab: Page) -> None:
        self.tab = tab
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("requestfailed", lambda request: self.complaints.append(request.url))
        tab.on("request", lambda request: self.requests.append(request.url))
        tab.on("dialog", self._dismiss)

    def _dismiss(self, dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@pytest.fixture(scope="module")
def url_of(request, tmp_path_factory):
    """The address of a page of these diagnoses, which is rendered once."""

    @cache
    def render(*names):
        file = tmp_path_factory.mktemp("page") / "report.html"
        file.write_text(render_page([request.getfixturevalue(name) for name in names]), encoding="utf-8")
        return file.as_uri()

    return render


@pytest.fixture
def open_page(browser, url_of, request):
    """A page in a tab of its own, in which a test may act."""

    def opening(*names, scheme="light", script=True):
        context = browser.new_context(viewport=VIEWPORT, color_scheme=scheme, java_script_enabled=script)
        request.addfinalizer(context.close)
        opened = Opened(context.new_page())
        opened.tab.goto(url_of(*names))
        return opened

    return opening


@pytest.fixture(scope="module")
def look_at(browser, url_of):
    """A page in a tab that many tests look at, each in its own width and colours: none of them acts there."""
    context = browser.new_context(viewport=VIEWPORT)

    @cache
    def open_once(*names):
        opened = Opened(context.new_page())
        opened.tab.goto(url_of(*names))
        return opened

    def looking(*names, width=VIEWPORT["width"], scheme="light"):
        opened = open_once(*names)
        opened.tab.set_viewport_size(VIEWPORT | {"width": width})
        opened.tab.emulate_media(color_scheme=scheme)
        return opened

    yield looking
    context.close()


@pytest.mark.parametrize(
    "names", [("present",), ("unknown",), ("absent",), ("reach",), ("present", "unknown", "absent", "hostile")]
)
def test_the_page_opens_without_a_complaint_and_asks_for_nothing(names, look_at):
    opened = look_at(*names)

    assert opened.complaints == []
    assert [url for url in opened.requests if not url.endswith("/report.html")] == []


def test_a_hostile_line_does_nothing(look_at):
    opened = look_at("hostile")

    assert opened.dialogs == []
    assert opened.complaints == []
    assert opened.tab.locator("img").count() == 0
    assert opened.tab.locator("pre", has_text="<script>alert(1)</script>").count() > 0


def test_a_script_that_got_in_all_the_same_is_stopped_by_the_policy(open_page):
    opened = open_page("present")

    opened.tab.evaluate("""() => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
      document.body.insertAdjacentHTML('beforeend', '<b onclick="window.ran = true">x</b>');
      document.body.lastChild.click();
    }""")

    assert opened.tab.evaluate("window.ran") is None
    assert "Content Security Policy" in opened.complaints[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_charts_are_drawn_within_their_frames(scheme, look_at):
    opened = look_at("present", scheme=scheme)

    charts = opened.tab.get_by_role("img")
    assert charts.count() == 2
    assert opened.tab.locator(".chart svg path").count() > 20
    assert opened.tab.locator(".chart svg use").count() > 200
    assert opened.tab.evaluate(DRAWN_OUTSIDE) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_matrix_is_drawn_within_its_frame_and_repeated_as_a_table(scheme, open_page):
    opened = open_page("reach", scheme=scheme)
    section = opened.tab.get_by_role("region", name="Who reaches whom", exact=True)

    opened.tab.get_by_text("Show as a table").click()

    rows = opened.tab.get_by_role("region", name="Who reaches whom, as a table").get_by_role("row")
    assert section.get_by_role("img").count() == 1
    assert opened.tab.evaluate(DRAWN_OUTSIDE) == 0
    assert rows.count() == 3
    assert "no data" in rows.nth(2).inner_text()


def test_charts_follow_the_colour_scheme(look_at):
    colour = "getComputedStyle(document.querySelector('.chart svg text')).fill"

    light = look_at("present", scheme="light").tab.evaluate(colour)
    dark = look_at("present", scheme="dark").tab.evaluate(colour)

    assert light == "rgb(86, 96, 105)"
    assert dark == "rgb(160, 171, 180)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["present", "unknown", "absent", "reach"])
def test_text_stands_out_from_its_ground(scheme, name, look_at):
    opened = look_at(name, scheme=scheme)

    assert opened.tab.evaluate(CONTRASTS) == []


@pytest.mark.parametrize("name", ["present", "unknown", "absent", "hostile", "reach"])
@pytest.mark.parametrize("width", [320, 400])
def test_a_narrow_window_scrolls_in_one_direction_only(name, width, look_at):
    opened = look_at(name, width=width)

    assert opened.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.tab.evaluate(SPILLING) == []


def test_the_first_key_reaches_the_skip_link_and_it_leads_to_the_findings(open_page):
    tab = open_page("present").tab

    tab.keyboard.press("Tab")
    skipping = tab.evaluate("document.activeElement.textContent")
    tab.keyboard.press("Enter")

    assert skipping == "Skip to the findings"
    assert tab.evaluate("document.activeElement.id") == "findings"


def test_closed_evidence_opens_from_the_keyboard(open_page):
    tab = open_page("present").tab
    details = tab.locator(".chain details").first

    details.locator("summary").focus()
    tab.keyboard.press("Enter")

    assert details.evaluate("e => e.open") is True
    assert details.locator(".evidence").first.is_visible()


def test_everything_that_scrolls_or_acts_can_be_reached_by_keyboard(look_at):
    tab = look_at("present").tab

    unreachable = tab.evaluate("""() => [...document.querySelectorAll('a, button, summary, .scroll')]
      .filter(e => e.checkVisibility() && e.tabIndex < 0).length""")

    assert unreachable == 0


def test_a_screen_reader_finds_landmarks_and_headings_in_order(look_at):
    tab = look_at("present", "unknown").tab

    levels = tab.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
    steps = [after - before for before, after in pairwise(levels)]
    assert [tab.get_by_role(role).count() for role in ("main", "banner", "navigation", "contentinfo")] == [1, 1, 1, 1]
    assert levels.count(1) == 1
    assert max(steps) == 1


def test_every_column_and_row_of_a_table_has_its_heading(look_at):
    tab = look_at("present", "unknown").tab

    headings = tab.locator("th")
    assert headings.count() > 10
    assert tab.locator("th:not([scope])").count() == 0


def test_settings_are_copied_by_the_button(open_page):
    opened = open_page("present")
    opened.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])

    opened.tab.get_by_role("button").first.click()
    opened.tab.get_by_text("Copied").wait_for()

    assert opened.tab.evaluate("navigator.clipboard.readText()").startswith(
        "# Java, librdkafka\nconnections.max.idle.ms="
    )


def test_without_scripts_everything_is_there_but_the_buttons(open_page):
    tab = open_page("present", script=False).tab

    assert tab.locator("button:visible").count() == 0
    assert tab.get_by_text("connections.max.idle.ms=180000").is_visible()


def test_a_reference_to_a_line_in_a_closed_section_leads_to_it(open_page):
    tab = open_page("present").tab

    tab.locator(".again a").first.click()

    assert tab.locator(".evidence:target").is_visible()


def test_the_page_prints_with_its_closed_evidence(open_page):
    tab = open_page("present", scheme="dark").tab

    pdf = tab.pdf()
    tab.emulate_media(media="print")

    assert pdf.startswith(b"%PDF")
    assert tab.locator(".chain details .evidence").first.bounding_box()["height"] > 10
    assert tab.locator("button:visible").count() == 0
    assert tab.evaluate("getComputedStyle(document.documentElement).color") == "rgb(0, 0, 0)"
