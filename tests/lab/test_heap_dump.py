"""A heap dump of a real broker, against what its Java counts on its heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.collect.collectors import jvm
from leadsman.lab.brokers.wire_protocol import leak
from leadsman.lab.oracles.producer_ids import count_producer_ids

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Cluster
    from leadsman.pipeline.events import EventRow

pytestmark = pytest.mark.lab

PARTITIONS, IDS = 4, 300


def test_a_heap_dump_shows_how_many_ids_a_broker_holds_and_which_class_holds_them(
    cluster: Cluster, rows, tmp_path: Path
) -> None:
    broker = cluster.brokers[0]
    assert broker.program is not None
    cluster.create_topic("dumped", partitions=PARTITIONS)
    leak(cluster.bootstrap, "dumped", ids=IDS, partitions=PARTITIONS)

    with jvm.probes(pid=broker.program.popen.pid, live=False, heap_dump=True) as probes:
        (write_to,) = [each.write_to for each in probes if each.write_to]
    write_to(tmp_path / "heap.hprof")

    facts: dict[str, EventRow] = {row.name: row for row in rows(tmp_path)}
    on_heap = count_producer_ids(broker)
    assert on_heap >= PARTITIONS * IDS
    assert facts["producers.counted"].value == on_heap
    assert facts["heap.holders"].labels["holder"].count("ProducerStateManager.producers") == 1
