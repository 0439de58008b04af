"""Receives webhooks: verified on the raw bytes, stored in Kafka, and only then answered with 200.

`uvicorn --factory account_linking.receiver:app`. Statuses: 401 refused, 404 no such provider, 413 too large, 503 not
stored; all but 401 and 404 make providers send it again.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from account_linking.errors import WebhookRefused
from account_linking.names import WEBHOOKS
from account_linking.providers import every_provider
from account_linking.providers.model import Incoming
from account_linking.requester.publishing import way
from leadsman.clients import ClientsError, kafka_producer_provider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request

    from account_linking.providers.model import Settings, Verify
    from leadsman.clients import KafkaProducers

LOG = logging.getLogger(__name__)

LARGEST_BYTES = 900_000
"""Kafka takes a megabyte a record, headers and all."""

STORED = 200
STORED_WITHIN = timedelta(seconds=5)
"""Plaid gives up after 10 s."""


REMEMBERED_SECONDS = 600.0
"""How long a sending is known again. Plaid's tokens are refused for their age after half of it."""


class Seen:
    """Sendings that were stored. One that could not be stored is not remembered, so that it may come again."""

    def __init__(self) -> None:
        self._at: dict[str, float] = {}

    def __contains__(self, sending: str) -> bool:
        return bool(sending) and sending in self._at

    def add(self, sending: str) -> None:
        """Remember a sending, and forget the old ones."""
        now = time.monotonic()
        for old in [each for each, at in self._at.items() if now - at > REMEMBERED_SECONDS]:
            del self._at[old]
        self._at[sending] = now


def app(settings: Settings | None = None) -> Starlette:
    """Return the application. Settings are environment variables unless given."""
    chosen: Settings = os.environ if settings is None else settings
    producers = kafka_producer_provider(
        {"bootstrap.servers": chosen["KAFKA_BOOTSTRAP"]}, path=way(chosen, "broker"), within=STORED_WITHIN
    )
    verify = {name: provider.verifier(chosen) for name, provider in every_provider().items()}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(producers.close)

    receive = partial(_receive, verify=verify, producers=producers, seen=Seen())
    routes = [
        Route("/webhooks/{provider}", receive, methods=["POST"]),
        Route("/webhooks/{provider}/{secret}", receive, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


async def _receive(
    request: Request, *, verify: Mapping[str, Verify], producers: KafkaProducers, seen: Seen
) -> JSONResponse:
    provider = request.path_params["provider"]
    if provider not in verify:
        return _answer(404, "no such provider")
    body = await _body(request)
    if body is None:
        return _answer(413, "too large")
    try:
        sending = await asyncio.to_thread(verify[provider], _incoming(request, body))
        if sending in seen:
            raise WebhookRefused("This very sending came before.")  # noqa: TRY301 - refused like any other
    except WebhookRefused as refused:
        LOG.warning("refused a webhook of %s from %s: %s", provider, _source(request), refused)
        return _answer(refused.status, "refused")
    answer = await _stored(provider, body, producers)
    if sending and answer.status_code == STORED:
        seen.add(sending)
    return answer


async def _body(request: Request) -> bytes | None:
    """Return the body, or None as soon as it is too large, whatever its length was said to be."""
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > LARGEST_BYTES:
            return None
    return bytes(found)


def _incoming(request: Request, body: bytes) -> Incoming:
    return Incoming(
        headers=dict(request.headers),
        body=body,
        secret=request.path_params.get("secret", ""),
        source=_source(request),
    )


def _source(request: Request) -> str:
    return request.client.host if request.client else ""


async def _stored(provider: str, body: bytes, producers: KafkaProducers) -> JSONResponse:
    headers = (("provider", provider.encode()), ("received-at", str(time.time()).encode()))
    try:
        sent = await asyncio.to_thread(producers.send, WEBHOOKS, body, headers=headers)
        await asyncio.wait_for(asyncio.wrap_future(sent), STORED_WITHIN.total_seconds())
    except (ClientsError, BufferError, TimeoutError) as error:
        LOG.error("could not store a webhook of %s: %r", provider, error)  # noqa: TRY400 - its stack says nothing
        return _answer(503, "not stored")
    return _answer(STORED, "stored")


def _answer(status: int, says: str) -> JSONResponse:
    headers = {"Retry-After": "30"} if status == 503 else None  # noqa: PLR2004 - the only status that asks for it
    return JSONResponse({"says": says}, status, headers)
