"""A client keeps idle connections longer than a hop of its path does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.facts import ConfigResource, Facts, Match
from leadsman.gate.rule import Rule
from leadsman_clients import HOPS
from leadsman_clients.network_path import idle_seconds, resolve_path

if TYPE_CHECKING:
    from collections.abc import Iterator

IDLE = "connections.max.idle.ms"

SAFE_SHARE = 0.45
"""Below half of the hop's limit: a client checks its idle connections only from time to time."""


def _find(facts: Facts) -> Iterator[Match]:
    path = resolve_path(sorted(facts.hops))
    hop, limit_ms = path.shortest_hop, path.idle_timeout.total_seconds() * 1000
    for client in facts.resources:
        if client.is_kind("producer", "consumer", "admin", "streams", "client"):
            yield from _longer(client, hop.title, limit_ms)


def _longer(client: ConfigResource, hop: str, limit_ms: float) -> Iterator[Match]:
    setting = client.known(IDLE)
    value = client.number(IDLE)
    if setting is None or value is None or 0 < value < limit_ms:
        return
    kept = "for ever" if value <= 0 else f"for {value / 1000:g} s"
    yield Match(
        span=setting.span,
        message=f"{setting.written}={setting.value} keeps idle connections {kept}; {hop} drops them after"
        f" {limit_ms / 1000:g} s",
        replacement=str(round(SAFE_SHARE * limit_ms)),
        replacement_span=setting.value_span,
    )


RULE = Rule(
    title="A client outlives its own connections",
    why="A hop of the path drops a connection that was idle for too long. The client, which keeps it"
    " longer, sends its next"
    " record on a connection that no longer exists: the record is lost, late or stuck.",
    fix=f"Set {IDLE} to at most 45 % of the shortest hop of the path:"
    f" {round(SAFE_SHARE * 1000 * idle_seconds('broker'))}"
    f" for {HOPS['broker'].title}, {round(SAFE_SHARE * 1000 * idle_seconds('aws_nat'))} behind an AWS NAT gateway.",
    find=_find,
)
