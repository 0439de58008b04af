"""Lets an item's ledger reach the topics by every detour that real life knows: for tests, without a broker.

Real fetch code, real store, the made-up banks' own answers. What is left out is Kafka: records are kept in a list.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx

from account_linking.demo.ledger import START, moment
from account_linking.demo.simulator import plaid
from account_linking.demo.simulator.server import app
from account_linking.demo.simulator.world import World  # noqa: TC001 - a field of a dataclass
from account_linking.providers.model import Answer, Element
from account_linking.requester.worker import Requester

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from account_linking.demo.ledger import Change
    from account_linking.requester.worker import Outgoing
    from account_linking.store import Store

WITHIN = timedelta(seconds=60)


KAFKA = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
"""What Spark's Kafka source gives."""


def frame(spark: SparkSession, records: Sequence[tuple[int, Outgoing]]) -> DataFrame:
    """Return records as Spark's Kafka source would, each at its offset."""
    rows = [
        (each.topic, 0, offset, START, each.key.encode(), each.value, [tuple(header) for header in each.headers])
        for offset, each in records
    ]
    return spark.createDataFrame(rows, KAFKA)


class Died(Exception):
    """The worker was killed: after it published, before it moved the cursor."""


@dataclass(slots=True)
class Rumour:
    """Tells changes of a world's items, and keeps every record that a worker published."""

    world: World
    store: Store
    records: list[Outgoing] = field(default_factory=list)
    between_pages: Callable[[], None] = field(default=lambda: None)
    dies: bool = False
    _banks: httpx.ASGITransport = field(init=False)
    _told_until: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._banks = httpx.ASGITransport(app(self.world, plaid.Signer()))

    def happen(self, change: Change) -> None:
        """Let something happen, which nobody has fetched yet."""
        self.world.happen([change])

    def fetch(self, item: str, *, dies: bool = False) -> None:
        """Fetch as after a webhook. A worker that dies has published, and its successor begins where it began."""
        provider = self.world.ledger.items[item].provider
        self.dies = dies
        try:
            self.handle(Element(provider=provider, item=item, link=self._link(item)))
        except Died:
            return
        self._told_until[item] = self.world.now

    def handle(self, element: Element) -> None:
        """Fetch one element, whoever asks for it."""
        requester = Requester(store=self.store, api=lambda name, _: _Api(self, name), publish=self._publish)
        requester.handle(element, within=WITHIN)

    async def ask(self, method: str, path: str, **asked: Any) -> httpx.Response:  # noqa: ANN401 - what httpx takes
        """Ask the made-up banks, without a network."""
        async with httpx.AsyncClient(transport=self._banks, base_url="http://banks") as client:
            return await client.request(method, path, **asked)

    def _link(self, item: str) -> str:
        """Return the window since the last webhook; only Yodlee asks by windows."""
        since, until = self._told_until.get(item, self.world.now - 1800), self.world.now + 0.5
        told = [time.isoformat().replace("+00:00", "Z") for time in map(moment, (since - 0.5, until))]
        return f"fromDate={told[0]}&toDate={told[1]}"

    def _publish(self, records: Sequence[Outgoing], *, within: timedelta) -> None:
        assert within
        self.records += records
        if self.dies:
            raise Died


@dataclass(frozen=True, slots=True)
class _Api:
    rumour: Rumour
    provider: str

    def call(self, method: str, path: str, **asked: Any) -> Answer:  # noqa: ANN401 - what httpx takes
        answer = asyncio.run(self.rumour.ask(method, f"/{self.provider}{path}", **asked))
        self.rumour.between_pages()
        return Answer(answer.status_code, answer.content, dict(answer.headers))
