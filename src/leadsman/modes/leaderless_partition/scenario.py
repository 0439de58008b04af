"""Reproduces `leaderless_partition` on three real brokers, twelve times faster than in production.

Two services commit their offsets to the broker that is killed or frozen: a Streams application and a consumer in a
loop. A third service has a longer commit timeout. Until the controller fences the broker, metadata still name it as
leader, and every commit waits.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.errors import LabError
from leadsman.lab import faults
from leadsman.lab.brokers.consumer_groups import partition_leaders
from leadsman.lab.run.experiment import BrokerOptions, Experiment, Scenario, Services, TopicOptions, Variant
from leadsman.lab.run.run_context import FAULT_INJECTED, RECOVERED, RunContext
from leadsman.lab.workload.services import Service
from leadsman.model import Harm
from leadsman.modes.leaderless_partition import broken, healthy
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.brokers.consumer_groups import GroupPlacement

SCALE = 12
"""5 s stand for the default of 60 s. Below 5 s a busy machine's ordinary commits would fail."""

TIMEOUT = "default.api.timeout.ms"

SESSION_MS = 20_000
"""The session of a broker, after which the controller fences it: four times the commit timeout, as in the incident."""

RECOVERED_TIMEOUT = timedelta(seconds=120)

BEFORE_SECONDS = 3.0
"""Normal operation, so that every service has committed."""

AFTER_SECONDS = 12.0
"""Long enough to see which services process again: twice the commit timeout of the affected services."""

FROZEN_SECONDS = 30.0
"""A live migration that takes longer than the session lasts."""

NONE_SECONDS = 12.0
"""How long the partitions have no leader: twice the commit timeout of the affected services."""

REFUSED_SECONDS = 15.0
"""How long brokers refuse commits because of too few replicas: three times the commit timeout."""

JOINS = 6
JOINED_SECONDS = 2.0

SLOW_SESSION = {
    "broker.session.timeout.ms": str(SESSION_MS),
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "offsets.topic.num.partitions": "3",
}
QUICK_SESSION = SLOW_SESSION | {"broker.session.timeout.ms": "6000", "zookeeper.session.timeout.ms": "6000"}


