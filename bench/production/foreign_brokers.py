"""Files of brokers and kernels beside clients' logs: denied operations, a full disk, failed logins, an OOM kill."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bench.production.serverless_forms import plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

BEGAN_MS = int(datetime(2026, 11, 18, 6, tzinfo=UTC).timestamp() * 1000)
HOUR_MS = 3_600_000
KILLED_MS = BEGAN_MS + 2 * HOUR_MS + 417_000
BACK_S = 55
"""Seconds that a killed broker is away."""


def _write(folder: Path, name: str, lines: list[tuple[int, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", encoding="utf-8") as out:
        out.writelines(f"[{plain(at_ms)}] {text}\n" for at_ms, text in sorted(lines))


def _spread(random: Random, count: int) -> list[int]:
    return [BEGAN_MS + random.randrange(4 * HOUR_MS) for _ in range(count)]


def _usual(random: Random, count: int = 60) -> list[tuple[int, str]]:
    text = (
        "INFO [LocalLog partition=ledger.entries-{}, dir=/var/lib/kafka/data] Rolled new log segment at "
        "offset {} in {} ms."
    )
    return [
        (
            at_ms,
            text.format(random.randrange(12), random.randrange(10**6), random.randrange(1, 9))
            + " (kafka.log.LocalLog)",
        )
        for at_ms in _spread(random, count)
    ]


def denied(folder: Path, random: Random) -> None:
    """The authorizer's log of a broker."""
    text = (
        "INFO Principal = User:ledger-writer is Denied operation = Write from host = 10.60.1.4 on resource = "
        "Topic:LITERAL:ledger.audit for request = Produce with resourceRefCount = 1 based on rule DefaultDeny "
        "(kafka.authorizer.logger)"
    )
    _write(folder / "broker-2", "kafka-authorizer.log", [(at_ms, text) for at_ms in _spread(random, 80)])


def full_disk(folder: Path, random: Random) -> None:
    """A broker whose log directory fails because its disk is full, and which shuts down of it."""
    failed = (
        "ERROR Error while appending records to ledger.entries-3 in dir /var/lib/kafka/data "
        "(org.apache.kafka.storage.internals.log.LogDirFailureChannel)\njava.io.IOException: No space left on device\n"
        "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n"
        "\tat org.apache.kafka.common.record.MemoryRecords.writeFullyTo(MemoryRecords.java:92)"
    )
    stopping = (
        "WARN [ReplicaManager broker=2] Stopping serving replicas in dir /var/lib/kafka/data with uuid "
        "Some(hT3nLqk0SdqT6i6U0Jt8wA) because the log directory has failed. (kafka.server.ReplicaManager)"
    )
    halted = "ERROR Shutdown broker because all log dirs in /var/lib/kafka/data have failed (kafka.log.LogManager)"
    lines = [(KILLED_MS, failed), (KILLED_MS + 4, stopping), (KILLED_MS + 31, halted)]
    before = [line for line in _usual(random) if line[0] < KILLED_MS]
    _write(folder / "broker-2", "server.log", [*before, *lines])


def failed_logins(folder: Path, random: Random) -> None:
    """A broker that refuses a client's credentials."""
    text = (
        "INFO [SocketServer listenerType=BROKER, nodeId=2] Failed authentication with /10.60.1.4 "
        "(channelId=10.40.2.17:9096-10.60.1.4:{}-{}) (Authentication failed during authentication due to invalid "
        "credentials with SASL mechanism SCRAM-SHA-512) (org.apache.kafka.common.network.Selector)"
    )
    lines = [
        (at_ms, text.format(random.randrange(32_000, 60_000), index)) for index, at_ms in enumerate(_spread(random, 90))
    ]
    _write(folder / "broker-2", "server.log", [*lines, *_usual(random)])


def killed_by_kernel(program: str, host: str) -> Callable[[Path, Random], None]:
    """A host's kern.log in which the kernel kills the program because memory ran out."""

    def write(folder: Path, random: Random) -> None:
        pid, pages = random.randrange(900, 30_000), random.randrange(5_000_000, 7_000_000)
        up_s = random.randrange(10**5, 10**6)
        texts = (
            f"{program} invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
            (
                "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,"
                f"task_memcg=/system.slice/app.service,task={program},pid={pid},uid=998"
            ),
            (
                f"Out of memory: Killed process {pid} ({program}) total-vm:{pages + 3_912_344}kB, anon-rss:{pages}kB, "
                "file-rss:0kB, shmem-rss:0kB, UID:998 pgtables:13412kB oom_score_adj:0"
            ),
            f"oom_reaper: reaped process {pid} ({program}), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        )
        _write_kernel(folder / host, [(KILLED_MS + index * 3, up_s, text) for index, text in enumerate(texts)])

    return write


def _write_kernel(folder: Path, lines: list[tuple[int, int, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "kern.log").open("w", encoding="utf-8") as out:
        for at_ms, up_s, text in lines:
            time = datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%b %d %H:%M:%S")
            out.write(f"{time} {folder.name} kernel: [{up_s}.{at_ms % 1000:03d}117] {text}\n")
