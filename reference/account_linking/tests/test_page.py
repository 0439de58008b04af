"""The demo's page: what the workers did, what no table took, and money; legible on a phone, safe with any text."""

from __future__ import annotations

import shutil
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from markupsafe import Markup
from playwright.sync_api import sync_playwright

from account_linking.demo.balance import Balance
from account_linking.demo.emulator.environment import Environment, LambdaFunction, PastInvocation
from account_linking.demo.emulator.event_source_mapping import EventSourceMapping
from account_linking.demo.page import DayReport, DeadLetterSummary, MoneySection, RateLimit, write_page
from account_linking.demo.worker_timeline import WorkerHistory, worker_group
from account_linking.tables.quarantine import Quarantine, RuleCount, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page

PHONE = {"width": 390, "height": 844}
EVIL = "<script>document.title = 'owned'</script>"
LOG = """\
START RequestId: 7715eb37 Version: $LATEST
[INFO]\t2026-11-24T09:01:39.390Z\t7715eb37\tkafka-producer #1 expired reason=idle seconds=4.851
[INFO]\t2026-11-24T09:01:39.391Z\t7715eb37\tkafka-producer #1 closed reason=idle seconds=0.001
[INFO]\t2026-11-24T09:01:39.400Z\t7715eb37\thttp #1 expired reason=idle seconds=61
[INFO]\t2026-11-24T09:01:39.410Z\t7715eb37\tkafka-producer #2 created seconds=0.023
"""


def environment(tmp_path: Path, *past: PastInvocation) -> Environment:
    function = LambdaFunction(name="f", handler="m.f", time_limit_seconds=1, variables={}, logs=tmp_path)
    log = tmp_path / "stream"
    log.write_text(LOG)
    return Environment(function, past=list(past), log_streams=[log])


@pytest.fixture
def report(tmp_path: Path) -> DayReport:
    ended = environment(
        tmp_path, PastInvocation(0, 1, ""), PastInvocation(8, 9, "NotStored"), PastInvocation(11, 12, "")
    )
    mapping = EventSourceMapping(bootstrap="", topic="", function=ended.function, partitions=1, environments=[ended])
    mapping.failed_invocations["NotStored"] = 1
    return DayReport(
        balance=Balance(transactions=1, total={}, compared={"silver": 1}, values=3, differences=()),
        groups=[worker_group("With", mapping), worker_group("Without", mapping)],
        idle_limit_seconds=4,
        rate_limit=RateLimit(calls=10, limited=2, errors=1, waiting_seconds=2.0),
        dead_letters=[DeadLetterSummary("webhook.element-1-2", EVIL)],
        quarantine=Quarantine(
            waiting=1,
            replayed=0,
            rules=(RuleCount("amount_is_number", "amount", 1),),
            samples=(Sample("provider.plaid.transactions.raw-0-7", "amount_is_number", "amount", f'"{EVIL}"'),),
        ),
        money=[
            MoneySection(
                currency="EUR",
                months=[date(2026, month, 1) for month in range(1, 8)],
                rows={"spending": [Decimal("-1234567.89")] * 6 + [None]},
                chart=Markup("<svg></svg>"),
            )
        ],
    )


@pytest.fixture
def page(report: DayReport, tmp_path: Path) -> Iterator[Page]:
    """The page, open in Chromium on a phone."""
    path = tmp_path / "index.html"
    write_page(report, path)
    with sync_playwright() as playwright:
        program = shutil.which("chromium") or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened: Any = browser.new_page(viewport=PHONE)  # type: ignore[arg-type]  # a dictionary is taken too
        opened.goto(path.as_uri())
        yield opened
        browser.close()


def test_a_freeze_lasts_from_an_invocation_to_the_next_and_a_delay_to_the_retry_that_succeeded() -> None:
    past = [PastInvocation(0, 1, ""), PastInvocation(8, 9, "NotStored"), PastInvocation(11, 12, "NotStored")]
    worker = WorkerHistory(1, [*past, PastInvocation(14, 15, ""), PastInvocation(15.5, 16, "")], ())

    assert list(worker.freezes) == [(1, 8), (9, 11), (12, 14), (15, 15.5)]
    assert worker.longest_freeze_seconds == 7
    assert [each.began for each in worker.failed] == [8, 11]
    assert worker.longest_delay_seconds == 7


def test_replaced_producers_are_read_from_the_log_and_no_other_client(report: DayReport) -> None:
    (worker,) = report.groups[0].workers

    assert [(each.reason, each.idle_seconds) for each in worker.replacements] == [("idle", 4.851)]


@pytest.mark.browser
def test_the_page_compares_the_workers_and_fits_a_phone(page: Page) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    cells = page.locator("table").first.locator("tr", has_text="Failed invocations").locator("td").all_inner_texts()
    assert cells == ["1", "1"]
    assert page.locator("text=answered 2 with 429").count() == 1


@pytest.mark.browser
def test_every_table_is_named_and_the_charts_are_hidden_from_screen_readers(page: Page) -> None:
    assert page.locator("table").count() == page.locator("table > caption").count() > 4
    assert page.locator("svg[aria-hidden]").count() == 2
    assert page.locator("[role=region]:not([aria-label])").count() == 0
    assert page.locator("th:not([scope])").count() == 0


@pytest.mark.browser
def test_text_of_a_record_cannot_act_in_the_page(page: Page) -> None:
    assert page.title() == "Account linking: a simulated day"
    assert page.locator("text=document.title").count() == 2