def at_lab_scale(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings with the commit timeout scaled like the sessions of the brokers."""
    return {**settings, TIMEOUT: str(int(settings[TIMEOUT]) // SCALE)}


def services(settings: Mapping[str, str], *, supervised: bool = False) -> tuple[Service, ...]:
    """Return a Streams application, a consumer in a loop, and a consumer with a longer commit timeout."""
    longer = {TIMEOUT: at_lab_scale(healthy.SETTINGS)[TIMEOUT]}
    return (
        Service(name="orders-stream", kind="streams", settings=settings, supervised=supervised),
        Service(name="billing", kind="consumer", settings=settings, supervised=supervised),
        Service(name="audit", kind="consumer", settings={**settings, **longer}, supervised=supervised),
    )


def placement(context: RunContext) -> GroupPlacement:
    """Return the brokers that coordinate the groups."""
    if context.group_placement is None:
        raise LabError("No services were placed.")
    return context.group_placement


def kill_coordinator(context: RunContext) -> None:
    """Kill the broker that coordinates the groups, and wait until other brokers lead its partitions, and after that."""
    broker = placement(context).coordinator
    context.wait(BEFORE_SECONDS)
    context.progress(f"Killing broker {broker.id}, which coordinates every group")
    broker.kill()
    context.mark(FAULT_INJECTED)
    _wait_until_recovered(context, stopped=broker.id)
    context.wait(AFTER_SECONDS)


def freeze_coordinator(context: RunContext) -> None:
    """Freeze the broker as a live migration does: its connections stay open without answers. Then resume the broker."""
    broker = placement(context).coordinator
    assert broker.program is not None
    context.wait(BEFORE_SECONDS)
    context.progress(f"Freezing broker {broker.id} for {FROZEN_SECONDS:g} s")
    with faults.frozen(broker.program):
        context.mark(FAULT_INJECTED)
        context.wait(FROZEN_SECONDS)
    _wait_until_recovered(context)
    context.wait(AFTER_SECONDS)


def kill_all_replicas(context: RunContext) -> None:
    """Kill the only other replica, wait until it leaves the ISR, then kill the leader: no leader is left."""
    where = placement(context)
    context.wait(BEFORE_SECONDS)
    context.progress(
        f"Killing broker {where.next_coordinators[0].id}, and when it is left out broker {where.coordinator.id}"
    )
    where.next_coordinators[0].kill()
    _wait_until_recovered(context, stopped=where.next_coordinators[0].id)
    where.coordinator.kill()
    context.mark(FAULT_INJECTED)
    context.wait(NONE_SECONDS)
    context.record_topics()
    where.coordinator.start()
    _wait_until_recovered(context)
    context.wait(AFTER_SECONDS)


def restart_all_brokers(context: RunContext) -> None:
    """Restart every broker in order, one after the other."""
    for broker in context.cluster.brokers:
        context.wait(BEFORE_SECONDS)
        context.progress(f"Restarting broker {broker.id}")
        with faults.down(broker):
            pass
    _wait_until_recovered(context)
    context.wait(BEFORE_SECONDS)


def send_poison_record(context: RunContext) -> None:
    """Send a record that every service fails to process."""
    assert context.source is not None
    context.wait(BEFORE_SECONDS)
    context.progress("Sending a record that ends every service by itself")
    context.source.program.write_line("poison")
    context.wait(AFTER_SECONDS)


def stop_one_replica(context: RunContext) -> None:
    """Stop one broker cleanly where every write needs all three replicas: others lead at once and refuse commits."""
    broker = placement(context).coordinator
    context.wait(BEFORE_SECONDS)
    context.progress(f"Stopping broker {broker.id} cleanly, for {REFUSED_SECONDS:g} s")
    with faults.down(broker):
        context.mark(FAULT_INJECTED)
        context.record_topics()
        context.wait(REFUSED_SECONDS)
    _wait_until_recovered(context)
    context.wait(BEFORE_SECONDS)


def join_and_leave(context: RunContext) -> None:
    """Let another member join a group and leave it, again and again."""
    from confluent_kafka import Consumer

    group = placement(context).groups["billing"]
    context.progress(f"A member joins group {group} and leaves it, {JOINS} times")
    for _ in range(JOINS):
        member = Consumer({"bootstrap.servers": context.cluster.bootstrap, "group.id": group, "log_level": 0})
        member.subscribe([EXPERIMENT.topic])
        member.poll(JOINED_SECONDS)
        member.close()
    context.wait(BEFORE_SECONDS)


def _wait_until_recovered(context: RunContext, *, stopped: int = -1) -> None:
    """Wait until every partition has a leader other than the stopped broker."""
    wait_for(
        lambda: (led := partition_leaders(context.cluster, EXPERIMENT.topic)) and not {stopped, -1} & set(led.values()),
        timeout=RECOVERED_TIMEOUT,
        what="other brokers to lead every partition",
        error=LabError,
    )
    context.mark(RECOVERED)
    context.record_topics()


BROKEN = at_lab_scale(broken.SETTINGS)
HEALTHY = at_lab_scale(healthy.SETTINGS)
STANDS_FOR = {TIMEOUT: f"{60 // SCALE} s stands for 60 s", "broker.session.timeout.ms": "20 s stands for minutes"}
WANTS_ALL = {"min.insync.replicas": "3"}
WITH_TWO = {"offsets.topic.replication.factor": "2"}


SHORT_REQUESTS = {"request.timeout.ms": "4000"}
"""For the default of 30 s. Connections of a frozen broker stay open, so a client waits for this before it looks up the
coordinator again."""


def _variant(
    description: str,
    run: Callable[[RunContext], None],
    settings: Mapping[str, str] = BROKEN,
    *,
    supervised: bool = False,
    broker: Mapping[str, str] = SLOW_SESSION,
    replicas: int = 3,
    topic: Mapping[str, str] | None = None,
) -> Variant:
    return Variant(
        description=description,
        run=run,
        services=Services(members=services(settings, supervised=supervised)),
        brokers=BrokerOptions(settings=broker),
        topic=TopicOptions(replicas=replicas, config=topic or {}),
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
        broker_count=3,
        near_misses=("rolling_restart", "own_exception", "rebalance_storm", "not_enough_replicas"),
        stands_for=STANDS_FOR,
    ),
    partitions=6,
    client="java",
    tolerated_harm=frozenset({Harm.DELAYED}),
    swept_services=("orders-stream", "billing"),
    variants={
        "broken": _variant(
            "The broker that coordinates the groups is killed; the controller fences it after 20 s",
            kill_coordinator,
        ),
        "broken_frozen": _variant(
            "The broker that coordinates the groups is frozen for 30 s, as in a live migration",
            freeze_coordinator,
            BROKEN | SHORT_REQUESTS,
        ),
        "broken_isr_lost": _variant(
            "Both replicas of the groups' coordinator are killed, one after the other: Leader: none",
            kill_all_replicas,
            broker=QUICK_SESSION | WITH_TWO,
            replicas=2,
        ),
        "cured": _variant(
            "The broker is killed; commits wait longer than the failover, and consumers are supervised",
            kill_coordinator,
            HEALTHY,
            supervised=True,
        ),
        "rolling_restart": _variant(
            "Every broker is restarted in order", restart_all_brokers, HEALTHY, broker=QUICK_SESSION
        ),
        "own_exception": _variant("A record that no service can process", send_poison_record, broker=QUICK_SESSION),
        "not_enough_replicas": _variant(
            "A broker is stopped in order where every write wants all three replicas: commits are refused",
            stop_one_replica,
            broker=QUICK_SESSION | WANTS_ALL,
        ),
        "rebalance_storm": _variant(
            "A member joins a group and leaves it, again and again", join_and_leave, broker=QUICK_SESSION
        ),
    },
    recordings=RECORDINGS,
)
