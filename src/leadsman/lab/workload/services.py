"""Services that process a topic, and the source that fills it: the consumers of an experiment.

A service is a Java program at any client version of the lock. It reports what it has processed, so its harm is measured
without a log: records that no service processed, records processed twice or late, and consumers that died.
"""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from leadsman.errors import LabError
from leadsman.java import jars, runtime
from leadsman.lab.brokers.node import UTC_CLOCK
from leadsman.lab.processes.program import HOST_NETWORK, PROGRAMS, NetworkNamespace, Program
from leadsman.lab.workload.reporting_program import ReportingProgram, log4j_options, read_reports
from leadsman.model import Harm
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

READY_TIMEOUT = timedelta(seconds=90)
"""Until a service has processed its first record: 4 s on an idle machine, a minute where two cores start ten JVMs."""

RECORDS_PER_SECOND = 50
"""Enough that every commit has something to commit."""

CONSUMER_SETTINGS = frozenset({"default.api.timeout.ms", "max.poll.interval.ms", "max.poll.records"})
"""Settings that a Streams application takes with the prefix `consumer.`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service to start: its name, which is the name of its group too, `streams` or `consumer`, and its settings.

    `client` is the version of the Java client; empty: the version of the run. `supervised`: a service that died is
    started again.
    """

    name: str
    kind: str
    settings: Mapping[str, str] = field(default_factory=dict)
    client: str = ""
    supervised: bool = False


def versions() -> tuple[str, ...]:
    """Return the Java client versions that a service can run with."""
    return tuple(name.removeprefix("streams-") for name in jars.jar_sets() if name.startswith("streams-"))


def class_path(version: str) -> list[Path]:
    """Return the program, compiled, and the jars of a version."""
    if version not in versions():
        raise LabError(f"The lab has no Streams {version}. It has: {', '.join(versions())}.")
    streams = jars.fetch_jars(f"streams-{version}")
    return [runtime.compile_source(PROGRAMS / "ConsumerService.java", streams), *streams]


STOPPED_STATES = frozenset({"DEAD", "ERROR", "NOT_RUNNING"})
"""States of a service that processes no more."""


@dataclass(slots=True, kw_only=True)
class RunningService(ReportingProgram):
    """A service that runs, or its source, and its last report."""

    quit_within: ClassVar[timedelta] = timedelta(seconds=90)
    """A source waits a minute for its last acknowledgements."""
    version: str = ""
    last_report: dict[str, object] = field(default_factory=dict)

    def reported(self, key: str) -> int:
        """Return a number of the last report; 0 before the first."""
        return int(str(self.last_report.get(key, 0)))

    def wait_until_processing(self) -> None:
        """Wait for its first record."""
        what = f"{self.name} to process"
        wait_for(lambda: self.reported("processed"), timeout=READY_TIMEOUT, what=what, error=LabError)

    def end_warm_up(self) -> None:
        """End its warm-up: records that were sent before waited for the start, and are not late."""
        self.program.write_line("begin")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceHost:
    """Where services run: the brokers' addresses, their topic, the folder of their logs, and the network."""

    bootstrap: str
    topic: str
    folder: Path
    namespace: NetworkNamespace = HOST_NETWORK

    def start(self, services: Sequence[Service], *, version: str, groups: Mapping[str, str]) -> list[RunningService]:
        """Start services in one process, whose log is named after the first of them."""
        log = self.folder / f"{services[0].name}.log"
        heap_mb = 64 + 32 * len(services)
        java = runtime.java_command("ConsumerService", class_path(version), heap_mb=heap_mb, options=log4j_options(log))
        arguments = [word for each in services for word in ("--", *self._arguments(each, groups[each.name]))]
        names = [each.name for each in services]
        return _start(names, [*java, *arguments[1:]], log=log, version=version, namespace=self.namespace)

    def start_source(self, settings: Mapping[str, str]) -> RunningService:
        """Start the source that fills the topic."""
        own = {"bootstrap.servers": self.bootstrap, "acks": "all", "log_level": 0, **settings}
        program = str(PROGRAMS / "steady_source.py")
        command = [sys.executable, program, self.topic, str(RECORDS_PER_SECOND), json.dumps(own)]
        (source,) = _start(["source"], command, log=self.folder / "source.log", namespace=self.namespace)
        return source

    def _arguments(self, service: Service, group: str) -> list[str]:
        own = {"bootstrap.servers": self.bootstrap, "auto.offset.reset": "earliest"}
        settings = {**own, **_kind_settings(service, group, self.folder), **_prefixed_settings(service)}
        arguments = [service.name, self.topic, service.kind, str(service.supervised).lower()]
        return [*arguments, *(f"{name}={value}" for name, value in settings.items())]


def _start(
    names: Sequence[str], command: Sequence[str], *, log: Path, namespace: NetworkNamespace, version: str = ""
) -> list[RunningService]:
    program = Program.start(
        names[0],
        command,
        folder=log.parent,
        errors=log.with_suffix(".err"),
        environment=UTC_CLOCK,
        netns_entry=namespace.netns_entry,
    )
    services = {name: RunningService(name=name, program=program, log=log, version=version) for name in names}
    threading.Thread(target=_receive, args=(program, services), name=f"{names[0]}-reports", daemon=True).start()
    return list(services.values())


def _receive(program: Program, services: Mapping[str, RunningService]) -> None:
    for report in read_reports(program):
        services[report["name"]].last_report = report


def _prefixed_settings(service: Service) -> dict[str, str]:
    """Return its settings for Streams: without the prefix, a commit timeout below 30 s would stop the admin client."""
    prefix = "consumer." if service.kind == "streams" else ""
    return {f"{prefix}{name}" if name in CONSUMER_SETTINGS else name: value for name, value in service.settings.items()}


def _kind_settings(service: Service, group: str, folder: Path) -> dict[str, str]:
    if service.kind == "consumer":
        return {"group.id": group, "enable.auto.commit": "false"}
    return {
        "application.id": group,
        "commit.interval.ms": "500",
        "num.stream.threads": "1",
        "state.dir": str(folder / "state" / service.name),
    }


def service_harm(source: RunningService, services: Sequence[RunningService]) -> dict[Harm, int]:
    """Return the harm to acknowledged records: each service should have processed each record, once and soon."""
    return harm_of_reports(source.reported("acknowledged"), [service.last_report for service in services])


def harm_of_reports(offered: int, reports: Sequence[Mapping[str, object]]) -> dict[Harm, int]:
    """Return the harm by the services' last reports, when so many records had been acknowledged."""

    def number(report: Mapping[str, object], key: str) -> int:
        return int(str(report.get(key, 0)))

    return {
        Harm.DUPLICATED: sum(number(report, "twice") for report in reports),
        Harm.DELAYED: sum(number(report, "late") for report in reports),
        Harm.STALLED: sum(max(0, offered - number(report, "processed")) for report in reports),
        Harm.DIED: sum(report.get("state") in STOPPED_STATES for report in reports),
    }
