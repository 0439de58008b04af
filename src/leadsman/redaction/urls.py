"""Finds passwords and tokens in the user part of URLs and of database addresses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman.redaction.harmless import MASK, is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]

HINTS = ("@", "%3a%2f%2f")

_REST = re.compile(r"[^\s\"'<>`\\]*")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]{2,60}\]|[\w.\-%]+)(?=[:/?#,;)\]}&|]|$)|$", re.ASCII)
_PORT = re.compile(r"\d{1,5}(?:[/?#,]|$)")
_TOKEN = re.compile(r"(?=[A-Za-z_\-]*\d)[\w\-.]{16,}|[\w\-]{24,}", re.ASCII)
_NO_PASSWORDS = ("", "x", "x-oauth-basic")
"""What stands in place of a password after a token."""

SHORT_PASSWORD = 16
"""Characters of a password below which a long user before it is taken for a token."""

_ENCODED = re.compile(
    r"%3a%2f%2f[^\s%/@:\"']{0,100}%3a(?P<value>(?:(?!%(?:40|2f|3f|23))[^\s\"'<>&]){1,300})%40", re.IGNORECASE
)
"""`https%3A%2F%2Fuser%3Apassword%40host`: an address that is a parameter of another one."""

_WITHOUT_SCHEME = re.compile(r"(?:(?<=[\s\"'=])|^)//(?=[^\s/@:]{1,60}:[^\s/@]{1,200}@)")
_DATABASE = re.compile(r"(?<![\w/])[\w.\-]{1,60}:(?P<value>[^\s@:/]{1,200})@(?:tcp|unix)\(")
_ORACLE = re.compile(
    r"(?:(?<=[\s:=\"'(])|^)[A-Za-z][\w$#]{0,60}/(?P<value>[^\s@/\"']{1,120})@(?://)?(?P<service>[\w.\-(]+)"
)
_OF_ORACLE = ("oracle", "ora-", "sqlplus", "tns", "conn", "orcl", "userid", "rman", "login", "dsn", "xepdb")
_NOT_ORACLE = re.compile(r"v?\d+(?:\.\d+)*$|sha256|[A-Z][A-Z0-9.\-]*\.[A-Z]+$|[\w\-]+\.(?:com|org|net|io)$")


def url_spans(text: str, lower: str) -> Iterator[Span]:
    """Yield the place of each secret in the user part of an address."""
    if "%3a%2f%2f" in lower:
        yield from (match.span("value") for match in _ENCODED.finditer(text) if not is_placeholder(match["value"]))
    if "@" not in text:
        return
    for match in _WITHOUT_SCHEME.finditer(text) if "//" in text else ():
        yield from _user_part(text, match.end())
    offset = 0
    while (offset := text.find("://", offset)) >= 0:
        offset += 3
        yield from _user_part(text, offset)
    if "@tcp(" in lower or "@unix(" in lower:
        yield from (match.span("value") for match in _DATABASE.finditer(text) if not is_placeholder(match["value"]))
    if "/" in text and any(word in lower for word in _OF_ORACLE):
        yield from _of_oracle(text)


def _of_oracle(text: str) -> Iterator[Span]:
    for match in _ORACLE.finditer(text):
        if not (_NOT_ORACLE.match(match["service"]) or is_placeholder(match["value"])):
            yield match.span("value")


def _user_part(text: str, start: int) -> Iterator[Span]:
    rest = _REST.match(text, start)
    assert rest is not None
    stop = text.find("://", start, rest.end())
    end = _user_end(text, start, rest.end() if stop < 0 else stop)
    if end is None:
        return
    colon = text.find(":", start, end)
    if colon < 0:
        if _TOKEN.fullmatch(text, start, end):
            yield start, end
        return
    has_port = _PORT.match(text, colon + 1, end) and not text[colon + 1 : end].isdigit()
    if has_port or "/" in text[start:colon]:
        return
    is_token = _TOKEN.fullmatch(text, start, colon) and len(text[colon + 1 : end]) < SHORT_PASSWORD
    if is_token:
        yield start, colon
    if (is_token or text[start:colon] == MASK) and text[colon + 1 : end] in _NO_PASSWORDS:
        return
    if colon + 1 < end and not is_placeholder(text[colon + 1 : end]):
        yield colon + 1, end


def _user_end(text: str, start: int, stop: int) -> int | None:
    """Return the place of the @ that ends the user part; a password can hold slashes and other @."""
    found = None
    query = min((offset for mark in "?#" if (offset := text.find(mark, start, stop)) >= 0), default=stop)
    offset = text.find("@", start, stop)
    while offset >= 0:
        before_query = offset < query or found is None
        if before_query and text[offset - 1] != "/" and _HOST.match(text, offset + 1, stop):
            slash = text.find("/", start, offset)
            if slash < 0 or ":" in text[start:slash]:
                found = offset
        elif offset > query and found is not None:
            break
        offset = text.find("@", offset + 1, stop)
    return found
