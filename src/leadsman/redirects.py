"""HTTP without redirects: a redirect would carry a message, and with it the credentials, to another host."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING
from urllib.request import HTTPRedirectHandler, Request

if TYPE_CHECKING:
    from email.message import Message as Headers


class NoRedirects(HTTPRedirectHandler):
    """A handler for urllib that follows no redirect."""

    def redirect_request(  # noqa: PLR0917 - urllib's signature
        self,
        req: Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Headers,
        newurl: str,
    ) -> None:
        """Leave the answer as it is: urllib then raises it as HTTPError."""
