"""Where a notification goes: one `KIND=URL`, its credentials apart from the URL, so that no message can show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from leadsman.errors import UsageError

if TYPE_CHECKING:
    from leadsman.notify.kind import NotificationKind

FIRST_PRINTABLE = " "


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """One receiver. `url` has no credentials; `user` and `password` stood before its @, decoded. `name` is for people.

    The path of a URL is a secret for some kinds (a Slack webhook is nothing else), so `name` ends at the host.
    """

    kind: str
    name: str
    url: str = field(repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def base(self) -> str:
        """The URL without query and final slash."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")).rstrip("/")

    def parameter(self, name: str, default: str = "") -> str:
        """Return a parameter of the URL's query."""
        return parse_qs(urlsplit(self.url).query).get(name, [default])[0]

    def secrets(self) -> list[str]:
        """Return the texts that no output may hold: credentials, and path and query as far as they are long."""
        parts = urlsplit(self.url)
        return [each for each in (self.password, self.user, parts.query, parts.path.strip("/")) if each]


def parse_destination(kind: NotificationKind, name: str, url: str) -> Destination:
    """Return the destination of a URL. UsageError, without the URL, where it has no scheme, host or credentials."""
    example = f"Write it as {name}={kind.example}"
    if any(character <= FIRST_PRINTABLE or character == "\x7f" for character in unquote(url)):
        raise UsageError(f"--notify {name}: the URL holds a space or a control character. {example}")
    if kind.is_opaque:
        scheme = url.partition("://")[0]
        if scheme == url:
            raise UsageError(f"--notify {name}: the URL has no scheme. {example}")
        return Destination(kind=name, name=f"{name} ({scheme})", url=url)
    return _parsed(kind, name, url, example=example)


def _parsed(kind: NotificationKind, name: str, url: str, *, example: str) -> Destination:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--notify {name}: the host or port of the URL cannot be read. {example}") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"--notify {name} takes an http or https URL. {example}")
    if kind.needs_credentials and not parts.username:
        raise UsageError(f"--notify {name}: the URL has no credentials before its @. {example}")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = f"{host}:{port}" if port else host
    destination = Destination(
        kind=name,
        name=f"{name} at {parts.scheme}://{netloc}",
        url=urlunsplit((parts.scheme, netloc, parts.path, parts.query, "")),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )
    if kind.lacks(destination):
        raise UsageError(f"--notify {name}: the URL is incomplete. {example}")
    return destination
