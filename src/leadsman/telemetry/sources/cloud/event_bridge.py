"""Events of Amazon EventBridge about hosts: AWS Health, states of EC2 instances, interruptions of spot instances.

https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.json_times import milliseconds
from leadsman.telemetry.outputs.json_value_lines import ValueLines, read_document
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

BEGINS = re.compile(rb"[\xef\xbb\xbf\s]*\{")
WORD = b'"detail-type"'
SOURCES = (b'"aws.health"', b'"aws.ec2"')

ACTIONS = (("RETIREMENT", "terminate"), ("_STOP_", "terminate"), ("REBOOT", "restart"), ("LIVE_MIGRATION", "migrate"))
"""By a part of a Health event's type code, such as AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED."""

STATES = {
    "stopping": "terminate",
    "stopped": "terminate",
    "shutting-down": "terminate",
    "terminated": "terminate",
    "running": "restart",
}
INSTANCE = re.compile(r"i-[0-9a-f]{8,17}\Z")


def matches_head(head: bytes) -> bool:
    """Whether a document begins as one of these."""
    return bool(BEGINS.match(head)) and WORD in head and any(source in head for source in SOURCES)


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse one event: of each host that it is about, one event of ours."""
    text = read_document(blocks)
    document = json.loads(text)
    detail = document["detail"]
    found = _health if document["source"] == "aws.health" else _state
    at = milliseconds(detail.get("startTime")) or milliseconds(document.get("time")) or context.at
    for host, action, quoted in found(detail):
        line, quote = ValueLines(text).find(quoted)
        labels = {"host": host, "provider": "aws", "action": action}
        yield EventColumns(
            name=v.HOST_MAINTENANCE,
            lines=(line,),
            texts=(quote,),
            labels={name: (value,) for name, value in labels.items() if value},
            at=(at,),
        )


def _health(detail: dict[str, Any]) -> Iterator[tuple[str | None, str, str]]:
    """Yield host, action and the value by which the line is found, for each affected host; one without a host."""
    code = str(detail["eventTypeCode"])
    entities = [str(each.get("entityValue")) for each in detail.get("affectedEntities") or []]
    hosts = [each for each in entities if INSTANCE.match(each)]
    is_issue = bool(hosts) and detail.get("eventTypeCategory") == "issue"
    action = next((action for part, action in ACTIONS if part in code), "error" if is_issue else "notice")
    for host in hosts:
        yield host, action, host
    if not hosts:
        yield None, "notice", code


def _state(detail: dict[str, Any]) -> Iterator[tuple[str | None, str, str]]:
    host = str(detail["instance-id"])
    word = str(detail.get("state") or detail.get("instance-action") or "")
    action = STATES.get(word, "terminate" if word in {"terminate", "stop", "hibernate"} else "notice")
    if word != "pending":  # it is started, and `running` follows
        yield host, action, host


SOURCE = Source(
    "event_bridge",
    "Events of Amazon EventBridge",
    "state",
    parser=OutputParser(matches=matches_head, parse=parse, event_names=frozenset({v.HOST_MAINTENANCE})),
)
