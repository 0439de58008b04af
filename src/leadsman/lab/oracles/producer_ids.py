"""An oracle: the producer ids on the brokers' heaps. The JVM itself counts them, the same way for every version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.lab.run.broker_monitor import run_jcmd
from leadsman.model import Harm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.lab.brokers.cluster import Broker
    from leadsman.lab.run.run_context import RunContext

ENTRY = re.compile(r"^ *\d+: +(\d+) +\d+ +[\w.]+\.ProducerStateEntry(?: |$)", re.MULTILINE)
"""The class moved from `kafka.log` to `org.apache.kafka.storage.internals.log` in 3.5; its name stayed."""


BROKER_CRASHED = "broker.crashed"
"""The mark of a variant whose broker died by itself, before the variant starts that broker again."""


def count_producer_ids(broker: Broker) -> int:
    """Return how many ids a running broker holds, once for each partition. Without ids the class is not loaded."""
    match = ENTRY.search(run_jcmd(broker, "GC.class_histogram"))
    return int(match[1]) if match else 0


def producer_id_harm(context: RunContext) -> Mapping[Harm, int]:
    """Return how many ids brokers hold beyond the workers' producers, and how many brokers died."""
    running = [broker for broker in context.cluster.brokers if broker.is_running]
    retained = sum(count_producer_ids(broker) for broker in running)
    return {
        Harm.RETAINED: max(0, retained - sum(worker.max_producers for worker in context.workers.values())),
        Harm.CRASHED: len(context.cluster.brokers) - len(running) + (BROKER_CRASHED in context.marks),
    }
