"""Files of brokers beside workers' logs: a restart, a frozen broker, a deployment, server.properties."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bench.production.serverless_forms import iso, plain
from bench.production.serverless_outcomes import NOON_MS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from random import Random

HOUR_MS = 3_600_000

RESTART = (
    (-3100, "INFO Terminating process due to signal SIGTERM (org.apache.kafka.common.utils.LoggingSignalHandler)"),
    (-3080, "INFO [BrokerServer id=2] Transition from STARTED to SHUTTING_DOWN (kafka.server.BrokerServer)"),
    (-3079, "INFO [BrokerServer id=2] shutting down (kafka.server.BrokerServer)"),
    (-3070, "INFO [BrokerLifecycleManager id=2] Beginning controlled shutdown. (kafka.server.BrokerLifecycleManager)"),
    (
        -2900,
        (
            "INFO [BrokerLifecycleManager id=2] The controller has asked us to exit controlled shutdown. "
            "(kafka.server.BrokerLifecycleManager)"
        ),
    ),
    (
        -2100,
        (
            "INFO [SocketServer listenerType=BROKER, nodeId=2] Stopping socket server request processors "
            "(kafka.network.SocketServer)"
        ),
    ),
    (-900, "INFO [BrokerServer id=2] shut down completed (kafka.server.BrokerServer)"),
    (21_000, "INFO Registered signal handlers for TERM, INT, HUP (org.apache.kafka.common.utils.LoggingSignalHandler)"),
    (21_900, "INFO [BrokerServer id=2] Transition from SHUTDOWN to STARTING (kafka.server.BrokerServer)"),
    (21_910, "INFO [BrokerServer id=2] Starting broker (kafka.server.BrokerServer)"),
    (
        38_000,
        (
            "INFO [BrokerLifecycleManager id=2] The broker has been unfenced. Transitioning from RECOVERY to RUNNING. "
            "(kafka.server.BrokerLifecycleManager)"
        ),
    ),
    (41_000, "INFO [BrokerServer id=2] Transition from STARTING to STARTED (kafka.server.BrokerServer)"),
    (41_010, "INFO Kafka version: 3.7.1 (org.apache.kafka.common.utils.AppInfoParser)"),
    (41_020, "INFO [KafkaRaftServer nodeId=2] Kafka Server started (kafka.server.KafkaRaftServer)"),
)
"""Milliseconds from noon, and what the broker logs of its restart."""

FENCED = (
    (
        -16_000,
        (
            "INFO [QuorumController id=101] Fencing broker 2 at epoch 48213 because its session has timed out. "
            "(org.apache.kafka.controller.ReplicationControlManager)"
        ),
    ),
    (
        17_400,
        (
            "INFO [QuorumController id=101] The request from broker 2 to unfence has been granted because it has "
            "caught up with the offset of its register broker record 48213. "
            "(org.apache.kafka.controller.BrokerHeartbeatManager)"
        ),
    ),
)


def _usual(random: Random) -> str:
    partition = f"orders.accepted-{random.randrange(24)}"
    offset = random.randrange(10**6, 10**7)
    return random.choice(
        (
            (
                f"INFO [LocalLog partition={partition}, dir=/var/lib/kafka/data] Rolled new log segment at offset "
                f"{offset} in {random.randrange(1, 9)} ms. (kafka.log.LocalLog)"
            ),
            (
                f"INFO [ProducerStateManager partition={partition}] Wrote producer snapshot at offset {offset} with "
                f"{random.randrange(38, 44)} producer ids in {random.randrange(1, 6)} ms. "
                "(org.apache.kafka.storage.internals.log.ProducerStateManager)"
            ),
            (
                f"INFO [UnifiedLog partition={partition}, dir=/var/lib/kafka/data] Incremented log start "
                f"offset to {offset} "
                "due to segment deletion (kafka.log.UnifiedLog)"
            ),
        )
    )


def _write_by_hour(folder: Path, name: str, lines: Iterable[tuple[int, str]]) -> None:
    """Log4j's DailyRollingFileAppender of Kafka: a file an hour."""
    folder.mkdir(parents=True, exist_ok=True)
    for at_ms, text in sorted(lines):
        hour = datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%d-%H")
        with (folder / f"{name}.{hour}").open("a", encoding="utf-8") as out:
            out.write(f"[{plain(at_ms)}] {text}\n")


def _usual_lines(random: Random, count: int = 120) -> list[tuple[int, str]]:
    return [(NOON_MS + random.randrange(-4 * HOUR_MS, 4 * HOUR_MS), _usual(random)) for _ in range(count)]


def _outside(lines: Iterable[tuple[int, str]], between: tuple[int, int]) -> list[tuple[int, str]]:
    return [line for line in lines if not between[0] <= line[0] - NOON_MS <= between[1]]


def restarted(folder: Path, random: Random) -> None:
    """The log of broker 2, restarted at noon of the second day."""
    usual = _outside(_usual_lines(random), (-3200, 41_100))
    lines = [*usual, *((NOON_MS + offset_ms, text) for offset_ms, text in RESTART)]
    _write_by_hour(folder / "broker-2", "server.log", lines)


def frozen(folder: Path, random: Random) -> None:
    """The controller fences broker 2, whose own log is silent for as long as it is frozen."""
    usual = _outside(_usual_lines(random), (-25_500, 16_500))
    _write_by_hour(folder / "broker-2", "server.log", usual)
    lines = [(NOON_MS + offset_ms, text) for offset_ms, text in FENCED]
    _write_by_hour(folder / "controller-101", "controller.log", lines)


def deployed(folder: Path, random: Random) -> None:
    """What the deployment's job printed."""
    revision = f"{random.getrandbits(160):040x}"
    steps = (
        "Packaging order-intake",
        "Uploading 41.3 MB",
        "Updating network policy of the function's subnets",
        "Successfully created/updated stack - order-intake in eu-west-1",
    )
    with (folder / "deploy.log").open("w", encoding="utf-8") as out:
        out.write(f"{iso(NOON_MS - 95_000)} deploying order-intake at revision {revision}\n")
        for index, step in enumerate(steps):
            out.write(f"{iso(NOON_MS - 70_000 + index * 23_000)} {step}\n")


def properties(folder: Path, _random: Random) -> None:
    """The broker's server.properties, with its idle limit of 600 s."""
    target = folder / "broker-2"
    target.mkdir(parents=True)
    text = (
        "process.roles=broker\nnode.id=2\nlisteners=PLAINTEXT://0.0.0.0:9092\n"
        "advertised.listeners=PLAINTEXT://b-2.ledger.kafka.internal:9092\nconnections.max.idle.ms=600000\n"
        "num.network.threads=8\nnum.io.threads=16\nlog.dirs=/var/lib/kafka/data\nlog.retention.hours=168\n"
    )
    (target / "server.properties").write_text(text, encoding="utf-8")
