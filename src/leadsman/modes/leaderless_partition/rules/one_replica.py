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
    for resource in facts.resources:
        for name in FACTORS if resource.is_kind("broker", "topic", "connect") else ():
            several = facts.is_cluster or (resource.brokers or 1) > 1  # one broker can hold one replica only
            if resource.number(name) == 1 and several:
                key = (resource.cluster, resource.name if resource.is_kind("topic") else "", name)
                if key in seen:
                    continue  # the same setting of another broker of the cluster
                seen.add(key)
                setting = resource.settings[name]
                among = f" on {resource.brokers} brokers" if resource.brokers else ""
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
