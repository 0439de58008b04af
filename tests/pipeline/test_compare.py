"""What changed does not depend on the order in which events are read."""

from datetime import timedelta
from random import Random

import pyarrow as pa
import pytest

from leadsman.catalogue import Mode
from leadsman.pipeline.changes import sides
from leadsman.pipeline.changes.compare import compare
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.pipeline.spark.embedded import embedded_session, frame_from_table


@pytest.mark.parametrize("recording", ["near-miss-burst-java", "near-miss-fleet-java"])
def test_changes_do_not_depend_on_the_order_of_events(recording: str):
    """Several sources count the ids of a topic, each of them for every partition."""
    folder = Mode("producer_id_leak").folder / "recorded" / recording
    events = read_small_input(find_input([str(folder)])).events
    assert events is not None
    times = sorted(filter(None, events.column("at").to_pylist()))
    side = sides.by_time(times[len(times) // 3], times[-1] + timedelta(seconds=1))
    orders = [list(range(len(events))), *(Random(seed).sample(range(len(events)), len(events)) for seed in range(4))]

    with embedded_session():
        found = [compare(frame_from_table(events.take(pa.array(order))), side) for order in orders]

    assert {change.kind for change in found[0].changes} >= {"producer_ids"}
    assert all(each == found[0] for each in found)
