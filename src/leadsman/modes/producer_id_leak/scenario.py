"""How the lab makes brokers keep the ids of producers that are gone, and what looks like it and is not."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING

from leadsman.lab import faults, held
from leadsman.lab.experiment import Experiment, Variant
from leadsman.model import Scenario
from leadsman.modes.producer_id_leak import broken, healthy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.clients import Worker
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
    "broken-java": ("broken", "java"),
    "broken-kafka-python": ("broken", "kafka-python"),
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
    oracle=held.harm,
)
