"""One HTTP request of a notification: no redirects, a bounded answer, a deadline, and errors without secrets."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http.client import HTTPException, HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, build_opener

from leadsman import __version__
from leadsman.errors import NotificationFailed
from leadsman.redaction import MASK, mask
from leadsman.redirects import NoRedirects
from leadsman.report.text.escaping import escape_control_characters
from leadsman.waiting import items_within

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.notify.destination import Destination

ATTEMPT_SECONDS = 8
"""Of one request's silence: three attempts and their pauses then fit into the 30 s of all. Slack promises 3 s."""

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Of an answer: 30 issues of GitHub with bodies of 65,536 characters are half of it."""

CHUNK_BYTES = 65_536
MAX_REASON_CHARACTERS = 200
MIN_SECRET_CHARACTERS = 4

TOO_MANY_REQUESTS, FIRST_SERVER_ERROR, REQUEST_TIMEOUT = 429, 500, 408


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The response of a server: its status and body."""

    status: int
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - JSON
        """Return the body as JSON. NotificationFailed where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise NotificationFailed("the answer is no JSON", is_final=True) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Requests to one destination until `deadline`, a time of the monotonic clock."""

    destination: Destination
    deadline: float

    def get(self, url: str, headers: Mapping[str, str]) -> Response:
        """Return the response to GET."""
        return self._send(Request(url, headers=self._headers(headers)))  # noqa: S310 - http and https alone

    def post(self, url: str, body: object, headers: Mapping[str, str] | None = None) -> Response:
        """Return the response to POST of JSON."""
        return self._send(self._request("POST", url, body, headers=headers))

    def patch(self, url: str, body: object, headers: Mapping[str, str] | None = None) -> Response:
        """Return the response to PATCH of JSON."""
        return self._send(self._request("PATCH", url, body, headers=headers))

    def _request(self, method: str, url: str, body: object, *, headers: Mapping[str, str] | None) -> Request:
        data = json.dumps(body).encode()
        all_headers = self._headers({"Content-Type": "application/json", **(headers or {})})
        return Request(url, data=data, headers=all_headers, method=method)  # noqa: S310 - http and https alone

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"User-Agent": f"leadsman/{__version__}", "Accept": "application/json", **headers}

    def _send(self, request: Request) -> Response:
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise NotificationFailed("the time for notifications is over", is_final=True)
        responses = partial(self._responses, request, min(ATTEMPT_SECONDS, remaining))
        try:
            (response,) = items_within(responses, timeout=timedelta(seconds=remaining))
        except TimeoutError:
            raise NotificationFailed("the answer takes too long", is_final=True) from None
        return response

    def _responses(self, request: Request, silence_seconds: float) -> list[Response]:
        """Return the one response. NotificationFailed where there is none, or one that refuses."""
        try:
            with build_opener(NoRedirects).open(request, timeout=silence_seconds) as response:
                return [Response(status=response.status, body=self._read(response))]
        except HTTPError as error:
            with error:
                raise self._refused(error) from None
        except (OSError, HTTPException, ValueError) as error:
            raise NotificationFailed(_reason(error), is_final=False) from None  # the error's text can hold the URL

    def _read(self, response: HTTPResponse) -> bytes:
        """Return the body as far as it is needed: a longer one is no answer of these interfaces."""
        body = b""
        while len(body) < MAX_BODY_BYTES and (chunk := response.read1(CHUNK_BYTES)):
            body += chunk
            if time.monotonic() > self.deadline:
                raise NotificationFailed("the answer takes too long", is_final=True)
        return body[:MAX_BODY_BYTES]

    def _refused(self, error: HTTPError) -> NotificationFailed:
        status = error.code
        if status in range(300, 400):
            return NotificationFailed(f"HTTP {status}, a redirect: give the new URL", is_final=True)
        is_final = status < FIRST_SERVER_ERROR and status not in {TOO_MANY_REQUESTS, REQUEST_TIMEOUT}
        failed = NotificationFailed(f"HTTP {status}{self._explanation(error)}", is_final=is_final, status=status)
        pause = error.headers.get("Retry-After", "")
        failed.retry_after_seconds = float(pause) if pause.isdecimal() else 0.0
        return failed

    def _explanation(self, error: HTTPError) -> str:
        """Return the beginning of an error's body, without anything secret."""
        try:
            text = error.read(CHUNK_BYTES).decode(errors="replace").strip()
        except (OSError, HTTPException, ValueError):
            return ""
        for secret in sorted(self.destination.secrets(), key=len, reverse=True):
            if len(secret) >= MIN_SECRET_CHARACTERS:
                text = text.replace(secret, MASK)
        safe = escape_control_characters(" ".join(mask(text).split()))
        return f": {safe[:MAX_REASON_CHARACTERS]}" if safe else ""


def _reason(error: Exception) -> str:
    """Return why there is no answer, in words of our own: texts of exceptions can hold the URL or a header."""
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    match cause:
        case TimeoutError():
            return "no answer in time"
        case socket.gaierror():
            return "the host's name cannot be resolved"
        case ssl.SSLError():
            return f"TLS: {cause.reason or 'failed'}"
        case OSError() if cause.strerror:
            return cause.strerror
    return type(cause).__name__


def basic(user: str, password: str) -> dict[str, str]:
    """Return the header of HTTP's basic authentication; none without a user."""
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {token}"} if user else {}
