"""Calls a provider's API: keeps to the rate limit, retries outages, and stops before the invocation's deadline."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx

from account_linking.errors import TryLater
from account_linking.providers.model import ApiResponse
from leadsman_clients import ExpiringProvider, Policy, Retirement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from account_linking.requester.limits import TokenBucket

TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500

FIRST_RETRY_SECONDS = 0.2
"""The first pause after an error 5xx; each next pause is twice as long."""

CALL_TIMEOUT_SECONDS = 10.0
"""The timeout of one call; shorter where the deadline is nearer."""

MAX_IDLE = timedelta(seconds=60)
"""HTTP servers and load balancers drop idle connections after 60 s or more; a frozen worker does not notice."""


def http_sessions() -> ExpiringProvider[httpx.Client]:
    """Return the provider of the process's HTTP client; it replaces the client after MAX_IDLE."""
    return ExpiringProvider(
        httpx.Client,
        lambda client, _timeout: client.close(),
        policy=Policy(max_idle=MAX_IDLE, retirement=Retirement.INLINE),
        name="http",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApi:
    """One provider's API for one invocation. `deadline` is in seconds of the clock `now`."""

    base_url: str
    sessions: ExpiringProvider[httpx.Client]
    bucket: TokenBucket
    deadline: float
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = field(default=time.sleep)

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ApiResponse:
        """Return the response. Waits out rate limits and outages; TryLater where the deadline is too near."""
        pause = FIRST_RETRY_SECONDS
        while True:
            self._wait(self.bucket.take(), "the rate limit")
            response = self._call_once(method, path, params=params, json=json, headers=headers)
            if response.status == TOO_MANY_REQUESTS:
                self.bucket.pause(_retry_after(response))
            elif response.status >= SERVER_ERROR:
                self._wait(pause, f"a retry after status {response.status}")
                pause *= 2
            else:
                return response

    def _call_once(self, method: str, path: str, **request: Any) -> ApiResponse:  # noqa: ANN401 - httpx's own arguments
        left = self.deadline - self.now()
        try:
            with self.sessions.lease() as client:
                response = client.request(
                    method, self.base_url + path, timeout=max(0.1, min(left, CALL_TIMEOUT_SECONDS)), **request
                )
        except httpx.HTTPError as error:
            return ApiResponse(SERVER_ERROR, repr(error).encode())
        return ApiResponse(response.status_code, response.content, dict(response.headers))

    def _wait(self, seconds: float, what: str) -> None:
        if self.now() + seconds >= self.deadline:
            raise TryLater(
                f"{self.base_url}: waiting {seconds:.1f} s for {what} would be too late for this invocation's deadline."
            )
        if seconds:
            self.sleep(seconds)


def _retry_after(response: ApiResponse) -> float:
    """Return the seconds of the Retry-After header; 1 s where it is absent or no number."""
    try:
        return max(0.0, float(response.headers.get("retry-after", "1")))
    except ValueError:
        return 1.0
