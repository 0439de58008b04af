"""One broker for all tests of the lab that do not break it for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.lab.cluster import Cluster, Plan

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster(
        Plan(settings={"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"})
    ) as running:
        yield running
