"""Calls a provider's API: under its rate limit, again after what passes, and never beyond the invocation's deadline."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx

from account_linking.errors import TryLater
from account_linking.providers.model import Answer
from leadsman.clients import ExpiringProvider, Policy, Retire

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from account_linking.requester.limits import Bucket

TOO_MANY = 429
BROKEN = 500

RETRY_SECONDS = 0.2
"""The first pause after an outage; each next one is twice as long."""

ANSWER_SECONDS = 10.0
"""How long one call may take, where the deadline leaves so much."""

QUIET = timedelta(seconds=60)
"""HTTP servers and what is before them drop idle connections after 60 s or more; the worker may have been frozen."""


def http_sessions() -> ExpiringProvider[httpx.Client]:
    """Return the process's HTTP client, replaced when its connections could be dead."""
    return ExpiringProvider(
        httpx.Client,
        lambda client, _within: client.close(),
        policy=Policy(max_idle=QUIET, retire=Retire.INLINE),
        name="http",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpApi:
    """One provider's API for one invocation. `deadline` is by `now`, in seconds."""

    base: str
    sessions: ExpiringProvider[httpx.Client]
    bucket: Bucket
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
    ) -> Answer:
        """Return the answer. Rate limits and outages are waited for, then TryLater."""
        pause = RETRY_SECONDS
        while True:
            self._wait(self.bucket.take(), "its rate limit")
            answer = self._once(method, path, params=params, json=json, headers=headers)
            if answer.status == TOO_MANY:
                self.bucket.pause(_retry_after(answer))
            elif answer.status >= BROKEN:
                self._wait(pause, f"an answer other than {answer.status}")
                pause *= 2
            else:
                return answer

    def _once(self, method: str, path: str, **asked: Any) -> Answer:  # noqa: ANN401 - what httpx takes
        left = self.deadline - self.now()
        try:
            with self.sessions.lease() as client:
                told = client.request(method, self.base + path, timeout=max(0.1, min(left, ANSWER_SECONDS)), **asked)
        except httpx.HTTPError as error:
            return Answer(BROKEN, repr(error).encode())
        return Answer(told.status_code, told.content, dict(told.headers))

    def _wait(self, seconds: float, what: str) -> None:
        if self.now() + seconds >= self.deadline:
            raise TryLater(f"{self.base}: waiting {seconds:.1f} s for {what} would be too late for this invocation.")
        if seconds:
            self.sleep(seconds)


def _retry_after(answer: Answer) -> float:
    """Return the seconds that a 429 asks for; 1 where it says nothing that can be read."""
    try:
        return max(0.0, float(answer.headers.get("retry-after", "1")))
    except ValueError:
        return 1.0
