"""Serves the made-up providers over HTTP."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import simplejson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from account_linking.demo.simulator import fdx, plaid, yodlee
from account_linking.requester.limits import Bucket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from account_linking.demo.simulator.world import World

STARTED_WITHIN_SECONDS = 20

Serve: TypeAlias = Callable[[Request], Awaitable[Response]]


def app(world: World, signer: plaid.Signer) -> Starlette:
    """Return the application."""
    rate = world.weather.per_second
    banks = _Banks(world, signer, Bucket(rate, burst=max(1.0, rate), now=time.monotonic))
    return Starlette(
        routes=[
            Route("/plaid/transactions/sync", banks.guarded(banks.sync), methods=["POST"]),
            Route("/plaid/webhook_verification_key/get", banks.guarded(banks.key), methods=["POST"]),
            Route("/yodlee/dataExtracts/userData", banks.guarded(banks.user_data)),
            Route("/yodlee/dataExtracts/events", banks.guarded(banks.events)),
            Route("/fdx/customers/{customer}/accounts", banks.guarded(banks.accounts)),
            Route("/fdx/accounts/{account}/transactions", banks.guarded(banks.transactions)),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Banks:
    world: World
    signer: plaid.Signer
    bucket: Bucket

    async def sync(self, request: Request) -> Response:
        return _told(plaid.sync(self.world, await request.json()))

    async def key(self, request: Request) -> Response:
        return _told({"key": self.signer.public((await request.json())["key_id"])})

    async def user_data(self, request: Request) -> Response:
        told, following = yodlee.user_data(self.world, dict(request.query_params), _token(request))
        link = {"Link": f"</dataExtracts/userData?{following}>; rel=next"} if following else {}
        return _told(told, headers=link)

    async def events(self, request: Request) -> Response:
        return _told(yodlee.events(self.world, dict(request.query_params)))

    async def accounts(self, request: Request) -> Response:
        return _told(fdx.accounts(self.world, request.path_params["customer"], _token(request)))

    async def transactions(self, request: Request) -> Response:
        return _told(fdx.transactions(self.world, request.path_params["account"], dict(request.query_params)))

    def guarded(self, serve: Serve) -> Serve:
        """Serve under the weather: latency, rate limit, errors."""

        async def guard(request: Request) -> Response:
            self.world.count("calls")
            await asyncio.sleep(self.world.weather.latency_seconds)
            if (wait := self.bucket.take()) > 0:
                self.bucket.give_back()
                self.world.count("429")
                return _told({"error_code": "RATE_LIMIT"}, 429, {"Retry-After": f"{wait:.2f}"})
            if self.world.fails():
                self.world.count("500")
                return _told({"error_code": "INTERNAL_SERVER_ERROR"}, 500)
            try:
                return await serve(request)
            except (plaid.PlaidError, yodlee.YodleeError, fdx.FdxError) as error:
                return _told({"error_code": str(error), "error_message": str(error)}, error.status)

        return guard


def _token(request: Request) -> str:
    return request.headers.get("authorization", "")


def _told(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:  # noqa: ANN401 - JSON
    """Answer in JSON with each amount exactly as the ledger has it."""
    return Response(simplejson.dumps(value, use_decimal=True), status, headers, "application/json")


@contextmanager
def served(application: Starlette, port: int) -> Iterator[str]:
    """Serve an application from a thread of this process for as long as the block lasts; yield its address."""
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, name=f"http-{port}", daemon=True)
    thread.start()
    deadline = time.monotonic() + STARTED_WITHIN_SECONDS
    while not server.started:
        if time.monotonic() > deadline or not thread.is_alive():
            raise RuntimeError(f"The HTTP server on port {port} did not start.")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(STARTED_WITHIN_SECONDS)
