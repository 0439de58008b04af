"""Makes `leaderless_partition` happen on three real brokers, ten times faster than in life.

Two services commit their offsets to the broker that is killed or frozen: a Streams application and a consumer in a
loop. A third has the patience that the others lack. Until the cluster takes the broker for dead, metadata go on naming
it, and every commit waits.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.experiment import Experiment, Scenario, Stage, Variant
from leadsman.lab.groups import leaders
from leadsman.lab.services import Service
from leadsman.model import Harm
from leadsman.modes.leaderless_partition import broken, healthy
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.groups import Placed

SCALE = 12
"""5 s stand for the default of 60 s. Below 5 s a busy machine's ordinary commits would fail."""

PATIENCE = "default.api.timeout.ms"

SESSION_MS = 20_000
"""How long the cluster takes a silent broker for alive: four times the patience, as in the incident."""

SETTLED_WITHIN = timedelta(seconds=120)

BEFORE_SECONDS = 3.0
"""Ordinary life, so that every service has committed."""

AFTER_SECONDS = 12.0
"""Long enough to see who processes again and who does not: twice the patience of those who suffer."""

FROZEN_SECONDS = 30.0
"""A live migration that takes longer than the session lasts."""

NONE_SECONDS = 12.0
"""How long nobody is left to lead: twice the patience of those who suffer."""

REFUSED_SECONDS = 15.0
"""How long commits are refused for want of replicas: three times the patience of those who suffer."""

JOINS = 6
JOINED_SECONDS = 2.0

SLOW_SESSION = {
    "broker.session.timeout.ms": str(SESSION_MS),
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "offsets.topic.num.partitions": "3",
}
QUICK_SESSION = SLOW_SESSION | {"broker.session.timeout.ms": "6000", "zookeeper.session.timeout.ms": "6000"}


