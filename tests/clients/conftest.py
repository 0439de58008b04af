"""A clock that stands still until it is moved, and a broker for all tests that do not break it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from leadsman.clients.testing import HandClock, Heard
from leadsman.lab.cluster import Cluster, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(scope="session")
def broker() -> Iterator[Cluster]:
    with Cluster(Plan()) as running:
        yield running


@pytest.fixture
def topic(broker: Cluster) -> str:
    name = f"orders-{uuid.uuid4().hex[:8]}"
    broker.create_topic(name)
    return name


@pytest.fixture
def config(broker: Cluster) -> dict[str, object]:
    return {"bootstrap.servers": broker.bootstrap}
