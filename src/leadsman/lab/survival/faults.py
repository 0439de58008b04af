"""The faults that clients are put through, each with what it needs of the world."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from leadsman.lab import faults
from leadsman.lab.cluster import Cluster, Plan
from leadsman.lab.network import Path
from leadsman.lab.survival import hung
from leadsman.lab.survival.rows import produced
from leadsman.lab.survival.stage import LIMIT_SECONDS, USER, WORKERS, Stage, World, quiet
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    import pathlib
    from collections.abc import Callable

    from leadsman.lab.clients import Worker
    from leadsman.lab.survival.rows import Row

ROUNDS = 3
"""How often each worker goes through a fault of its own. A stall of a minute in each is six minutes with three."""

QUIET_SECONDS = LIMIT_SECONDS * 1.5
"""Surely longer than the limit: a broker looks at its connections when it wakes, up to a second late."""

DOWN_SECONDS = 3.0
LEADERLESS_SECONDS = 30.0

FORK_WITHIN = timedelta(seconds=180)
"""A child that hangs is ended after 90 s."""

NEW_PASSWORD = "rotated"  # noqa: S105 (a lab's)
OLD_PASSWORD = "original"  # noqa: S105 (the same)

ONE_BROKER = Plan(settings={"connections.max.idle.ms": str(int(LIMIT_SECONDS * 1000))})


QUICK = Plan(settings={"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
"""A controller that notices a dead broker in two seconds."""

APART_SECONDS = 0.4
"""Longer than a replacement takes, and six of them shorter than a quiet time."""

FROZEN_ONCE = 1.2
"""Limits that "once" takes: a broker looks at its connections up to a second late."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to producers, and in which world."""

    name: str
    says: str
    world: World
    play: Callable[[Stage], None]

    @property
    def plan(self) -> Plan:
        """Its brokers."""
        return self.world.plan

    def rows(self) -> tuple[Row, ...]:
        """Play it with six producers."""
        return produced(self.name, self.world, self.play)


@dataclass(frozen=True, slots=True)
class Consumed:
    """What happens to consumers."""

    name: str
    says: str
    plan: Plan
    play: Callable[[str], tuple[Row, ...]]

    def rows(self) -> tuple[Row, ...]:
        """Play it with two consumers."""
        return self.play(self.name)


def every_fault() -> tuple[Fault | Consumed, ...]:
    """Return all of them, in the order of the table."""
    world = World(plan=ONE_BROKER)
    frozen = replace(world, freezes=True)
    leaderless = World(plan=replace(QUICK, brokers=2), assigned=((2,),), direct=True)
    secured = World(plan=_secured(), security=True, prepare=_prepare_password)
    return (
        Fault("idle_close", "the broker closes the idle connection, and says so", world, partial(_idle, Path.OPEN)),
        Fault("reset", "the path forgot it, and answers with RST", world, partial(_idle, Path.HALF_OPEN)),
        Fault("silence", "the path forgot it, and answers nothing", world, partial(_idle, Path.SILENT)),
        Fault("freeze_1x", "frozen for the idle limit, then silence", frozen, partial(_freeze, FROZEN_ONCE)),
        Fault("freeze_3x", "frozen for three times the limit, then silence", frozen, partial(_freeze, 3.0)),
        Fault("killed", "the broker is killed, and back", world, _killed),
        Fault("leaderless", f"the partition has no leader for {LEADERLESS_SECONDS:g} s", leaderless, _leaderless),
        Consumed("coordinator", f"the group's coordinator hangs for {hung.HUNG_SECONDS:g} s", hung.PLAN, hung.rows),
        Fault("fork", "the process forks; parent and child go on", replace(world, forks=True), _fork),
        Fault("credentials", "the password is rotated, and connections end", secured, _rotate),
    )


def _secured() -> Plan:
    protocols = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXY:SASL_PLAINTEXT"
    return Plan(
        settings={
            **ONE_BROKER.settings,
            "listener.security.protocol.map": protocols,
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.proxy.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }
    )


def apart(worker: Worker) -> float:
    """Return how much later than the first a worker begins: six that wake at once would measure their crowd."""
    return WORKERS.index(worker.name) * APART_SECONDS


def _idle(kind: Path, stage: Stage) -> None:
    """Let each worker be quiet for longer than its connection lives, then deliver."""

    def script(worker: Worker) -> None:
        quiet(apart(worker))
        for _round in range(ROUNDS):
            quiet(QUIET_SECONDS)
            worker.deliver()

    with faults.path(stage.forwarder, kind):
        stage.together(script)


def _freeze(limits: float, stage: Stage) -> None:
    """Freeze each worker while its connection is forgotten, thaw it, deliver at once."""

    def script(worker: Worker) -> None:
        quiet(apart(worker))
        for _round in range(ROUNDS):
            with faults.frozen(worker.program):
                quiet(limits * LIMIT_SECONDS)
            worker.deliver()

    with faults.path(stage.forwarder, Path.SILENT):
        stage.together(script)


def _killed(stage: Stage) -> None:
    """Kill the broker under a record of each worker; start it again; deliver once more."""
    broker = stage.cluster.brokers[0]
    with faults.down(broker, by=signal.SIGKILL):
        for worker in stage.workers.values():
            worker.send()
        quiet(DOWN_SECONDS)
    _hear_and_go_on(stage)


def _leaderless(stage: Stage) -> None:
    """Take away the one broker that has the partition; the other goes on serving."""
    leader = stage.cluster.brokers[1]
    with faults.down(leader, by=signal.SIGKILL):
        for worker in stage.workers.values():
            worker.send()
        quiet(LEADERLESS_SECONDS)
    _hear_and_go_on(stage)


def _hear_and_go_on(stage: Stage) -> None:
    def script(worker: Worker) -> None:
        worker.answer()
        worker.deliver()

    stage.together(script)


def _fork(stage: Stage) -> None:
    """Hear of the four events that each program handles by itself."""

    def script(worker: Worker) -> None:
        for event in range(4):
            worker.send()
            worker.answer(first=event == 0, within=FORK_WITHIN)

    stage.together(script)


def _rotate(stage: Stage) -> None:
    """Change the password; the old connections end; two records each."""
    _set_password(stage.cluster, NEW_PASSWORD)
    (stage.folder / "password").write_text(NEW_PASSWORD, encoding="utf-8")
    _idle(Path.OPEN, stage)


def _prepare_password(cluster: Cluster, folder: pathlib.Path) -> None:
    _set_password(cluster, OLD_PASSWORD)
    (folder / "password").write_text(OLD_PASSWORD, encoding="utf-8")


def _set_password(cluster: Cluster, password: str) -> None:
    from confluent_kafka import admin  # noqa: PLC0415 (the lab's extra)

    asking: Any = admin  # its types do not name what it holds
    client = asking.AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    scram = asking.ScramCredentialInfo(asking.ScramMechanism.SCRAM_SHA_256, 4096)
    wanted = asking.UserScramCredentialUpsertion(USER, scram, password.encode())
    client.alter_user_scram_credentials([wanted])[USER].result(timeout=30)
    wait_for(
        lambda: client.describe_user_scram_credentials([USER])[USER].result(timeout=30).scram_credential_infos,
        within=timedelta(seconds=30),
        what="the password to be known",
    )
