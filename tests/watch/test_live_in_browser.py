"""The live page in a real browser: it shows what happens without a reload, on a telephone, by eye, ear and keyboard."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from leadsman import modes
from leadsman.errors import LeadsmanError
from leadsman.model import Harm
from leadsman.waiting import wait_for
from leadsman.watch.finding_changes import FindingHistory
from leadsman.watch.live.address import parse_address
from leadsman.watch.live.server import serving
from leadsman.watch.live.snapshot import CaptureState, LiveState, QueryState, ShownFinding, Snapshot

from .findings import at, diagnosed, harmed

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

CAPTURE = min(Path(next(iter(modes.__path__))).glob("idle_disconnect/recorded/broken*"))
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SECONDS = timedelta(seconds=20)
SPILLING = """() => [...document.querySelectorAll('main *')].filter(
  e => !e.closest('.scroll, .unseen') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.className)"""
UNLABELLED = """() => [...document.querySelectorAll('section, article, [role=region]')].filter(e => {
  const by = e.getAttribute('aria-labelledby');
  return !(e.getAttribute('aria-label') || (by && document.getElementById(by)?.textContent.trim()) || e.dataset.digest);
}).length"""
CONTRASTS = """() => {
  const rgb = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = colour => colour.map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (!c.endsWith(', 0)')) return c; } };
  return [...document.querySelectorAll('body :is(p, code, td, th, dt, dd, summary, li, time, strong, h2, h3)')]
    .filter(e => e.textContent.trim() && e.checkVisibility()).map(e => {
      const [a, b] = [getComputedStyle(e).color, ground(e)].map(c => light(rgb(c)));
      return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.className + ' ' + e.tagName];
    }).filter(([ratio]) => ratio < 4.5);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    named = os.environ.get("LEADSMAN_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        own = playwright.chromium.executable_path
        program = named or (own if Path(own).exists() else None)
        if program is None:
            pytest.fail("No Chromium: install the package `chromium` or set LEADSMAN_CHROMIUM to one.")
        opened = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(autouse=True)
def closed_pages(browser: Browser) -> Iterator[None]:
    """A page that stays open asks its server for news without end, also when the server is gone."""
    yield
    for context in browser.contexts:
        context.close()


class Tab:
    """A tab, and what it complained about."""

    def __init__(self, browser: Browser, *, width: int = 1100, scheme: Any = "light") -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 850}, color_scheme=scheme)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, url: str) -> Tab:
        self.page.goto(url)
        self.page.evaluate("window.isFirstLoad = true")
        self.see("#connection:has-text('Live')")
        return self

    def see(self, selector: str, seconds: float = 20) -> None:
        self.page.wait_for_selector(selector, state="attached", timeout=seconds * 1000)

    def count(self, heading: str) -> str:
        return str(self.page.locator(f"#{heading}-heading .count").text_content())


def finding(number: int, title: str, **more: Any) -> ShownFinding:
    history = FindingHistory()
    changes = history.update([diagnosed(harmed(0, 1, title=title, **more), until=1, path=f"logs-{number}")], {}, at(1))
    (known,) = history.known.values()
    return ShownFinding(known=known, changes=tuple(changes), harm=(Harm.LOST,))


def snapshot(*findings: ShownFinding, resolved: tuple[ShownFinding, ...] = ()) -> Snapshot:
    return Snapshot(
        at=datetime.now(UTC),
        query=QueryState(started=at(0), batches=3, rounds=2, events=5),
        open=findings,
        resolved=resolved,
        resolved_count=len(resolved),
        captures=(
            CaptureState(name="/var/log/" + "long-name-" * 20, files=3, lag_bytes=2048, last_line=at(1), lines=4),
        ),
    )


@pytest.fixture
def state() -> LiveState:
    return LiveState(at(0))


@pytest.fixture
def url(state: LiveState) -> Iterator[str]:
    state.publish(snapshot())
    with serving(state, parse_address("127.0.0.1:0", None)) as url:
        yield url


def test_a_finding_appears_changes_and_ends_without_a_reload(browser: Browser, state: LiveState, url: str):
    tab = Tab(browser).open(url)
    one, two = finding(1, "One failed"), finding(2, "Two failed")
    state.publish(snapshot(one))
    tab.see("article h3:has-text('One failed')")
    announced = tab.page.locator("#announcement").text_content()
    state.publish(snapshot(one, two))
    tab.see("article h3:has-text('Two failed')")
    state.publish(snapshot(two, resolved=(one,)))
    tab.see("article .resolved h3:has-text('One failed')")

    assert announced == "New: One failed"
    assert (tab.count("open"), tab.count("resolved")) == ("1", "1")
    assert tab.page.title() == "(1) leadsman watch"
    assert tab.page.evaluate("window.isFirstLoad") is True
    assert tab.complaints == []
    assert all(each.startswith((url, "data:")) for each in tab.requests)


