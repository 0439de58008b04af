"""Reproduces `producer_id_leak`: brokers that keep the ids of closed producers; and near misses."""

from __future__ import annotations

import signal
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.brokers import metrics_agent, wire_protocol
from leadsman.lab.oracles import producer_ids
from leadsman.lab.run.experiment import BrokerOptions, Experiment, Scenario, Variant, Workload
from leadsman.modes.producer_id_leak import broken, healthy
from leadsman.telemetry.hprof import histogram
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.brokers.cluster import Broker
    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.workload.worker import Worker

LEAKING = ("worker-1", "worker-2")
STEADY = "steady-1"
WORKERS = (*LEAKING, STEADY)

LASTS = 30.0
"""Seconds of traffic: three periods of ten seconds, with a census at the end of each."""

STRETCHES = 3
LOOKS = 2
"""Scrapes of the metrics in one period."""

EVERY = 0.3
"""Seconds between a worker's records: a recording of five ids per second is small enough for the repository."""

BIG = 200_000
"""Characters of a big record."""

FLEET = "30"
"""Producers of one worker of the fleet; with three workers, 90 producers that send again and again."""

ROLLED = {"log.roll.ms": "5000"}
"""A segment that rolls leaves a snapshot of producer state, and a line about it in the broker's log."""

STANDS_FOR = {"log.roll.ms": "5 s stands for 7 days", "the leak": "30 s stand for weeks"}


CLICKS, CLICKS_PARTITIONS, CLICKS_IDS = "clicks", 96, 1_500
"""144,000 entries, 38 MB of heap."""

FILLING, ROLL_SECONDS = 6, 5.5
"""The ids come in so many parts, so that segments roll in between and the broker's log counts the ids."""

SMALL_HEAP_MB = 88
BURST, BURST_BYTES = 10, 900_000
"""Connections that are opened at a time, and the size of the request on each. Below `max.request.size`."""

SNAPSHOTS_KEPT = 3
"""Enough snapshots to show growth."""

GC = "-Xlog:gc*"
BETWEEN_BURSTS = timedelta(milliseconds=500)
DIES_TIMEOUT = timedelta(seconds=120)


def produce_steadily(
    context: RunContext, *, size: int = 0, every: float = EVERY, after: str = "", restart: bool = False
) -> None:
    """Let all workers send all the time; take a census before, in between, and after they have ended.

    `after` is what workers hold after the first stretch: a cure that comes too late, or the end of a burst.
    """
    context.monitor.census()
    script = partial(_steady, context=context, size=size, every=every)
    context.run_scripts(
        {}, background=dict.fromkeys(context.workers, script), foreground=partial(_observe, context, after)
    )
    context.progress("The workers end")
    context.stop_programs()
    if restart:
        context.progress("Restarting the broker")
        with faults.down(context.cluster.brokers[0], by=signal.SIGTERM):
            pass
    context.monitor.census()


def _steady(worker: Worker, *, context: RunContext, size: int, every: float) -> None:
    while context.is_running:
        worker.deliver(size=size)
        context.wait(every)


def _observe(context: RunContext, after: str) -> None:
    for stretch in range(1, STRETCHES + 1):
        for _ in range(LOOKS):
            context.wait(LASTS / STRETCHES / LOOKS)
            context.monitor.metrics()
        if stretch < STRETCHES:
            context.monitor.census()
        if after and stretch == 1:
            context.progress(f"From now on each worker holds {after} producer")
            for name in LEAKING:
                context.workers[name].set_producers(after)
        context.progress(f"{stretch} of {STRETCHES} stretches have passed")


