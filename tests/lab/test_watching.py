"""A watch of the incidents on real brokers, clients and hosts: how soon it opened each finding, and that it ended."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from leadsman.lab.watching.incidents import INCIDENTS
from leadsman.lab.watching.measure import measure
from leadsman.lab.watching.running_watch import RunningWatch
from leadsman.lab.watching.table import render

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = json.loads((DOCS / "watching.json").read_text())
NAMES = [each.name for each in INCIDENTS]
AT = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)
LINE = "12:00:00 {life:8} idle_disconnect: 7 records [of 9] lost [{path}, since 2026-11-24 11:59:00Z]\n"


def watch() -> RunningWatch:
    return RunningWatch("/tmp/capture", "idle_disconnect", "", "", None)  # type: ignore[arg-type]  # no process runs


def test_the_page_shows_the_measured_figures() -> None:
    page = (DOCS / "watch.md").read_text()

    assert render(MEASURED) in page, "Write it again: python -m leadsman.lab.watching --only"


@pytest.mark.parametrize("name", NAMES)
def test_each_incident_was_opened_and_resolved_on_the_output_the_page_and_in_alertmanager(name: str) -> None:
    run = MEASURED[name]

    assert None not in {*run["opened"].values(), *run["resolved"].values(), run["harmed"], run["cured"]}
    assert run["harm"]


def test_changes_of_this_mode_in_this_capture_are_noted_once() -> None:
    running = watch()
    for line in (
        LINE.format(life="OPENED", path="/tmp/capture-2"),
        LINE.format(life="OPENED", path="/tmp/capture").replace("idle_disconnect", "stale_neighbour"),
        LINE.format(life="OPENED", path="/tmp/capture"),
        LINE.format(life="OPENED", path="/tmp/capture").replace("7", "9"),
    ):
        running.note_line(line, AT)

    assert running.seen.times == {"output opened": AT}
    assert running.seen.titles == {"output opened": "7 records [of 9] lost"}


def test_a_finding_is_on_the_page_where_it_stands_below_its_heading() -> None:
    running, place = watch(), "<code>idle_disconnect</code> in /tmp/capture"
    names = ("open", "undecided", "resolved", "sources")
    page = "".join(f'<h2 id="{name}-heading">{name}</h2>{{{name}}}' for name in names)
    nothing = dict.fromkeys(names, "")

    running.look_at_page(page.format(**nothing | {"undecided": place, "sources": place}), AT)
    before = dict(running.seen.times)
    running.look_at_page(page.format(**nothing | {"resolved": place}), AT)

    assert before == {}
    assert running.seen.times == {"page resolved": AT}


def test_an_alert_has_ended_when_it_was_there_and_is_no_more() -> None:
    running = watch()
    running.look_at_alerts("[]", AT)
    before = dict(running.seen.times)
    running.look_at_alerts('[{"labels": {"mode": "idle_disconnect"}}]', AT)
    running.look_at_alerts("[]", AT)

    assert before == {}
    assert running.seen.times == {"alertmanager opened": AT, "alertmanager resolved": AT}


@pytest.mark.lab
@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_incident_is_reported_while_it_happens_and_ends_with_its_cure() -> None:
    run = measure(INCIDENTS[0], lambda _: None)

    assert run["harm"]["lost"] > 0
    assert all(seconds is not None and seconds < 120 for seconds in run["opened"].values())
    assert all(
        seconds is not None and seconds < 4 * INCIDENTS[0].idle_time.total_seconds()
        for seconds in run["resolved"].values()
    )
