"""Runs the requester against the simulated banks without a broker, for tests: worker deaths, changes between pages.

The fetch code, the store and the banks' HTTP API are the real ones. Published records are collected in a list.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx

from account_linking.demo.ledger import START, to_datetime
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.banks import SimulatedBanks  # noqa: TC001 - a field of a dataclass
from account_linking.demo.simulator.server import app
from account_linking.providers.model import ApiResponse, FetchTask
from account_linking.requester.worker import Requester

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.demo.ledger import MovementChange
    from account_linking.requester.worker import Outgoing
    from account_linking.store import Store

TIME_LIMIT = timedelta(seconds=60)


KAFKA_SCHEMA = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
"""The schema of Spark's Kafka source."""


def kafka_frame(spark: SparkSession, records: Sequence[tuple[int, Outgoing]]) -> DataFrame:
    """Return records as a DataFrame of Spark's Kafka source, each at its offset."""
    rows = [
        (each.topic, 0, offset, START, each.key.encode(), each.value, [tuple(header) for header in each.headers])
        for offset, each in records
    ]
    return spark.createDataFrame(rows, KAFKA_SCHEMA)


class WorkerDied(Exception):
    """The worker dies after publishing and before the cursor moves."""


@dataclass(slots=True)
class FetchHarness:
    """Applies changes to the simulated banks, fetches items, and collects all published records."""

    banks: SimulatedBanks
    store: Store
    records: list[Outgoing] = field(default_factory=list)
    between_pages: Callable[[], None] = field(default=lambda: None)
    dies: bool = False
    _transport: httpx.ASGITransport = field(init=False)
    _fetched_until: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._transport = httpx.ASGITransport(app(self.banks, plaid.Signer()))

    def apply_changes(self, change: MovementChange) -> None:
        """Apply a change that no worker has fetched yet."""
        self.banks.apply_changes([change])

    def fetch(self, item: str, *, dies: bool = False) -> None:
        """Fetch an item as after a webhook. With `dies` the worker dies after publishing, before the cursor moves."""
        provider = self.banks.ledger.items[item].provider
        if self.deliver(FetchTask(provider=provider, item=item, link=self._link(item)), dies=dies):
            self._fetched_until[item] = self.banks.now

    def deliver(self, task: FetchTask, *, dies: bool = False) -> bool:
        """Run one fetch task; return whether the worker survived."""
        self.dies = dies
        try:
            self.handle(task)
        except WorkerDied:
            return False
        return True

    def handle(self, task: FetchTask) -> None:
        """Run one fetch task."""
        requester = Requester(
            store=self.store,
            api=lambda name, _: _HarnessApi(self, name),
            publish=self._publish,
            now=lambda: to_datetime(self.banks.now).timestamp(),
        )
        requester.handle(task, timeout=TIME_LIMIT)

    async def call(self, method: str, path: str, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own arguments
        """Call the simulated banks' HTTP API, without a network."""
        async with httpx.AsyncClient(transport=self._transport, base_url="http://banks") as client:
            return await client.request(method, path, **request)

    def _link(self, item: str) -> str:
        """Return the window since the last webhook; only Yodlee uses windows."""
        since, until = self._fetched_until.get(item, self.banks.now - 1800), self.banks.now + 0.5
        window = [time.isoformat().replace("+00:00", "Z") for time in map(to_datetime, (since - 0.5, until))]
        return f"fromDate={window[0]}&toDate={window[1]}"

    def _publish(self, records: Sequence[Outgoing], *, timeout: timedelta) -> None:
        assert timeout
        self.records += records
        if self.dies:
            raise WorkerDied


@dataclass(frozen=True, slots=True)
class _HarnessApi:
    harness: FetchHarness
    provider: str

    def call(self, method: str, path: str, **request: Any) -> ApiResponse:  # noqa: ANN401 - httpx's own arguments
        response = asyncio.run(self.harness.call(method, f"/{self.provider}{path}", **request))
        self.harness.between_pages()
        return ApiResponse(response.status_code, response.content, dict(response.headers))
