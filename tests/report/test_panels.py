"""Panels: values over time, and what happened meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.model import Panel, Point
from leadsman.report.charts import drawings, panels

if TYPE_CHECKING:
    from leadsman.model import Diagnosis, Finding

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
PANEL = Panel(id="leaders", title="Partitions led", marks=("settling", "election"), wide=True)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def led(broker: str, seconds: float, value: float) -> Point:
    return Point(subject=broker, outcome="leaders", at=at(seconds), value=value)


POINTS = (
    led("broker 1", 0, 3),
    led("broker 1", 30, 5),
    led("broker 2", 0, 3),
    led("broker 2", 30, 0),
    Point(subject="cluster", outcome="settling", since=at(5), at=at(24)),
    Point(subject="controller", outcome="election", at=at(24)),
    Point(subject="controller", outcome="election", at=at(24.2)),
    Point(subject="controller", outcome="election", at=at(90)),
    Point(subject="worker", outcome="died", at=at(10)),
)


@pytest.fixture
def finding(present: Diagnosis) -> Finding:
    return replace(present.findings[0], panels=(PANEL,), points=POINTS)


def test_what_lasts_is_marked_and_what_happens_at_once_is_marked_once(finding: Finding) -> None:
    (drawn,) = panels.select_panels(finding, 24)

    assert [(mark.label, mark.since, mark.at) for mark in drawn.marks] == [
        ("settling", at(5), at(24)),
        ("election", at(24), at(24)),
    ]


def test_the_caption_names_what_is_marked(finding: Finding) -> None:
    (drawn,) = panels.select_panels(finding, 24)

    assert panels.caption(drawn).endswith("; settling 19 s; election.")


def test_marks_are_no_failures_of_the_timeline(finding: Finding) -> None:
    assert [point.outcome for point in panels.event_points(finding)] == ["died"]


def test_a_wide_panel_names_its_lines_and_marks(finding: Finding) -> None:
    (drawn,) = panels.select_panels(finding, 24)

    svg = drawings.panel_svg(drawn, prefix="p", title="Partitions led", description="Between 0 and 5")

    assert all(text in svg for text in ("broker 1", "broker 2", "settling 19 s", "election"))