def at_lab_scale(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings whose patience is as much shorter as the sessions of the brokers."""
    return {**settings, PATIENCE: str(int(settings[PATIENCE]) // SCALE)}


def services(settings: Mapping[str, str], *, supervised: bool = False) -> tuple[Service, ...]:
    """Return a Streams application, a consumer in a loop, and one with patience."""
    patient = {PATIENCE: at_lab_scale(healthy.SETTINGS)[PATIENCE]}
    return (
        Service(name="orders-stream", kind="streams", settings=settings, supervised=supervised),
        Service(name="billing", kind="consumer", settings=settings, supervised=supervised),
        Service(name="audit", kind="consumer", settings={**settings, **patient}, supervised=supervised),
    )


def placed(stage: Stage) -> Placed:
    """Return where the groups are coordinated."""
    if stage.placed is None:
        raise LabError("No services were placed.")
    return stage.placed


def play_killed(stage: Stage) -> None:
    """Kill the broker that coordinates the groups; wait until others lead its partitions, and for what comes then."""
    broker = placed(stage).broker
    stage.quiet(BEFORE_SECONDS)
    stage.progress(f"Killing broker {broker.id}, which coordinates every group")
    broker.kill()
    stage.mark("struck")
    _until_settled(stage, gone=broker.id)
    stage.quiet(AFTER_SECONDS)


def play_frozen(stage: Stage) -> None:
    """Stop the broker as a live migration does: its connections stay open and nobody answers. Then let it run on."""
    broker = placed(stage).broker
    assert broker.program is not None
    stage.quiet(BEFORE_SECONDS)
    stage.progress(f"Freezing broker {broker.id} for {FROZEN_SECONDS:g} s")
    with faults.frozen(broker.program):
        stage.mark("struck")
        stage.quiet(FROZEN_SECONDS)
    _until_settled(stage)
    stage.quiet(AFTER_SECONDS)


def play_isr_lost(stage: Stage) -> None:
    """Kill the only other replica, wait until it is left out, then kill the leader: nobody is left to lead."""
    where = placed(stage)
    stage.quiet(BEFORE_SECONDS)
    stage.progress(f"Killing broker {where.next[0].id}, and when it is left out broker {where.broker.id}")
    where.next[0].kill()
    _until_settled(stage, gone=where.next[0].id)
    where.broker.kill()
    stage.mark("struck")
    stage.quiet(NONE_SECONDS)
    stage.look()
    where.broker.start()
    _until_settled(stage)
    stage.quiet(AFTER_SECONDS)


def play_rolling_restart(stage: Stage) -> None:
    """Restart every broker in order, one after the other."""
    for broker in stage.cluster.brokers:
        stage.quiet(BEFORE_SECONDS)
        stage.progress(f"Restarting broker {broker.id}")
        with faults.down(broker):
            pass
    _until_settled(stage)
    stage.quiet(BEFORE_SECONDS)


def play_own_exception(stage: Stage) -> None:
    """Send a record that no service can digest."""
    assert stage.source is not None
    stage.quiet(BEFORE_SECONDS)
    stage.progress("Sending a record that ends every service by itself")
    stage.source.program.tell("poison")
    stage.quiet(AFTER_SECONDS)


def play_not_enough_replicas(stage: Stage) -> None:
    """Stop one broker in order where every write wants all three: others lead at once, and refuse every commit."""
    broker = placed(stage).broker
    stage.quiet(BEFORE_SECONDS)
    stage.progress(f"Stopping broker {broker.id} in order, for {REFUSED_SECONDS:g} s")
    with faults.down(broker):
        stage.mark("struck")
        stage.look()
        stage.quiet(REFUSED_SECONDS)
    _until_settled(stage)
    stage.quiet(BEFORE_SECONDS)


def play_rebalance_storm(stage: Stage) -> None:
    """Let another member join a group and leave it, again and again."""
    from confluent_kafka import Consumer  # noqa: PLC0415 (the lab's extra)

    group = placed(stage).groups["billing"]
    stage.progress(f"A member joins group {group} and leaves it, {JOINS} times")
    for _ in range(JOINS):
        member = Consumer({"bootstrap.servers": stage.cluster.bootstrap, "group.id": group, "log_level": 0})
        member.subscribe([EXPERIMENT.topic])
        member.poll(JOINED_SECONDS)
        member.close()
    stage.quiet(BEFORE_SECONDS)


def _until_settled(stage: Stage, *, gone: int = -1) -> None:
    """Wait until every partition has a leader, and not the one that is gone."""
    wait_for(
        lambda: (led := leaders(stage.cluster, EXPERIMENT.topic)) and not {gone, -1} & set(led.values()),
        within=SETTLED_WITHIN,
        what="other brokers to lead every partition",
        error=LabError,
    )
    stage.mark("settled")
    stage.look()


BROKEN = at_lab_scale(broken.SETTINGS)
HEALTHY = at_lab_scale(healthy.SETTINGS)
STANDS_FOR = {PATIENCE: f"{60 // SCALE} s stands for 60 s", "broker.session.timeout.ms": "20 s stands for minutes"}
WANTS_ALL = {"min.insync.replicas": "3"}
WITH_TWO = {"offsets.topic.replication.factor": "2"}


SHORT_REQUESTS = {"request.timeout.ms": "4000"}
"""For 30 s, its default. A frozen broker's connections stay open, so a client waits for this before it looks around."""


def _variant(
    says: str,
    play: Callable[[Stage], None],
    settings: Mapping[str, str] = BROKEN,
    *,
    supervised: bool = False,
    broker: Mapping[str, str] = SLOW_SESSION,
    replicas: int = 3,
    topic: Mapping[str, str] | None = None,
) -> Variant:
    return Variant(
        says=says,
        play=play,
        services=services(settings, supervised=supervised),
        broker=broker,
        replicas=replicas,
        topic_config=topic or {},
    )


RECORDINGS = {
    "broken-java-4.3.1": ("broken", "java"),
    "broken-frozen-java": ("broken_frozen", "java"),
    "broken-isr-lost-java": ("broken_isr_lost", "java"),
    "broken-zookeeper-java-2.7.2": ("broken", "java@2.7.2", "2.8.2"),
    "healthy-java": ("cured", "java"),
    "near-miss-not-enough-replicas": ("not_enough_replicas", "java"),
    "near-miss-own-exception": ("own_exception", "java"),
    "near-miss-rebalance-storm": ("rebalance_storm", "java"),
    "near-miss-rolling-restart": ("rolling_restart", "java"),
}

EXPERIMENT = Experiment(
    mode="leaderless_partition",
    scenario=Scenario(
        brokers=3,
        near_misses=("rolling_restart", "own_exception", "rebalance_storm", "not_enough_replicas"),
        stands_for=STANDS_FOR,
    ),
    partitions=6,
    client="java",
    endured=frozenset({Harm.DELAYED}),
    swept=("orders-stream", "billing"),
    variants={
        "broken": _variant(
            "The broker that coordinates the groups is killed; the cluster takes it for alive for 20 s", play_killed
        ),
        "broken_frozen": _variant(
            "The broker that coordinates the groups is frozen for 30 s, as in a live migration",
            play_frozen,
            BROKEN | SHORT_REQUESTS,
        ),
        "broken_isr_lost": _variant(
            "Both replicas of the groups' coordinator are killed, one after the other: Leader: none",
            play_isr_lost,
            broker=QUICK_SESSION | WITH_TWO,
            replicas=2,
        ),
        "cured": _variant(
            "The broker is killed; commits have patience for it, and consumers are supervised",
            play_killed,
            HEALTHY,
            supervised=True,
        ),
        "rolling_restart": _variant(
            "Every broker is restarted in order", play_rolling_restart, HEALTHY, broker=QUICK_SESSION
        ),
        "own_exception": _variant("A record that no service can digest", play_own_exception, broker=QUICK_SESSION),
        "not_enough_replicas": _variant(
            "A broker is stopped in order where every write wants all three replicas: commits are refused",
            play_not_enough_replicas,
            broker=QUICK_SESSION | WANTS_ALL,
        ),
        "rebalance_storm": _variant(
            "A member joins a group and leaves it, again and again", play_rebalance_storm, broker=QUICK_SESSION
        ),
    },
    recordings=RECORDINGS,
)
