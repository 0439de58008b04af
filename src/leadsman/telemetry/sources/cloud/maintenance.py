"""Maintenance of hosts by clouds: live migrations, terminations, restarts, failures, and notices of them.

`gcloud logging read` of the system events of Compute Engine (a list, or a line each), its metadata value
`maintenance-event`; `aws ec2 describe-instance-status`, AWS's metadata `events/maintenance`; Azure's scheduled events.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.json_times import milliseconds
from leadsman.telemetry.outputs.json_value_lines import ValueLines, read_document
from leadsman.telemetry.outputs.parser import MAX_WARNING_LINES, EventColumns, OutputParser
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import OutputContext

BEGINS = rb"[\xef\xbb\xbf\s]*"
STATUSES = re.compile(BEGINS + rb'\{\s*"InstanceStatuses"\s*:')
SCHEDULED = re.compile(BEGINS + rb'\{\s*"DocumentIncarnation"\s*:')
METADATA = re.compile(BEGINS + rb'\[\s*\{[^\]]{0,600}"Code"\s*:\s*"(?:instance|system)-')
AUDIT = re.compile(BEGINS + rb"[\[{]")
AUDIT_WORDS = (b'"protoPayload"', b'"compute.instances.')
WORD = re.compile(rb"\s*(?:NONE|MIGRATE_ON_HOST_MAINTENANCE|TERMINATE_ON_HOST_MAINTENANCE)\s*\Z")

ACTIONS = {
    "compute.instances.migrateOnHostMaintenance": "migrate",
    "compute.instances.terminateOnHostMaintenance": "terminate",
    "compute.instances.hostError": "error",
    "compute.instances.automaticRestart": "restart",
    "compute.instances.guestTerminate": "terminate",
    "compute.instances.preempted": "terminate",
    "MIGRATE_ON_HOST_MAINTENANCE": "migrate",
    "TERMINATE_ON_HOST_MAINTENANCE": "terminate",
    "instance-reboot": "restart",
    "system-reboot": "restart",
    "instance-stop": "terminate",
    "instance-retirement": "terminate",
    "system-maintenance": "notice",
    "Freeze": "migrate",
    "Reboot": "restart",
    "Redeploy": "migrate",
    "Terminate": "terminate",
    "Preempt": "terminate",
}
"""What each cloud's term does to a host. Azure's Freeze and Redeploy are its kinds of live migration."""


def matches_head(head: bytes) -> bool:
    """Whether a document begins as one of these."""
    if any(begins.match(head) for begins in (STATUSES, SCHEDULED, METADATA, WORD)):
        return True
    return bool(AUDIT.match(head)) and all(word in head for word in AUDIT_WORDS)


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Parse the events of any of these clouds."""
    text = read_document(blocks)
    value_lines = ValueLines(text)
    for document in _documents(text):
        for event, quoted_value in _events(document, context):
            line, quote = value_lines.find(quoted_value)
            yield _as_columns(event, line, quote)


def _as_columns(event: dict[str, Any], line: int, quote: str) -> EventColumns:
    at, value = event.pop("at"), event.pop("value", None)
    return EventColumns(
        name=v.HOST_MAINTENANCE,
        lines=(line,),
        texts=(quote,),
        values=(value,),
        labels={name: (text,) for name, text in event.items() if text},
        at=None if at is None else (at,),
    )


def _documents(text: str) -> Iterator[Any]:
    """Yield the document, or one document per line; the bare word of Google's metadata as a string."""
    if WORD.fullmatch(text.encode()):
        yield text.strip()
        return
    try:
        yield json.loads(text)
    except ValueError:
        yield from (_line(line) for line in text.splitlines() if line.strip())


def _line(text: str) -> Any:  # noqa: ANN401 - whatever the JSON holds
    try:
        return json.loads(text)
    except ValueError as error:
        raise OSError(f"the document breaks off: {error}") from error


def _events(document: Any, context: OutputContext) -> Iterator[tuple[dict[str, Any], str]]:  # noqa: ANN401 - whatever the JSON holds
    """Yield events, each with the value by which its line is found."""
    if isinstance(document, str):
        yield from _google_metadata(document, context)
        return
    for each in document if isinstance(document, list) else [document]:
        if "protoPayload" in each:
            yield from _google(each)
        elif "DocumentIncarnation" in each:
            yield from _azure(each)
        elif "InstanceStatuses" in each:
            yield from _amazon(each)
        elif "Code" in each:
            yield _amazon_event(each, context.subject), each["Code"]


def _google_metadata(word: str, context: OutputContext) -> Iterator[tuple[dict[str, Any], str]]:
    if word in ACTIONS:
        yield {"at": context.at, "host": context.subject, "provider": "google", "action": ACTIONS[word]}, word


def _google(entry: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    payload = entry["protoPayload"]
    method = str(payload.get("methodName"))
    if method in ACTIONS:
        host = str(payload.get("resourceName") or "").rpartition("/")[2]
        at = milliseconds(entry.get("timestamp"))
        yield {"at": at, "host": host, "provider": "google", "action": ACTIONS[method]}, method


def _amazon(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for status in document["InstanceStatuses"] or []:
        for event in status.get("Events") or []:
            yield _amazon_event(event, status.get("InstanceId")), str(event.get("Code"))


def _amazon_event(event: dict[str, Any], host: str | None) -> dict[str, Any]:
    code = str(event.get("Code"))
    return {
        "at": milliseconds(event.get("NotBefore")),
        "host": host,
        "provider": "aws",
        "action": ACTIONS.get(code, "notice"),
    }


def _azure(document: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for event in document.get("Events") or []:
        duration = event.get("DurationInSeconds")
        for host in event.get("Resources") or [None]:
            yield (
                {
                    "at": milliseconds(event.get("NotBefore")),
                    "value": float(duration) if isinstance(duration, int | float) and duration >= 0 else None,
                    "host": host,
                    "provider": "azure",
                    "action": ACTIONS.get(str(event.get("EventType")), "notice"),
                },
                str(event.get("EventType")),
            )


SOURCE = Source(
    "maintenance",
    "Maintenance of hosts",
    "state",
    parser=OutputParser(
        matches=matches_head, parse=parse, event_names=frozenset({v.HOST_MAINTENANCE}), warning_lines=MAX_WARNING_LINES
    ),
)
