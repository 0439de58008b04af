"""How the lab makes brokers keep the ids of producers that are gone, and what looks like it and is not."""

from __future__ import annotations

import signal
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import faults, metrics, wire
from leadsman.lab import held as held_ids
from leadsman.lab.experiment import Experiment, Scenario, Variant
from leadsman.modes.producer_id_leak import broken, healthy
from leadsman.telemetry.hprof import histogram
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.clients import Worker
    from leadsman.lab.cluster import Broker
    from leadsman.lab.experiment import Stage

LEAKING = ("worker-1", "worker-2")
STEADY = "steady-1"
WORKERS = (*LEAKING, STEADY)

LASTS = 30.0
"""Seconds of traffic: three stretches of ten, with a census at each end."""

STRETCHES = 3
LOOKS = 2
"""Scrapes of the metrics in one stretch."""

EVERY = 0.3
"""Seconds between a worker's records: five ids a second are a leak that fits into a repository."""

BIG = 200_000
"""Characters of a big record."""

FLEET = "30"
"""Producers that one worker of the fleet holds; with three workers, 90 that send again and again."""

ROLLED = {"log.roll.ms": "5000"}
"""A segment that rolls leaves a snapshot of producer state, and a line about it in the broker's log."""

STANDS_FOR = {"log.roll.ms": "5 s stands for 7 days", "the leak": "30 s stand for weeks"}


CLICKS, CLICKS_PARTITIONS, CLICKS_IDS = "clicks", 96, 1_500
"""144,000 entries, 38 MB of heap."""

FILLING, ROLL_SECONDS = 6, 5.5
"""Parts in which the ids come, so that segments roll in between and the broker's log counts them."""

SMALL_HEAP_MB = 88
BURST, BURST_BYTES = 10, 900_000
"""Connections that are opened at a time, and the size of the request that begins on each. Below `max.request.size`."""

SNAPSHOTS_KEPT = 3
"""As many as show growth."""

GC = "-Xlog:gc*"
BETWEEN_BURSTS = timedelta(milliseconds=500)
DIES_WITHIN = timedelta(seconds=120)


def play_steady(stage: Stage, *, size: int = 0, every: float = EVERY, after: str = "", restart: bool = False) -> None:
    """All workers send all the time, and a census is taken before, in between, and when they are gone.

    `after` is what workers hold after the first stretch: a cure that comes too late, or the end of a burst.
    """
    stage.watch.census()
    script = partial(_steady, stage=stage, size=size, every=every)
    stage.together({}, alongside=dict.fromkeys(stage.workers, script), meanwhile=partial(_look_on, stage, after))
    stage.progress("The workers end")
    stage.dismiss()
    if restart:
        stage.progress("Restarting the broker")
        with faults.down(stage.cluster.brokers[0], by=signal.SIGTERM):
            pass
    stage.watch.census()


def _steady(worker: Worker, *, stage: Stage, size: int, every: float) -> None:
    while stage.going:
        worker.deliver(size=size)
        stage.quiet(every)


def _look_on(stage: Stage, after: str) -> None:
    for stretch in range(1, STRETCHES + 1):
        for _ in range(LOOKS):
            stage.quiet(LASTS / STRETCHES / LOOKS)
            stage.watch.metrics()
        if stretch < STRETCHES:
            stage.watch.census()
        if after and stretch == 1:
            stage.progress(f"From now on each worker holds {after} producer")
            for name in LEAKING:
                stage.workers[name].hold(after)
        stage.progress(f"{stretch} of {STRETCHES} stretches have passed")


