"""What changed does not depend on the order in which events are read, nor on whether they are many."""

from datetime import timedelta
from random import Random

import pyarrow as pa
import pytest

from leadsman.catalogue import Mode
from leadsman.pipeline.changes import sides
from leadsman.pipeline.changes.compare import compare
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.pipeline.spark.embedded import embedded_session, frame_from_table


def recorded_events(mode: str, recording: str, share: float = 1 / 3) -> tuple[pa.Table, str]:
    """Return the events of a recording, and what divides them by the time of the last one of this share."""
    events = read_small_input(find_input([str(Mode(mode).folder / "recorded" / recording)])).events
    assert events is not None
    times = sorted(filter(None, events.column("at").to_pylist()))
    return events, sides.by_time(times[int(len(times) * share)], times[-1] + timedelta(seconds=1))


@pytest.mark.parametrize("recording", ["near-miss-burst-java", "near-miss-fleet-java"])
def test_changes_do_not_depend_on_the_order_of_events(recording: str):
    """Several sources count the ids of a topic, each of them for every partition."""
    events, side = recorded_events("producer_id_leak", recording)
    orders = [list(range(len(events))), *(Random(seed).sample(range(len(events)), len(events)) for seed in range(4))]

    with embedded_session():
        found = [compare(frame_from_table(events.take(pa.array(order))), side) for order in orders]

    assert {change.kind for change in found[0].changes} >= {"producer_ids"}
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(
    ("mode", "recording", "changed"),
    [
        ("producer_id_leak", "broken-confluent-kafka", {"producer_ids", "topic"}),
        ("leaderless_partition", "broken-java-4.3.1", {"client", "leader"}),
        ("leaderless_partition", "near-miss-rolling-restart", {"leader", "version"}),
    ],
)
def test_many_events_are_compared_as_few(mode: str, recording: str, changed: set[str], monkeypatch: pytest.MonkeyPatch):
    events, side = recorded_events(mode, recording, 0.6)
    found = []
    for many_bytes in (1 << 30, 0):
        monkeypatch.setattr("leadsman.pipeline.spark.embedded.MANY_BYTES", many_bytes)
        with embedded_session():
            found.append(compare(frame_from_table(events), side))

    few, many = found
    assert {change.kind for change in few.changes} == changed
    assert many == few
