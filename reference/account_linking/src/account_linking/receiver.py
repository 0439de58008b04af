"""Receives webhooks: verifies the raw bytes, stores the webhook in Kafka, and only then answers with 200.

`uvicorn --factory account_linking.receiver:app`; as a Lambda function: `receiver_lambda`. HTTP statuses: 401 refused,
404 unknown provider, 408 too slow, 413 too large, 503 not stored. After 408, 413 and 503 providers send the webhook
again.
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

from account_linking.access_log import hide_secrets
from account_linking.errors import WebhookRefused
from account_linking.kafka_security import client_settings
from account_linking.providers import every_provider
from account_linking.providers.model import IncomingWebhook
from account_linking.requester.publishing import kafka_path
from account_linking.store import open_store
from account_linking.topics import WEBHOOKS
from leadsman_clients import ClientsError, kafka_producer_provider
from leadsman_clients.network_path import resolve_path

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from starlette.requests import Request

    from account_linking.providers.model import Settings, Verify
    from account_linking.store.model import Store
    from leadsman_clients import KafkaProducerProvider
    from leadsman_clients.network_path import PathSpec
    from leadsman_clients.producer.records import DeliveryFuture

LOG = logging.getLogger(__name__)

MAX_BODY_BYTES = 900_000
"""A broker accepts 1 MB a record with its headers by default (`message.max.bytes`)."""

OK = 200
STORE_TIMEOUT = timedelta(seconds=5)
"""Plaid's own timeout for a webhook is 10 s."""

BODY_TIMEOUT = timedelta(seconds=10)
"""A sender that takes longer for its 900 kB keeps the connection and the memory for nothing."""

DELIVERY_MEMORY_SECONDS = 600.0
"""How long a repeated webhook is recognised: twice the 300 s after which a token of Plaid's is too old anyway."""


def app(settings: Settings | None = None, *, path: PathSpec = "broker") -> Starlette:
    """Return the ASGI application. The settings are the environment variables unless given.

    `path` names the hops to the brokers; on a path whose process is frozen, no future is left to another thread.
    """
    hide_secrets()
    resolved_settings: Settings = os.environ if settings is None else settings
    producers = kafka_producer_provider(
        lambda: {"bootstrap.servers": resolved_settings["KAFKA_BOOTSTRAP"], **client_settings(resolved_settings)},
        path=kafka_path(resolved_settings, path),
        timeout=STORE_TIMEOUT,
    )
    verify = {name: provider.verifier(resolved_settings) for name, provider in every_provider().items()}

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(producers.close)

    publish = partial(_publish, producers=producers, waits_by_polling=resolve_path(path).freezes)
    receive = partial(_receive, verify=verify, store=open_store(resolved_settings), publish=publish)
    routes = [
        Route("/webhooks/{provider}", receive, methods=["POST"]),
        Route("/webhooks/{provider}/{secret}", receive, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


async def _receive(
    request: Request,
    *,
    verify: Mapping[str, Verify],
    store: Store,
    publish: Callable[[str, bytes], Awaitable[JSONResponse]],
) -> JSONResponse:
    provider = request.path_params["provider"]
    if provider not in verify:
        return _response(404, "unknown provider")
    try:
        body = await asyncio.wait_for(_body(request), BODY_TIMEOUT.total_seconds())
    except TimeoutError:
        return _response(408, "too slow")
    if body is None:
        return _response(413, "too large")
    try:
        delivery = await asyncio.to_thread(_verify_new, verify[provider], _incoming_webhook(request, body), store)
    except WebhookRefused as refused:
        LOG.warning("refused a webhook of %s from %s: %s", provider, _source(request), refused)
        return _response(refused.status, "refused")
    response = await publish(provider, body)
    if delivery and response.status_code != OK:
        await asyncio.to_thread(store.forget_delivery, delivery)
    return response


def _verify_new(verify: Verify, incoming: IncomingWebhook, store: Store) -> str:
    """Verify a webhook, and remember its delivery before it is stored: of copies that arrive at once, one is new."""
    delivery = verify(incoming)
    if not delivery:
        return ""
    now = time.time()
    try:
        is_new = store.remember_delivery(delivery, now=now, until=now + DELIVERY_MEMORY_SECONDS)
    except Exception as error:  # each store has its own errors
        raise WebhookRefused(f"The store did not answer: {type(error).__name__}.", status=503) from error
    if not is_new:
        raise WebhookRefused("This webhook was received before: a repeat.")
    return delivery


async def _body(request: Request) -> bytes | None:
    """Return the body, or None as soon as it exceeds MAX_BODY_BYTES, whatever Content-Length says."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    return bytes(body)


def _incoming_webhook(request: Request, body: bytes) -> IncomingWebhook:
    return IncomingWebhook(
        headers=dict(request.headers),
        body=body,
        secret=request.path_params.get("secret", ""),
        source=_source(request),
    )


def _source(request: Request) -> str:
    return request.client.host if request.client else ""


async def _publish(
    provider: str, body: bytes, *, producers: KafkaProducerProvider, waits_by_polling: bool
) -> JSONResponse:
    headers = (("provider", provider.encode()), ("received-at", str(time.time()).encode()))
    try:
        sent = await asyncio.to_thread(producers.send, WEBHOOKS, body, headers=headers)
        await _delivery_report(sent, waits_by_polling=waits_by_polling)
    except (ClientsError, BufferError, TimeoutError) as error:
        LOG.error("could not store a webhook of %s: %r", provider, error)  # noqa: TRY400 - the stack trace adds nothing
        return _response(503, "not stored")
    return _response(OK, "stored")


async def _delivery_report(sent: DeliveryFuture, *, waits_by_polling: bool) -> None:
    """Wait for a delivery report. A client that may be frozen has no thread of its own that polls for it."""
    seconds = STORE_TIMEOUT.total_seconds()
    if waits_by_polling:
        await asyncio.to_thread(sent.result, seconds)
    else:
        await asyncio.wait_for(asyncio.wrap_future(sent), seconds)


def _response(status: int, message: str) -> JSONResponse:
    headers = {"Retry-After": "30"} if status == 503 else None  # noqa: PLR2004 - the only status with this header
    return JSONResponse({"message": message}, status, headers)
