"""Answers of `query_range` whose series are so long that they become events in parts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from leadsman import vocabulary as v
from leadsman.telemetry.sources.prometheus.prometheus_range import MAX_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

FIRST = 1_794_873_600
STEP = 15
SAMPLES = 2 * MAX_SAMPLES + 7
NOT_A_NUMBER = {0, MAX_SAMPLES - 1, MAX_SAMPLES, SAMPLES - 1}
"""At both ends of a part, where an index that is off by one would show."""

VALUES = ["NaN" if number in NOT_A_NUMBER else str(number) for number in range(SAMPLES)]


def answer(indent: int | None) -> str:
    pairs = [[FIRST + STEP * number, value] for number, value in enumerate(VALUES)]
    result = [
        {"metric": {"__name__": "up", "instance": f"kafka-{number}:7071"}, "values": pairs} for number in range(2)
    ]
    document = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return json.dumps(document, indent=indent, separators=None if indent else (",", ":"))


@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "indented"])
def test_each_sample_of_a_long_series_is_an_event_with_its_time_and_its_line(
    indent: int | None, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    file = tmp_path / "answer.json"
    file.write_text(answer(indent))
    lines = file.read_text().splitlines()

    samples = [row for row in rows(file) if row.name == v.METRIC]

    expected = [
        (f"kafka-{series}:7071", (FIRST + STEP * number) * 1000, float(value))
        for series in range(2)
        for number, value in enumerate(VALUES)
        if number not in NOT_A_NUMBER
    ]
    assert [(row.subject, row.at, row.value) for row in samples] == expected
    assert [row for row in samples[::997] if str(row.text) not in lines[row.line - 1]] == []
    if indent:
        assert [json.loads(lines[row.line - 1]) for row in samples[:3]] == ["1", "2", "3"]
