"""Shared fixtures: one Spark session with Delta, one broker, empty tables, and the databases of the stores."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from tests.java_options import CHEAP_OPTIMIZATION
from tests.postgresql_server import PostgresServer, postgresql_server
from werkzeug.serving import make_server

from account_linking.demo.ledger import BankLedger
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.banks import SimulatedBanks
from account_linking.demo.simulator.server import app, serve
from account_linking.tables.layout import Layout
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.lab.processes.ports import ADDRESS, free_ports
from leadsman.pipeline.spark.session import SessionOptions, session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with session(SessionOptions(delta=True, is_long_lived=True, conf=CHEAP_OPTIMIZATION)) as running:
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


@pytest.fixture
def aws_variables(aws: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of DynamoDB and KMS, and variables by which boto3 calls them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    return aws


@pytest.fixture(scope="module")
def signer() -> plaid.Signer:
    return plaid.Signer()


@pytest.fixture(scope="module")
def banks() -> SimulatedBanks:
    return SimulatedBanks(BankLedger({}))


@pytest.fixture(scope="module")
def plaid_settings(signer: plaid.Signer, banks: SimulatedBanks) -> Iterator[dict[str, str]]:
    """The settings of a receiver whose Plaid is simulated, with the keys of `signer`."""
    with serve(app(banks, signer), free_ports(1)[0]) as url:
        yield {"PLAID_URL": f"{url}/plaid", "PLAID_CLIENT_ID": "x", "PLAID_SECRET": "y"}


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgresql_server() as running:
        yield running
