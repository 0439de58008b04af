"""Which brokers there are, and what the cluster supports.

`kafka-broker-api-versions`, `kafka-cluster list-endpoints`, `kafka-metadata-quorum describe --status`,
`kafka-features`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import About, Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import CLUSTER_ID, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Our own collector adds `controller: true version: 4.3` behind what the tool prints.
BROKER = re.compile(
    r"(\S+):(\d+) \(id: (\d+) rack: (\S+?)(?: isFenced: (\w+))?(?: controller: (\w+))?(?: version: (\S+?))?\) -> "
)
ENDPOINT = re.compile(r"(\d+) +(\S+) +(\d+) +(\S+) +(?:(\S+) +)?(broker|controller)\s*$")
LEADER = re.compile(r"LeaderId: +(\d+)")
CLUSTER = re.compile(r"ClusterId: +(\S+)|Cluster ID: (\S+)")
FEATURE = re.compile(
    r"Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)\s+FinalizedVersionLevel: (\S+)"
)


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    for number, line in decoded_lines(blocks):
        if found := BROKER.match(line):
            host, port, node, rack, fenced, controller, version = found.groups()
            told = {"id": node, "host": host, "port": port, "rack": _known(rack), "fenced": fenced}
            yield fact(v.BROKER_SEEN, number, line, None, **told, controller=controller, version=version)
        elif found := ENDPOINT.match(line):
            node, host, port, rack, state, _ = found.groups()
            told = {"id": node, "host": host, "port": port, "rack": _known(rack)}
            yield fact(
                v.BROKER_SEEN, number, line, None, **told, fenced=str(state == "fenced").lower() if state else None
            )
        elif found := LEADER.match(line):
            yield fact(v.BROKER_SEEN, number, line, None, id=found[1], controller="true")
        elif found := CLUSTER.match(line):
            yield fact(v.SETTING, number, line, None, **CLUSTER_ID, value=found[1] or found[2])
        elif found := FEATURE.match(line):
            name, _, newest, level = found.groups()
            yield fact(v.SETTING, number, line, None, key=name, value=level, owner="feature", supported=newest)


def _known(rack: str) -> str | None:
    return None if rack in {"null", "-"} else rack


SOURCE = Source(
    "kafka_cluster",
    "Kafka cluster",
    "state",
    reading=Reading(
        tells=told_by(
            r"\S+:\d+ \(id: \d+ rack: |ID +HOST +PORT +RACK|ClusterId: +\S+|Cluster ID: \S+|"
            r"Feature: \S+\s+SupportedMinVersion:"
        ),
        facts=_facts,
        reports=frozenset({v.BROKER_SEEN, v.SETTING}),
    ),
)
