"""The labels that are found by columns are those that a look-up in each event's map finds."""

import random

import pyarrow as pa
import pytest

from leadsman.pipeline.detector_sql import run_steps
from leadsman.pipeline.events import ARROW_SCHEMA
from leadsman.pipeline.labelled_events import label_values, labelled_events
from leadsman.pipeline.spark.embedded import embedded_session, frame_from_table

LABELS = ["topic", "leader", "node"]


def made_up(seed: int) -> list[dict[str, str | None]]:
    """Return labels of events: of some none, of others many, and values that are empty or missing."""
    dice = random.Random(seed)
    keys = [*LABELS, "isr", "replicas", ""]
    return [
        {key: dice.choice(("", "1,2", "orders", None)) for key in dice.sample(keys, dice.randrange(len(keys) + 1))}
        for _ in range(dice.randrange(40))
    ]


@pytest.mark.parametrize("seed", range(20))
def test_columns_hold_what_the_maps_hold(seed: int):
    rows = made_up(seed)
    maps = pa.array([list(each.items()) for each in rows], pa.map_(pa.string(), pa.string()))
    since = random.Random(seed).randrange(len(rows) + 1)

    columns = list(label_values(maps[since:], LABELS))

    assert [column.to_pylist() for column in columns] == [[row.get(label) for row in rows[since:]] for label in LABELS]


def events_of(seed: int) -> pa.Table:
    fixed = {"capture": "a", "at": None, "subject": None, "source": "broker", "file": "x", "text": "", "value": 1.5}
    rows = [
        {**fixed, "name": random.Random(line).choice(("some", "other")), "line": line, "labels": list(labels.items())}
        for line, labels in enumerate(made_up(seed))
    ]
    return pa.Table.from_pylist(rows, schema=ARROW_SCHEMA)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("columns", [("line",), ("line", "value", "at", "name")])
def test_events_of_large_captures_are_those_of_small_ones(seed, columns, monkeypatch: pytest.MonkeyPatch):
    found = []
    for many_bytes in (0, 1 << 30):
        monkeypatch.setattr("leadsman.pipeline.spark.embedded.MANY_BYTES", many_bytes)
        with embedded_session():
            events = labelled_events(frame_from_table(events_of(seed)), "name = 'some'", LABELS, columns=columns)
            found.append(run_steps({"events": events}, {"sorted": "SELECT * FROM events ORDER BY line"}).toArrow())

    large, small = found
    assert large.to_pylist() == small.to_pylist()
    assert large.schema.names == [*columns, "label_leader", "label_node", "label_topic"]
