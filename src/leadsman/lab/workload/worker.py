"""One worker: a program that produces records with one client, and its delivery reports."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Self

from leadsman.errors import ProgramDidNotAnswer
from leadsman.lab.brokers.cluster import UTC_CLOCK
from leadsman.lab.oracles.ledger import DELIVERED, DeliveryReport
from leadsman.lab.processes.ports import free_ports
from leadsman.lab.processes.program import HOST_NETWORK, SOURCES, NetworkNamespace, Program
from leadsman.lab.workload.reporting_program import ReportingProgram, read_reports

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from leadsman.lab.workload.clients import Client

REPORT_TIMEOUT = timedelta(seconds=90)
"""Longer than the programs' own timeout (`producer_service.DELIVERY_SECONDS`), so that they report their failure."""

NEW_FOR_EACH_RECORD = "record"
"""Instead of a number of producers: a new producer for each record."""


@dataclass(slots=True, kw_only=True)
class Worker(ReportingProgram):
    """One running program of a client, and the delivery reports of its records."""

    quit_within: ClassVar[timedelta] = timedelta(seconds=10)
    delivery_reports: list[DeliveryReport] = field(default_factory=list)
    metrics_port: int | None = None
    """The port at which it exposes its metrics, in its network."""
    first_failure: datetime | None = None
    """When its first record failed; `await_report` can come later."""
    max_producers: int = 1
    """The largest number of producers that it kept at one time."""
    _reports: queue.Queue[tuple[float, dict[str, object] | None]] = field(default_factory=queue.Queue)
    """With the moment at which each came: the variant can be busy with something else then."""
    _sent: int = 0
    _sent_at: float = 0.0

    @classmethod
    def start(
        cls,
        name: str,
        client: Client,
        *,
        topic: str,
        settings: Mapping[str, object],
        folder: Path,
        namespace: NetworkNamespace = HOST_NETWORK,
        producers: str = "1",
        is_monitored: bool = False,
    ) -> Self:
        """Start a program in `folder`, where its log will be. It is ready when it has reported its first record.

        `producers`: how many producers it keeps; `record` for a new one for each record. `is_monitored`: it exposes
        metrics, where its client has any.
        """
        port = free_ports(1)[0] if is_monitored and client.monitored is not None else None
        log = folder / f"{name}.log"
        own = {
            key: value.replace("{worker}", name) if isinstance(value, str) else value for key, value in settings.items()
        }
        command = client.command((name, topic, producers), own, log)
        environment = {"PYTHONPATH": str(SOURCES), **UTC_CLOCK, **_monitoring(client, folder, port)}
        errors = folder / f"{name}.err"
        program = Program.start(
            name, command, folder=folder, errors=errors, environment=environment, netns_entry=namespace.netns_entry
        )
        worker = cls(name=name, program=program, log=log, metrics_port=port, max_producers=_producer_count(producers))
        threading.Thread(target=worker._receive, name=f"{name}-reports", daemon=True).start()
        return worker

    def _receive(self) -> None:
        for report in read_reports(self.program):
            if report["result"] != DELIVERED and self.first_failure is None:
                self.first_failure = datetime.now(UTC)
            self._reports.put((time.monotonic(), report))
        self._reports.put((time.monotonic(), None))

    def set_producers(self, producers: str) -> None:
        """Make it keep so many producers from now on; `record` for a new one for each record."""
        self.max_producers = max(self.max_producers, _producer_count(producers))
        self.program.write_line(f"producers {producers}")

    def send(self, *, size: int = 0, block: timedelta = timedelta(0)) -> None:
        """Make it handle its next event, its value padded to `size`. `await_report` comes before the next `send`.

        `block`: when that record is acknowledged, its callback blocks the producer's I/O thread so long (Java only).
        """
        self._sent += 1
        self._sent_at = time.monotonic()
        self.program.write_line(f"send {self._sent} {size} {block // timedelta(milliseconds=1)}")

    def await_report(self, *, timeout: timedelta = REPORT_TIMEOUT, is_warm_up: bool = False) -> DeliveryReport:
        """Wait for the event's delivery report, and keep it. ProgramDidNotAnswer if the program ended instead."""
        try:
            at, report = self._reports.get(timeout=timeout.total_seconds())
        except queue.Empty:
            at, report = time.monotonic(), {"result": ""}
        latency = timedelta(seconds=at - self._sent_at)
        if report is None:
            raise ProgramDidNotAnswer(f"{self.name} ended before it reported event {self._sent}:\n{self._log_end()}")
        self.delivery_reports.append(
            DeliveryReport(
                worker=self.name,
                value=f"{self.name}:{self._sent}",
                result=str(report["result"]),
                latency=latency,
                is_warm_up=is_warm_up,
            )
        )
        return self.delivery_reports[-1]

    def _log_end(self) -> str:
        files = (self.log.with_suffix(".err"), self.log)
        return "\n".join(path.read_text(errors="replace")[-1500:] for path in files if path.exists())

    def deliver(self, *, size: int = 0, block: timedelta = timedelta(0)) -> DeliveryReport:
        """Send, and wait for the delivery report."""
        self.send(size=size, block=block)
        return self.await_report()


def _monitoring(client: Client, folder: Path, port: int | None) -> Mapping[str, str]:
    return {} if port is None or client.monitored is None else client.monitored(folder, port)


def _producer_count(producers: str) -> int:
    return 1 if producers == NEW_FOR_EACH_RECORD else int(producers)