def fill_heap_until_crash(context: RunContext) -> None:
    """Fill a small heap with ids until a burst of ordinary requests exhausts it; then restart the broker.

    A broker of this heap that holds no ids takes the same burst: it is the ids that leave no room.
    """
    (broker,) = context.cluster.brokers
    context.cluster.create_topic(CLICKS, partitions=CLICKS_PARTITIONS)
    context.monitor.census()
    for stretch in range(FILLING):
        wire_protocol.leak(broker.bootstrap, CLICKS, ids=CLICKS_IDS // FILLING, partitions=CLICKS_PARTITIONS)
        context.monitor.metrics()
        context.progress(f"{stretch + 1} of {FILLING} parts of the ids are there")
        context.wait(ROLL_SECONDS)
    context.monitor.heaps()
    _exhaust(context, broker)
    context.recorder.copy(
        broker.folder / "output.log", f"{broker.capture_folder}/stdout.log", source="stdout", command="stdout"
    )
    _record_dump(context, broker)
    context.recorder.snapshots([broker], CLICKS, partition="0", limit=SNAPSHOTS_KEPT)
    context.recorder.copy(
        broker.folder / metrics_agent.GC_LOG, "jvm/broker-1/gc-until-it-died.log", source="gc_log", command=GC
    )
    context.progress("Starting the broker again")
    broker.start()
    context.monitor.heaps()


def _exhaust(context: RunContext, broker: Broker) -> None:
    """Send bursts, each larger than the last, until the broker has an OutOfMemoryError."""
    open_requests = wire_protocol.burst(broker.bootstrap, 0, size=BURST_BYTES)
    with open_requests:

        def dead() -> bool:
            with suppress(OSError):  # it may die between two connections
                open_requests.push(wire_protocol.burst(broker.bootstrap, BURST, size=BURST_BYTES))
            return not broker.is_running

        wait_for(
            dead, timeout=DIES_TIMEOUT, every=BETWEEN_BURSTS, what="the broker to run out of memory", error=LabError
        )
    context.mark(producer_ids.BROKER_CRASHED)


def _record_dump(context: RunContext, broker: Broker) -> None:
    """Record the class histogram and the holders of the ids from the dump, which itself is larger than the heap."""
    (dump,) = broker.folder.glob("*.hprof")
    contents, holders = histogram.read_file(dump)
    text = histogram.histogram_text(contents, holders, histogram.PRODUCER_STATE[0])
    command = "python -m leadsman.telemetry.hprof.histogram java_pid.hprof"
    context.recorder.section(
        f"jvm/broker-{broker.id}/heap_dump.txt",
        text,
        source="heap_dump",
        command=command,
        subject=f"broker-{broker.id}",
    )


def _variant(
    description: str,
    *,
    run: Callable[[RunContext], None] = produce_steadily,
    settings: Mapping[str, str] = healthy.SETTINGS,
    producers: Mapping[str, str] | None = None,
) -> Variant:
    return Variant(
        description=description,
        run=run,
        workload=Workload(workers=WORKERS, settings=settings, producers=producers or {}),
        brokers=BrokerOptions(settings=ROLLED, is_monitored=True),
        stands_for=STANDS_FOR,
    )


_leak = partial(_variant, settings=broken.SETTINGS, producers=dict.fromkeys(LEAKING, "record"))

VARIANTS = {
    "broken": _leak("Two workers create a producer for each record, one keeps a single producer"),
    "broken_restart": _leak(
        "The same, and the broker is restarted: it loads the ids from its disk",
        run=partial(produce_steadily, restart=True),
    ),
    "broken_deployed": _variant(
        "Three workers keep one producer each; after a third of the time two create one for each record",
        run=partial(produce_steadily, after="record"),
    ),
    "broken_out_of_memory": Variant(
        description="A small heap fills with the ids of closed producers until the broker has an OutOfMemoryError",
        run=fill_heap_until_crash,
        workload=Workload(workers=(STEADY,), settings=healthy.SETTINGS),
        brokers=BrokerOptions(
            settings=ROLLED,
            heap_mb=SMALL_HEAP_MB,
            jvm_options=(
                "-XX:+HeapDumpOnOutOfMemoryError",
                "-XX:HeapDumpPath=.",
                "-XX:+ExitOnOutOfMemoryError",
            ),
            is_monitored=True,
        ),
        stands_for=STANDS_FOR | {"the heap": f"{SMALL_HEAP_MB} MB stand for 6 GB"},
    ),
    "cured": _variant("Three workers keep one producer each"),
    "cured_late": _leak(
        "Two workers create a producer for each record, and after a third of the time keep one: the ids stay",
        run=partial(produce_steadily, after="1"),
    ),
    "fleet": _variant(
        "Three workers keep 30 producers each and use them in turn", producers=dict.fromkeys(WORKERS, FLEET)
    ),
    "big_records": _variant(
        "Three workers keep one producer each and send big records", run=partial(produce_steadily, size=BIG)
    ),
    "transactional": _leak(
        "Two workers create a producer for each record, with a constant transactional id",
        settings={**broken.SETTINGS, "transactional.id": "order-events-{worker}"},
    ),
}

RECORDINGS = {
    "broken-confluent-kafka": ("broken", "confluent-kafka"),
    "broken-deployed-java": ("broken_deployed", "java"),
    "broken-java": ("broken", "java"),
    "broken-kafka-python": ("broken", "kafka-python"),
    "broken-out-of-memory-java": ("broken_out_of_memory", "java"),
    "broken-restart-java": ("broken_restart", "java"),
    "healthy-confluent-kafka": ("cured", "confluent-kafka"),
    "healthy-java": ("cured", "java"),
    "near-miss-big-records-java": ("big_records", "java"),
    "near-miss-burst-java": ("cured_late", "java"),
    "near-miss-fleet-java": ("fleet", "java"),
    "near-miss-transactional-java": ("transactional", "java"),
}

EXPERIMENT = Experiment(
    mode="producer_id_leak",
    scenario=Scenario(near_misses=("fleet", "cured_late", "big_records", "transactional"), stands_for=STANDS_FOR),
    variants=VARIANTS,
    recordings=RECORDINGS,
    oracle=producer_ids.producer_id_harm,
)
