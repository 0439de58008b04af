"""The brokers of a cluster, and the features that it supports.

`kafka-broker-api-versions`, `kafka-cluster list-endpoints`, `kafka-metadata-quorum describe --status`,
`kafka-features`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    decoded_lines,
    head_line_matches,
    single_event,
)
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


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    for number, line in decoded_lines(blocks):
        if match := BROKER.match(line):
            host, port, node, rack, fenced, controller, version = match.groups()
            labels = {"id": node, "host": host, "port": port, "rack": _known(rack), "fenced": fenced}
            yield single_event(v.BROKER_SEEN, number, line, None, **labels, controller=controller, version=version)
        elif match := ENDPOINT.match(line):
            node, host, port, rack, state, _ = match.groups()
            labels = {"id": node, "host": host, "port": port, "rack": _known(rack)}
            yield single_event(
                v.BROKER_SEEN, number, line, None, **labels, fenced=str(state == "fenced").lower() if state else None
            )
        elif match := LEADER.match(line):
            yield single_event(v.BROKER_SEEN, number, line, None, id=match[1], controller="true")
        elif match := CLUSTER.match(line):
            yield single_event(v.SETTING, number, line, None, **CLUSTER_ID, value=match[1] or match[2])
        elif match := FEATURE.match(line):
            name, _, newest, level = match.groups()
            yield single_event(v.SETTING, number, line, None, key=name, value=level, owner="feature", supported=newest)


def _known(rack: str) -> str | None:
    return None if rack in {"null", "-"} else rack


SOURCE = Source(
    "kafka_cluster",
    "Kafka cluster",
    "state",
    parser=OutputParser(
        matches=head_line_matches(
            r"\S+:\d+ \(id: \d+ rack: |ID +HOST +PORT +RACK|ClusterId: +\S+|Cluster ID: \S+|"
            r"Feature: \S+\s+SupportedMinVersion:"
        ),
        parse=_parse,
        event_names=frozenset({v.BROKER_SEEN, v.SETTING}),
    ),
)
