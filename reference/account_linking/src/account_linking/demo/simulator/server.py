"""Serves the simulated providers over HTTP."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import simplejson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from account_linking.demo.simulator import fdx, plaid, yodlee
from account_linking.requester.limits import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Iterator

    from account_linking.demo.simulator.banks import SimulatedBanks

STARTED_WITHIN_SECONDS = 20

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def app(banks: SimulatedBanks, signer: plaid.Signer) -> Starlette:
    """Return the ASGI application."""
    rate = banks.faults.calls_per_second
    endpoints = _Endpoints(banks, signer, TokenBucket(rate, burst=max(1.0, rate), now=time.monotonic))
    return Starlette(
        routes=[
            Route("/plaid/transactions/sync", endpoints.with_faults(endpoints.sync), methods=["POST"]),
            Route("/plaid/webhook_verification_key/get", endpoints.with_faults(endpoints.key), methods=["POST"]),
            Route("/yodlee/dataExtracts/userData", endpoints.with_faults(endpoints.user_data)),
            Route("/yodlee/dataExtracts/events", endpoints.with_faults(endpoints.events)),
            Route("/fdx/customers/{customer}/accounts", endpoints.with_faults(endpoints.accounts)),
            Route("/fdx/accounts/{account}/transactions", endpoints.with_faults(endpoints.transactions)),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Endpoints:
    banks: SimulatedBanks
    signer: plaid.Signer
    bucket: TokenBucket

    async def sync(self, request: Request) -> Response:
        return _json_response(plaid.sync(self.banks, await request.json()))

    async def key(self, request: Request) -> Response:
        return _json_response({"key": self.signer.public((await request.json())["key_id"])})

    async def user_data(self, request: Request) -> Response:
        document, next_query = yodlee.user_data(self.banks, dict(request.query_params), _token(request))
        link = {"Link": f"</dataExtracts/userData?{next_query}>; rel=next"} if next_query else {}
        return _json_response(document, headers=link)

    async def events(self, request: Request) -> Response:
        return _json_response(yodlee.events(self.banks, dict(request.query_params)))

    async def accounts(self, request: Request) -> Response:
        return _json_response(fdx.accounts(self.banks, request.path_params["customer"], _token(request)))

    async def transactions(self, request: Request) -> Response:
        return _json_response(fdx.transactions(self.banks, request.path_params["account"], dict(request.query_params)))

    def with_faults(self, endpoint: Endpoint) -> Endpoint:
        """Wrap an endpoint with the injected faults: latency, rate limit, status 500."""

        async def respond(request: Request) -> Response:
            self.banks.count("calls")
            await asyncio.sleep(self.banks.faults.latency_seconds)
            if (wait := self.bucket.take()) > 0:
                self.bucket.give_back()
                seconds = ceil(wait)  # HTTP knows whole seconds (RFC 9110, section 10.2.3)
                self.banks.count_limited(seconds)
                return _json_response({"error_code": "RATE_LIMIT"}, 429, {"Retry-After": str(seconds)})
            if self.banks.next_call_fails():
                self.banks.count("500")
                return _json_response({"error_code": "INTERNAL_SERVER_ERROR"}, 500)
            try:
                return await endpoint(request)
            except (plaid.PlaidError, yodlee.YodleeError, fdx.FdxError) as error:
                return _json_response({"error_code": str(error), "error_message": str(error)}, error.status)

        return respond


def _token(request: Request) -> str:
    return request.headers.get("authorization", "")


def _json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:  # noqa: ANN401 - JSON
    """Return a JSON response with each amount exactly as in the ledger."""
    return Response(simplejson.dumps(value, use_decimal=True), status, headers, "application/json")


@contextmanager
def serve(application: Starlette, port: int) -> Iterator[str]:
    """Serve an application in a thread while the context lasts; yield its URL."""
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
