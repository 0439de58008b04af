"""Serves the webhook: a token, a bounded body, and an answer only when the events are on disk."""

from __future__ import annotations

import asyncio
import hmac
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from leadsman.watch.live.server import has_token, run_server
from leadsman.watch.objects.stored_objects import StoredObject
from leadsman.watch.receiving.documents import ReceivedEvent, RefusedDocument, received_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from starlette.requests import Request

    from leadsman.watch.live.address import ServeAddress
    from leadsman.watch.objects.stored_objects import StoredObjects

PATH = "/events"
MAX_BODY_BYTES = 1 << 20
"""An event of a cloud is 256 KiB at most; a group of a thousand alerts is half of this."""

BODY_SECONDS = 10.0
"""In which a body has to arrive. Alertmanager itself waits for so long."""

JSON_TYPE = "application/json"
TOO_LARGE = f"The body is larger than {MAX_BODY_BYTES >> 20} MiB."


@dataclass(frozen=True, slots=True)
class Receiver:
    """Stores what is delivered, as documents of a capture. `report` takes lines for the user."""

    store: StoredObjects
    capture: str
    token: str
    report: Callable[[str], None]
    clock: Callable[[], float] = time.time

    def routes(self) -> list[Route]:
        """Return the one route."""
        return [Route(PATH, self.events, methods=["POST"])]

    async def events(self, request: Request) -> Response:
        """Store the events of a delivery, and answer when they are on disk."""
        try:
            self._check(request)
            body = await asyncio.wait_for(_body(request), BODY_SECONDS)
            found = await asyncio.to_thread(received_events, body)
            stored = await asyncio.to_thread(self._store, found)
        except Refusal as refusal:
            return refusal.response
        except RefusedDocument as refused:
            return PlainTextResponse(f"{refused}\n", status_code=422)
        except TimeoutError:
            return PlainTextResponse(f"The body took longer than {BODY_SECONDS:g} s.\n", status_code=408)
        except OSError as error:
            self.report(f"What was delivered to {PATH} cannot be stored: {error.strerror or error}")
            retry = {"Retry-After": "30"}
            return PlainTextResponse("The events cannot be stored now.\n", status_code=503, headers=retry)
        return PlainTextResponse(f"{stored} of {len(found)} events are new.\n")

    def _check(self, request: Request) -> None:
        """Raise Refusal where a request may not deliver, or its body is not worth reading."""
        if not self._may(request):
            raise Refusal(401, "The token is missing or wrong.", {"WWW-Authenticate": 'Bearer realm="leadsman watch"'})
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != JSON_TYPE:
            raise Refusal(415, f"The body has to be {JSON_TYPE}; the request says {kind or 'nothing'}.")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise Refusal(415, "A compressed body is not taken.")
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            raise Refusal(413, TOO_LARGE)

    def _may(self, request: Request) -> bool:
        """Whether a request has the token. Pub/Sub can send it in the URL alone."""
        in_url = request.query_params.get("token", "")
        has_it = hmac.compare_digest(in_url.encode(), self.token.encode())
        return has_it or has_token(request.headers.get("authorization", ""), self.token)

    def _store(self, found: list[ReceivedEvent]) -> int:
        contents = [(each, each.content) for each in found]
        return self.store.add_documents([(self._object(each, content), content) for each, content in contents])

    def _object(self, each: ReceivedEvent, content: bytes) -> StoredObject:
        return StoredObject(
            root=self.capture,
            source=each.digest,
            name=f"received/{each.kind}-{each.digest}.json",
            bytes=len(content),
            changed_us=round(self.clock() * 1e6),
            size=len(content),
            number=0,
        )


class Refusal(Exception):
    """A request that is answered without its events being stored."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.response = PlainTextResponse(f"{text}\n", status_code=status, headers=headers)


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    try:
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > MAX_BODY_BYTES:
                raise Refusal(413, TOO_LARGE)
    except ClientDisconnect as error:
        raise Refusal(400, "The body breaks off.") from error
    return b"".join(parts)


@contextmanager
def receiving(receiver: Receiver, address: ServeAddress) -> Iterator[str]:
    """Serve the webhook until the end of the block; yield its URL."""
    app = Starlette(routes=receiver.routes())
    with run_server(app, address, option="--listen") as port:
        yield f"{address.url(port).rstrip('/')}{PATH}"
