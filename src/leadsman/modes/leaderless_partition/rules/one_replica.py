"""Topics with one replica, on a cluster of several brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leadsman.gate.documents.interpreter import TOPICS_OF_CONNECT
from leadsman.gate.facts import Facts, Match
from leadsman.gate.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "replication.factor",
    *TOPICS_OF_CONNECT,
)


def _find(facts: Facts) -> Iterator[Match]:
    seen: set[tuple[str, str, str]] = set()
    for client in facts.clients:
        for name in FACTORS if client.is_kind("broker", "topic", "connect") else ():
            several = facts.is_cluster or (client.brokers or 1) > 1  # one broker can hold one replica only
            if client.number(name) == 1 and several:
                place = (client.cluster, client.name if client.is_kind("topic") else "", name)
                if place in seen:
                    continue  # the same setting of another broker of the cluster
                seen.add(place)
                setting = client.settings[name]
                among = f" on {client.brokers} brokers" if client.brokers else ""
                message = f"{setting.written}=1{among}: these partitions have no leader without their one broker"
                yield Match(span=setting.span, message=message)


RULE = Rule(
    title="One replica on several brokers",
    why="A partition with one replica has no leader while its broker is unavailable: its records cannot"
    " be read or written, and"
    " for the offsets topic no group on it can commit.",
    fix="A replication factor of 3 where there are three brokers or more, and min.insync.replicas=2.",
    find=_find,
)
