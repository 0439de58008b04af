"""Writes what an experiment left behind as a capture, in exactly the form of `leadsman collect` in production."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman.capture import Item, Manifest, MissingItem, read_manifest, write_file, write_manifest
from leadsman.java import jars
from leadsman.lab.brokers import metrics_agent
from leadsman.lab.processes.program import SOURCES
from leadsman.sections import Section, exit_line, section_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Broker
    from leadsman.lab.workload.clients import Client
    from leadsman.lab.workload.services import RunningService
    from leadsman.lab.workload.worker import Worker


LOGS = {"controller.log": "controller_log", "state-change.log": "state_change_log", "zookeeper.log": "zookeeper_log"}
"""What a node's logs are called in the manifest; every other is a broker's."""


def neutral_names(working_folder: Path, log_folder: Path) -> dict[str, str]:
    """Return, by each folder name of this machine, the name that a capture gives it.

    Kafka makes its folders absolute in its log, and so does Kafka Streams with the one beside `log_folder`'s logs;
    ZooKeeper prints its class path, and Python's stack traces name the libraries' places.
    """
    return {
        str(working_folder): "/kafka",
        str(log_folder): "/app/run",
        str(jars.cache_folder()): "/app/cache",
        sys.prefix: "/app/.venv",
        sys.base_prefix: "/usr/local",
        str(SOURCES): "/app",
    }


@dataclass(slots=True)
class Recorder:
    """Fills one capture folder, file by file; `finish` writes the manifest, which completes the capture."""

    folder: Path
    working_folder: Path
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _items: list[Item] = field(default_factory=list)
    _absent: list[MissingItem] = field(default_factory=list)

    def text(self, file: str, text: str, *, source: str, command: str) -> None:
        """Add one file, secrets masked."""
        write_file(self.folder, file, text)
        self._items = [item for item in self._items if item.file != file]
        self._items.append(Item(file=file, source=source, command=command, at=datetime.now(UTC)))

    def copy(self, path: Path, file: str, *, source: str, command: str) -> None:
        """Add a copy of a file, with neutral folder names; the manifest lists a missing file as absent."""
        try:
            text = self._neutral(path.read_text(encoding="utf-8", errors="surrogateescape"), path.parent)
        except OSError as error:
            self._absent.append(MissingItem(what=file, why=error.strerror or str(error)))
        else:
            self.text(file, text, source=source, command=command)

    def section(self, file: str, text: str, *, source: str, command: str, subject: str) -> None:
        """Append one host's output to a file, under a head line with time and host: the form of `leadsman collect`."""
        first_line = section_line(Section(datetime.now(UTC), subject, file, command))
        self._append(file, f"{first_line}{text}{exit_line(0)}", source=source, command=command)

    def add_capture(self, capture: Path) -> None:
        """Append the files of a capture that `leadsman collect` made."""
        manifest = read_manifest(capture)
        for item in manifest.items if manifest else ():
            text = self._neutral((capture / item.file).read_text(encoding="utf-8", errors="surrogateescape"), capture)
            self._append(item.file, text, source=item.source, command=item.command)

    def _neutral(self, text: str, folder: Path) -> str:
        for name, neutral in neutral_names(self.working_folder, folder).items():
            text = text.replace(name, neutral)
        return text

    def _append(self, file: str, text: str, *, source: str, command: str) -> None:
        path = self.folder / file
        before = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
        self.text(file, before + text, source=source, command=command)

    def workers(self, workers: Sequence[Worker], client: Client) -> None:
        """Add every worker's log."""
        for worker in workers:
            command = f"{client.label} producer of {worker.name}"
            self.copy(worker.log, f"clients/{worker.name}.log", source="client_log", command=command)

    def services(self, services: Sequence[RunningService]) -> None:
        """Add the log of every service."""
        for service in services:
            command = f"java@{service.version} service {service.name}"
            self.copy(service.log, f"clients/{service.name}.log", source="client_log", command=command)

    def brokers(self, brokers: Sequence[Broker]) -> None:
        """Add every node's logs and settings."""
        for broker in brokers:
            for log in broker.logs or (broker.log,):
                source = LOGS.get(log.name, "broker_log")
                self.copy(log, f"{broker.capture_folder}/{log.name}", source=source, command=f"logs/{log.name}")
            name = broker.kind.settings
            self.copy(broker.folder / name, f"{broker.capture_folder}/{name}", source="broker_settings", command=name)

    def gc_logs(self, brokers: Sequence[Broker]) -> None:
        """Add the brokers' garbage collector logs."""
        for broker in brokers:
            if broker.metrics_port is not None:
                file = f"jvm/broker-{broker.id}/gc.log"
                self.copy(broker.folder / metrics_agent.GC_LOG, file, source="gc_log", command="-Xlog:gc*")

    def snapshots(self, brokers: Sequence[Broker], topic: str, *, partition: str = "*", limit: int = 100) -> None:
        """Add the snapshots of producer state that brokers left in the topic's folders, or in one partition's.

        Of more than `limit` in all some are left out, evenly: large ones would not fit into a repository.
        """
        for broker in brokers:
            paths = sorted((broker.folder / "data").glob(f"{topic}-{partition}/*.snapshot"))
            for path in paths[:: -(-len(paths) // limit) or 1]:
                file = f"data/broker-{broker.id}/{path.parent.name}/{path.name}"
                (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.folder / file)
                self._items.append(Item(file=file, source="snapshot", command=f"cp {file}", at=datetime.now(UTC)))

    def finish(
        self,
        *,
        ran: str,
        versions: Mapping[str, str],
        stands_for: Mapping[str, str],
        settings: Mapping[str, str],
        notes: Sequence[str],
    ) -> None:
        """Write the manifest. The cluster and the host are called `lab`: nothing of this machine is in a capture."""
        write_manifest(
            self.folder,
            Manifest(
                cluster="lab",
                recorded_from=self.began,
                recorded_until=datetime.now(UTC),
                host="lab",
                ran=ran,
                versions=versions,
                stands_for=stands_for,
                settings={"producer": settings},
                items=tuple(self._items),
                absent=tuple(self._absent),
                notes=tuple(notes),
            ),
        )
