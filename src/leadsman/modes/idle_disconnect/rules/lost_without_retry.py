"""A producer without retries loses the first record after an idle disconnect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import ConfigResource, Facts, Match
from leadsman.gate.rule import Rule
from leadsman_clients.network_path import resolve_path

if TYPE_CHECKING:
    from collections.abc import Iterator

IDLE = "connections.max.idle.ms"


def _find(facts: Facts) -> Iterator[Match]:
    limit_ms = resolve_path(sorted(facts.hops)).idle_timeout.total_seconds() * 1000
    for client in facts.resources:
        retries = client.known("retries")
        if not client.is_kind("producer") or retries is None or client.number("retries") != 0:
            continue
        if not _closes_in_time(client, limit_ms) and not _expects_loss(client):
            message = f"{retries.written}={retries.value} loses the first record after an idle disconnect"
            yield Match(span=retries.span, message=message)


def _closes_in_time(client: ConfigResource, limit_ms: float) -> bool:
    """Whether the client closes idle connections itself, or could: an idle limit that is not known is no objection."""
    if IDLE not in client.settings:
        return client.library is not None and client.library.closes_idle
    value = client.number(IDLE)
    return value is None or 0 < value < limit_ms


def _expects_loss(client: ConfigResource) -> bool:
    """Whether the program accepts that records are lost: it waits for no acknowledgement."""
    acks = client.settings.get("acks")
    return acks is not None and acks.value in {"0", None}


RULE = Rule(
    title="A producer without retries",
    why="A request that was sent on a dropped connection fails. Without retries, its record is lost,"
    " although the next attempt"
    " would succeed. The same happens whenever a partition's leader moves.",
    fix="Remove retries=0: the default of every client retries until delivery.timeout.ms. With"
    " enable.idempotence=true retries"
    " make no duplicates.",
    find=_find,
)