def test_what_is_unfolded_and_focused_stays_so_while_the_page_changes(browser: Browser, state: LiveState, url: str):
    tab = Tab(browser).open(url)
    one = finding(1, "One failed")
    state.publish(snapshot(one))
    tab.see("article h3:has-text('One failed')")
    tab.page.locator("article summary", has_text="Proof").first.click()
    assert one.known.finding
    changed = replace(one, known=replace(one.known, finding=replace(one.known.finding, title="One failed again")))
    state.publish(snapshot(changed, finding(2, "Two failed")))
    tab.see("article h3:has-text('One failed again')")

    assert tab.page.locator("article details[open]").count() == 1
    assert tab.page.locator("article details[open] .evidence").first.is_visible()


def test_a_page_whose_watch_has_ended_shows_it(browser: Browser, state: LiveState):
    with serving(state, parse_address("127.0.0.1:0", None)) as url:
        tab = Tab(browser).open(url)

    tab.see("#connection.lost:has-text('Connection lost')")


def test_a_hostile_line_does_nothing_and_an_injected_script_is_stopped(browser: Browser, state: LiveState, url: str):
    tab = Tab(browser).open(url)
    state.publish(snapshot(finding(1, "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>")))
    tab.see("article h3:has-text('<script>')")
    tab.page.evaluate("""() => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
    }""")

    assert tab.page.evaluate("window.ran") is None
    assert tab.page.locator("main img").count() == 0


@pytest.mark.parametrize("width", [320, 390, 1100])
def test_nothing_spills_out_at_any_width(browser: Browser, state: LiveState, url: str, width: int):
    state.publish(snapshot(finding(1, "A" * 200), resolved=(finding(2, "Two failed"),)))
    tab = Tab(browser, width=width).open(url)
    for each in tab.page.locator("article summary").all():
        each.evaluate("summary => { summary.parentElement.open = true; }")

    assert tab.page.evaluate(SPILLING) == []


def test_on_a_telephone_every_figure_of_a_source_is_in_sight(browser: Browser, state: LiveState, url: str):
    state.publish(snapshot())
    tab = Tab(browser, width=390).open(url)

    right = "cells => Math.max(...cells.map(each => each.getBoundingClientRect().right))"
    assert tab.page.locator(".sources td").count() == 4
    assert tab.page.locator(".sources :is(th, td)").evaluate_all(right) <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_by_eye_and_has_a_name_for_the_ear(
    browser: Browser, state: LiveState, url: str, scheme: str
):
    state.publish(snapshot(finding(1, "One failed"), resolved=(finding(2, "Two failed"),)))
    tab = Tab(browser, scheme=scheme).open(url)
    for each in tab.page.locator("article summary").all():
        each.evaluate("summary => { summary.parentElement.open = true; }")

    assert tab.page.evaluate(CONTRASTS) == []
    assert tab.page.evaluate(UNLABELLED) == 0
    assert tab.page.locator("main").count() == 1
    assert tab.page.locator("html").get_attribute("lang") == "en"


def test_without_scripts_the_page_shows_the_same(browser: Browser, state: LiveState, url: str):
    state.publish(snapshot(finding(1, "One failed")))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(url)

    assert page.locator("article h3", has_text="One failed").is_visible()
    context.close()


@pytest.mark.spark
def test_while_a_recording_is_replayed_the_finding_appears_on_wide_and_narrow_pages(browser: Browser, tmp_path: Path):
    command = [sys.executable, "-m", "leadsman", "watch", "--replay", str(CAPTURE), "--speed", "20"]
    process = subprocess.Popen(
        [*command, "--to", str(tmp_path / "state"), "--serve", "127.0.0.1:0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        url = line.rpartition(" ")[2].strip()
        assert url.startswith("http://127.0.0.1:"), line
        wide, narrow = Tab(browser).open(url), Tab(browser, width=390).open(url)
        before = wide.count("open")
        for tab in (wide, narrow):
            tab.see("article h3:has-text('Idle disconnect')", seconds=300)
        wait_for(lambda: wide.count("open") == "1", timeout=SECONDS, what="one open finding", error=LeadsmanError)
        if folder := os.environ.get("LEADSMAN_SCREENSHOTS"):
            wide.page.screenshot(path=f"{folder}/wide.png", full_page=True)
            narrow.page.screenshot(path=f"{folder}/narrow.png", full_page=True)
        reloaded = [each for each in (wide, narrow) if each.page.evaluate("window.isFirstLoad") is not True]
        spilling = narrow.page.evaluate(SPILLING)
        at_end = next((line for line in process.stderr if "replayed to their end" in line), "")
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)

    assert before == "0"
    assert "until Ctrl-C" in at_end
    assert reloaded == []
    assert spilling == []
    assert wide.complaints == narrow.complaints == [] or all("ERR_" in each for each in wide.complaints)
    assert process.returncode == 130
