"""A heap dump of a real broker, against what its Java counts on its heap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.collect.collectors import jvm
from leadsman.lab.held import producer_ids
from leadsman.lab.wire import leak

if TYPE_CHECKING:
    from pathlib import Path

    from leadsman.lab.cluster import Cluster
    from leadsman.pipeline.events import Row

pytestmark = pytest.mark.lab

PARTITIONS, IDS = 4, 300


def test_a_heap_dump_tells_how_many_ids_a_broker_holds_and_who_holds_them(
    cluster: Cluster, rows, tmp_path: Path
) -> None:
    broker = cluster.brokers[0]
    assert broker.program is not None
    cluster.create_topic("dumped", partitions=PARTITIONS)
    leak(cluster.bootstrap, "dumped", ids=IDS, partitions=PARTITIONS)

    with jvm.probes(pid=broker.program.popen.pid, live=False, heap_dump=True) as probes:
        (saves,) = [each.saves for each in probes if each.saves]
    saves(tmp_path / "heap.hprof")

    told: dict[str, Row] = {row.name: row for row in rows(tmp_path)}
    held = producer_ids(broker)
    assert held >= PARTITIONS * IDS
    assert told["producers.counted"].value == held
    assert told["heap.held"].labels["holder"].count("ProducerStateManager.producers") == 1
