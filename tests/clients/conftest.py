"""A clock that stands still until it is advanced; a broker and a database for all tests that do not stop them."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest
from tests.postgresql_server import PostgresServer, postgresql_server

from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
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


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgresql_server() as running:
        running.run("create user app password 'token'")
        yield running
