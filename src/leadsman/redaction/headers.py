"""Finds secrets in HTTP headers: Authorization in every scheme, cookies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.redaction.values import Line

Span = tuple[int, int]

HINTS = ("authorization", "cookie", "bearer", "basic")

_AUTHORIZATION = re.compile(
    r"(?P<outer>\\*[\"'])?(?:proxy-|http_)?authorization(?P<close>\\*[\"'])?\]?[ \t]*(?:[=:]|,(?=[ \t]*[\"']))[ \t]*"
    r"\[?(?P<quote>\\*[\"'])?\[?[ \t]*",
    re.IGNORECASE | re.ASCII,
)
_SCHEME = re.compile(
    r"(?P<one>bearer|basic|token|api-?key|negotiate|ntlm|splunk|geniekey|kerberos|jwt|key|sso-key|private-token)[ \t]+"
    r"|(?P<many>digest|aws4-hmac-sha\d+|hawk|oauth|sharedkey(?:lite)?|sharedaccesssignature|mac|signature|scram-sha-\d+"
    r"|aws|hmac-sha\d+)[ \t]+",
    re.IGNORECASE | re.ASCII,
)
_WORD = re.compile(r"(?:[\w\-]{1,40}=(?=[\"']))?[\"']?[^\s\"',;}\])&]+")
_RAW = re.compile(r"(?=[^\s\"',;}\])]*\d)[^\s\"',;}\])]{8,}|[^\s\"',;}\])]{20,}")
_UNKNOWN = re.compile(
    r"(?:[A-Za-z][\w.\-]{0,30}=?[ \t]+(?:[A-Za-z][\w\-]{0,20}=[ \t]*)?|[A-Za-z][\w\-]{0,20}=[ \t]*)"
    r"(?P<value>(?=[A-Za-z_~+\-]*\d)(?=[\d_~+\-]*[A-Za-z])[A-Za-z0-9._~+/\-]{16,}=*|[A-Za-z0-9_~+/\-]{32,}=*)(?![\w.:/@])",
    re.ASCII,
)
"""A scheme that no rule knows, with one or two words, before what looks like a credential."""

_NEXT_HEADER = re.compile(r",[ \t]*[A-Z][\w\-]{1,60}=|\][,}]|[}\]]")
_BARE = re.compile(
    r"\b(?:bearer|basic)[ \t]+(?P<value>(?=[A-Za-z+/_~\-.]*\d)[A-Za-z0-9+/=._~\-]{8,}|[A-Za-z0-9+/]{16,}=*)",
    re.IGNORECASE | re.ASCII,
)
_NOT_CREDENTIALS = re.compile(r"HTTP/|[a-z]+[.,:;!?]?$|[A-Z][a-z]+[.,:;!?]?$")

_COOKIE = re.compile(r"cookie\\*[\"']?\]?[ \t]*[=:][ \t]*[\[\"'\\]*(?=[\w.\-$%]{1,100}=)", re.IGNORECASE | re.ASCII)
_PAIR = re.compile(r"[ \t]*(?P<name>[\w.\-$%]{1,100})(?:=(?P<value>[^\s;,\"'\]}\\]*))?(?P<more>;)?")
_ATTRIBUTES = frozenset("path domain expires max-age samesite version priority".split())
_PLAIN = re.compile(r"[A-Za-z]{0,5}|\d{1,3}|\[hidden\]?")


def header_spans(line: Line, lower: str) -> Iterator[Span]:
    """Yield the place of each secret in a header."""
    if "authorization" in lower:
        yield from _authorization(line)
    if "cookie" in lower:
        yield from _cookies(line.text)
    if "bearer" in lower or "basic" in lower:
        for match in _BARE.finditer(line.text):
            if not _NOT_CREDENTIALS.match(match["value"]):
                yield match.start("value"), match.start("value") + len(match["value"].rstrip("."))


def _authorization(line: Line) -> Iterator[Span]:
    text, offset = line.text, 0
    while match := _AUTHORIZATION.search(text, offset):
        offset = match.end()
        scheme = _SCHEME.match(text, offset)
        if scheme is None:
            if unknown := _UNKNOWN.match(text, offset):
                yield unknown.span("value")
                offset = unknown.end()
            elif raw := _RAW.match(text, offset):
                yield raw.span()
                offset = raw.end()
        elif scheme["one"]:
            if word := _WORD.match(text, scheme.end()):
                yield word.span()
                offset = word.end()
        else:
            offset = _end(line, match, scheme.end())
            yield scheme.end(), offset


def _end(line: Line, match: re.Match[str], start: int) -> int:
    """Return where a header of several parameters ends: these have quotes of their own."""
    text = line.text
    quote = match["quote"] or (match["outer"] if not match["close"] else None)
    if quote:
        quotes = re.compile(rf"(?<!\\){re.escape(quote)}(?=[\s,}}\])]|$)").finditer(text, start)
        ends = [each.start() for each in quotes]
        if not ends:
            return len(text)
        return (
            next((end for end in ends if "=" not in text[end + 1 : end + 40]), ends[-1])
            if "'" in quote or "\\" not in text
            else ends[0]
        )
    if line.opens("{", match.start()) and (following := _NEXT_HEADER.search(text, start)):
        return following.start()
    return start + len(text[start:].rstrip())


def _cookies(text: str) -> Iterator[Span]:
    for match in _COOKIE.finditer(text):
        offset = match.end()
        while pair := _PAIR.match(text, offset):
            value = pair["value"]
            if value and pair["name"].lower() not in _ATTRIBUTES and not _PLAIN.fullmatch(value):
                yield pair.span("value")
            offset = pair.end()
            if not pair["more"]:
                break
