"""The faults that clients go through, each with its environment."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leadsman.lab import faults
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.network.forwarder import Forwarder, PathBehaviour
from leadsman.lab.survival import hung_coordinator
from leadsman.lab.survival.environment import LIMIT_SECONDS, USER, WORKERS, FaultEnvironment, pause, run_everywhere
from leadsman.lab.survival.results import run_producers
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from leadsman.lab.run.run_context import RunContext
    from leadsman.lab.survival.results import WorkerResult
    from leadsman.lab.workload.worker import Worker

ROUNDS = 3
"""How often each worker goes through a fault. Where each delivery stalls for a minute, three rounds take minutes."""

IDLE_SECONDS = LIMIT_SECONDS * 1.5
"""Longer than the limit in any case: a broker checks its connections up to a second late."""

DOWN_SECONDS = 3.0
LEADERLESS_SECONDS = 30.0

FORK_TIMEOUT = timedelta(seconds=180)
"""A child that hangs is killed after 90 s."""

NEW_PASSWORD = "rotated"  # noqa: S105 - a lab's
OLD_PASSWORD = "original"  # noqa: S105 - the same

ONE_BROKER = ClusterPlan(settings={"connections.max.idle.ms": str(int(LIMIT_SECONDS * 1000))})


FAST_FENCING = ClusterPlan(settings={"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
"""A controller that fences a dead broker after two seconds."""

STAGGER_SECONDS = 0.4
"""Longer than a replacement takes, and six of them shorter than the idle time."""

FROZEN_ONCE = 1.2
"""Idle limits in the fault "freeze_1x": a broker checks its connections up to a second late."""


@dataclass(frozen=True, slots=True)
class ProducerFault:
    """A fault of producers, and its environment."""

    name: str
    description: str
    environment: FaultEnvironment
    inject: Callable[[RunContext], None]

    @property
    def plan(self) -> ClusterPlan:
        """Its brokers."""
        return self.environment.plan

    def rows(self) -> tuple[WorkerResult, ...]:
        """Run it with six producers."""
        return run_producers(self.name, self.environment, self.inject)


@dataclass(frozen=True, slots=True)
class ConsumerFault:
    """A fault of consumers."""

    name: str
    description: str
    plan: ClusterPlan
    run: Callable[[str], tuple[WorkerResult, ...]]

    def rows(self) -> tuple[WorkerResult, ...]:
        """Run it with two consumers."""
        return self.run(self.name)


def every_fault() -> tuple[ProducerFault | ConsumerFault, ...]:
    """Return all of them, in the order of the table."""
    one_broker = FaultEnvironment(plan=ONE_BROKER)
    frozen = replace(one_broker, freezes=True)
    leaderless = FaultEnvironment(plan=replace(FAST_FENCING, brokers=2), replica_assignment=((2,),), direct=True)
    secured = FaultEnvironment(plan=_secured(), security=True, prepare=_prepare_password)
    return (
        ProducerFault(
            "idle_close",
            "the broker closes the idle connection with a FIN",
            one_broker,
            partial(_idle, PathBehaviour.OPEN),
        ),
        ProducerFault(
            "reset",
            "the path dropped the idle connection and answers with RST",
            one_broker,
            partial(_idle, PathBehaviour.HALF_OPEN),
        ),
        ProducerFault(
            "silence",
            "the path dropped the idle connection and answers nothing",
            one_broker,
            partial(_idle, PathBehaviour.SILENT),
        ),
        ProducerFault("freeze_1x", "frozen for the idle limit, then silence", frozen, partial(_freeze, FROZEN_ONCE)),
        ProducerFault("freeze_3x", "frozen for three times the limit, then silence", frozen, partial(_freeze, 3.0)),
        ProducerFault("killed", "the broker is killed and restarted", one_broker, _killed),
        ProducerFault(
            "leaderless", f"the partition has no leader for {LEADERLESS_SECONDS:g} s", leaderless, _leaderless
        ),
        ConsumerFault(
            "coordinator",
            f"the group's coordinator hangs for {hung_coordinator.HUNG_SECONDS:g} s",
            hung_coordinator.PLAN,
            hung_coordinator.run_consumers,
        ),
        ProducerFault("fork", "the process forks; parent and child go on", replace(one_broker, forks=True), _fork),
        ProducerFault("credentials", "the password is rotated, and connections end", secured, _rotate),
    )


def _secured() -> ClusterPlan:
    protocols = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXY:SASL_PLAINTEXT"
    return ClusterPlan(
        settings={
            **ONE_BROKER.settings,
            "listener.security.protocol.map": protocols,
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.proxy.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }
    )


def start_delay(worker: Worker) -> float:
    """Return how much later than the first a worker begins: six that wake at once would slow each other down."""
    return WORKERS.index(worker.name) * STAGGER_SECONDS


def _forwarder(context: RunContext) -> Forwarder:
    assert context.forwarder is not None
    return context.forwarder


def _idle(behaviour: PathBehaviour, context: RunContext) -> None:
    """Keep each worker idle for longer than its connection lives, then deliver."""

    def script(worker: Worker) -> None:
        pause(start_delay(worker))
        for _round in range(ROUNDS):
            pause(IDLE_SECONDS)
            worker.deliver()

    with faults.path(_forwarder(context), behaviour):
        run_everywhere(context, script)


def _freeze(limits: float, context: RunContext) -> None:
    """Freeze each worker while the path drops its connection, thaw it, deliver at once."""

    def script(worker: Worker) -> None:
        pause(start_delay(worker))
        for _round in range(ROUNDS):
            with faults.frozen(worker.program):
                pause(limits * LIMIT_SECONDS)
            worker.deliver()

    with faults.path(_forwarder(context), PathBehaviour.SILENT):
        run_everywhere(context, script)


def _killed(context: RunContext) -> None:
    """Kill the broker while each worker sends a record; start it again; deliver once more."""
    broker = context.cluster.brokers[0]
    with faults.down(broker, by=signal.SIGKILL):
        for worker in context.workers.values():
            worker.send()
        pause(DOWN_SECONDS)
    _await_and_deliver(context)


def _leaderless(context: RunContext) -> None:
    """Kill the only broker that has the partition; the other goes on serving."""
    leader = context.cluster.brokers[1]
    with faults.down(leader, by=signal.SIGKILL):
        for worker in context.workers.values():
            worker.send()
        pause(LEADERLESS_SECONDS)
    _await_and_deliver(context)


def _await_and_deliver(context: RunContext) -> None:
    def script(worker: Worker) -> None:
        worker.await_report()
        worker.deliver()

    run_everywhere(context, script)


def _fork(context: RunContext) -> None:
    """Wait for the four events that each program handles by itself."""

    def script(worker: Worker) -> None:
        for event in range(4):
            worker.send()
            worker.await_report(is_warm_up=event == 0, timeout=FORK_TIMEOUT)

    run_everywhere(context, script)


def _rotate(context: RunContext) -> None:
    """Change the password; the old connections end; two records each."""
    _set_password(context.cluster, NEW_PASSWORD)
    (context.folder / "password").write_text(NEW_PASSWORD, encoding="utf-8")
    _idle(PathBehaviour.OPEN, context)


def _prepare_password(cluster: Cluster, folder: pathlib.Path) -> None:
    _set_password(cluster, OLD_PASSWORD)
    (folder / "password").write_text(OLD_PASSWORD, encoding="utf-8")


def _set_password(cluster: Cluster, password: str) -> None:
    from confluent_kafka import admin

    untyped: Any = admin  # its type stubs lack these names
    client = untyped.AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    scram = untyped.ScramCredentialInfo(untyped.ScramMechanism.SCRAM_SHA_256, 4096)
    upsertion = untyped.UserScramCredentialUpsertion(USER, scram, password.encode())
    client.alter_user_scram_credentials([upsertion])[USER].result(timeout=30)
    wait_for(
        lambda: client.describe_user_scram_credentials([USER])[USER].result(timeout=30).scram_credential_infos,
        timeout=timedelta(seconds=30),
        what="the new password",
    )
