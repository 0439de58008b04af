"""Maintenance events of clouds, in the forms that their documentation shows: no cloud was available to test with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import vocabulary as v
from leadsman.telemetry.source import all_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.pipeline.events import EventRow

CLOUD = Path(__file__).with_name("cloud")
FILES = [pytest.param(path, id=path.name) for path in sorted(CLOUD.iterdir())]
AT = 1_795_263_721_000
"""2026-11-21 12:22:01 UTC."""

SOURCES = {"aws-health.json": "event_bridge", "aws-state-change.json": "event_bridge"}

MaintenanceEvent = tuple[str | None, str | None, str | None, int | None, float | None]
EXPECTED: dict[str, list[MaintenanceEvent]] = {
    "google-audit.json": [
        ("kafka-2", "google", "migrate", AT + 12, None),
        ("kafka-3", "google", "error", 1_795_264_800_000, None),
    ],
    "google-audit-lines.jsonl": [
        ("kafka-1", "google", "terminate", AT, None),
        ("kafka-1", "google", "restart", AT + 40_000, None),
    ],
    "google-metadata.txt": [(None, "google", "migrate", None, None)],
    "aws-status.json": [("i-0598c7d356eba48d7", "aws", "restart", AT, None)],
    "aws-health.json": [
        ("i-0598c7d356eba48d7", "aws", "terminate", AT, None),
        ("i-0598c7d356eba48d8", "aws", "terminate", AT, None),
    ],
    "aws-state-change.json": [("i-0598c7d356eba48d7", "aws", "terminate", AT, None)],
    "aws-metadata.json": [(None, "aws", "terminate", AT, None)],
    "azure-scheduled.json": [
        ("kafka-1", "azure", "migrate", AT, 5.0),
        ("kafka-2", "azure", "migrate", AT, 5.0),
        ("kafka-3", "azure", "restart", None, None),
    ],
}


def maintenance_event(row: EventRow) -> MaintenanceEvent:
    """Host, provider, action, time and value of an event."""
    labels = row.labels
    return labels.get("host"), labels.get("provider"), labels.get("action"), row.at, row.value


@pytest.mark.parametrize("path", FILES)
def test_the_events_of_a_cloud_are_parsed(path: Path, rows: Callable[[Path], list[EventRow]]) -> None:
    events = [row for row in rows(path) if row.name == v.HOST_MAINTENANCE]

    assert [maintenance_event(row) for row in events] == EXPECTED[path.name]


@pytest.mark.parametrize("path", FILES)
def test_every_quote_stands_on_its_line(path: Path, rows: Callable[[Path], list[EventRow]]) -> None:
    lines = path.read_text().splitlines()

    quoted = [(str(row.text), lines[row.line - 1]) for row in rows(path) if row.name == v.HOST_MAINTENANCE]

    assert quoted
    assert [text for text, line in quoted if text != line] == []


@pytest.mark.parametrize("path", FILES)
def test_exactly_one_source_recognises_each_file(path: Path) -> None:
    head = path.read_bytes()

    assert [source.name for source in all_sources() if source.parser and source.parser.matches(head)] == [
        SOURCES.get(path.name, "maintenance")
    ]