def play_until_full(stage: Stage) -> None:
    """Fill a small heap with ids until a burst of ordinary requests is too much for it; then start the broker again.

    A broker of this heap that holds no ids takes the same burst: it is the ids that leave no room.
    """
    (broker,) = stage.cluster.brokers
    stage.cluster.create_topic(CLICKS, partitions=CLICKS_PARTITIONS)
    stage.watch.census()
    for stretch in range(FILLING):
        wire.leak(broker.bootstrap, CLICKS, ids=CLICKS_IDS // FILLING, partitions=CLICKS_PARTITIONS)
        stage.watch.metrics()
        stage.progress(f"{stretch + 1} of {FILLING} parts of the ids are there")
        stage.quiet(ROLL_SECONDS)
    stage.watch.heaps()
    _exhaust(stage, broker)
    stage.recorder.copy(broker.folder / "output.log", f"{broker.place}/stdout.log", source="stdout", command="stdout")
    _record_dump(stage, broker)
    stage.recorder.snapshots([broker], CLICKS, partition="0", kept=SNAPSHOTS_KEPT)
    stage.recorder.copy(
        broker.folder / metrics.GC_LOG, "jvm/broker-1/gc-until-it-died.log", source="gc_log", command=GC
    )
    stage.progress("Starting the broker again")
    broker.start()
    stage.watch.heaps()


def _exhaust(stage: Stage, broker: Broker) -> None:
    """Send bursts until the broker dies, each larger than the last."""
    held = wire.burst(broker.bootstrap, 0, size=BURST_BYTES)
    with held:

        def dead() -> bool:
            with suppress(OSError):  # it may die between two connections
                held.push(wire.burst(broker.bootstrap, BURST, size=BURST_BYTES))
            return not broker.running

        wait_for(dead, within=DIES_WITHIN, every=BETWEEN_BURSTS, what="the broker to run out of memory", error=LabError)
    stage.mark(held_ids.CRASHED)


def _record_dump(stage: Stage, broker: Broker) -> None:
    """Keep of the dump its class histogram and who holds the ids: it is larger than the heap."""
    (dump,) = broker.folder.glob("*.hprof")
    contents, holders = histogram.of_file(dump)
    text = histogram.text(contents, holders, histogram.PRODUCER_STATE[0])
    command = "python -m leadsman.telemetry.hprof.histogram java_pid.hprof"
    stage.recorder.section(
        f"jvm/broker-{broker.id}/heap_dump.txt",
        text,
        source="heap_dump",
        command=command,
        subject=f"broker-{broker.id}",
    )


def _variant(
    says: str,
    *,
    play: Callable[[Stage], None] = play_steady,
    settings: Mapping[str, str] = healthy.SETTINGS,
    hold: Mapping[str, str] | None = None,
) -> Variant:
    return Variant(
        says=says,
        play=play,
        workers=WORKERS,
        settings=settings,
        hold=hold or {},
        watched=True,
        broker=ROLLED,
        stands_for=STANDS_FOR,
    )


_leak = partial(_variant, settings=broken.SETTINGS, hold=dict.fromkeys(LEAKING, "record"))

VARIANTS = {
    "broken": _leak("Two workers make a producer for each record, one holds its own"),
    "broken_restart": _leak(
        "The same, and the broker is restarted: it reads the ids back from its disk",
        play=partial(play_steady, restart=True),
    ),
    "broken_deployed": _variant(
        "Three workers hold one producer each, and after a third of the time two make one for each record",
        play=partial(play_steady, after="record"),
    ),
    "broken_out_of_memory": Variant(
        says="A small heap fills with the ids of producers that are gone, until the broker dies of it",
        play=play_until_full,
        workers=(STEADY,),
        settings=healthy.SETTINGS,
        watched=True,
        broker=ROLLED,
        heap_mb=SMALL_HEAP_MB,
        jvm=(
            "-XX:+HeapDumpOnOutOfMemoryError",
            "-XX:HeapDumpPath=.",
            "-XX:+ExitOnOutOfMemoryError",
        ),
        stands_for=STANDS_FOR | {"the heap": f"{SMALL_HEAP_MB} MB stand for 6 GB"},
    ),
    "cured": _variant("Three workers hold one producer each"),
    "cured_late": _leak(
        "Two workers make a producer for each record, and after a third of the time hold one: the ids stay",
        play=partial(play_steady, after="1"),
    ),
    "fleet": _variant("Three workers hold 30 producers each and use them in turn", hold=dict.fromkeys(WORKERS, FLEET)),
    "big_records": _variant(
        "Three workers hold one producer each and send big records", play=partial(play_steady, size=BIG)
    ),
    "transactional": _leak(
        "Two workers make a producer for each record, under a transactional id that stays the same",
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
    oracle=held_ids.harm,
)
