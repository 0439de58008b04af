"""What clouds do to hosts: live migrations, terminations, restarts, failures, and the notices of them.

`gcloud logging read` of the system events of Compute Engine (a list, or a line each), its metadata value
`maintenance-event`; `aws ec2 describe-instance-status`, AWS's metadata `events/maintenance`; Azure's scheduled events.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.places import Places, whole
from leadsman.telemetry.reading import A_FEW_REMARKS, Facts, Reading
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.reading import About

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
"""What each cloud calls it, and what it does to a host. Azure's Freeze and Redeploy are its kinds of live migration."""


def tells(head: bytes) -> bool:
    """Whether a document begins as one of these."""
    if any(begins.match(head) for begins in (STATUSES, SCHEDULED, METADATA, WORD)):
        return True
    return bool(AUDIT.match(head)) and all(word in head for word in AUDIT_WORDS)


def facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Read whichever it is."""
    text = whole(blocks)
    places = Places(text)
    for told in _documents(text):
        for event, sought in _events(told, about):
            line, quote = places.of(sought)
            yield _fact(event, line, quote)


def _fact(event: dict[str, Any], line: int, quote: str) -> Facts:
    at, value = event.pop("at"), event.pop("value", None)
    return Facts(
        name=v.HOST_MAINTENANCE,
        lines=(line,),
        texts=(quote,),
        values=(value,),
        labels={name: (text,) for name, text in event.items() if text},
        at=None if at is None else (at,),
    )


def _documents(text: str) -> Iterator[Any]:
    """Yield the document, or each of the lines where a line is one; the bare word of Google's metadata as itself."""
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


def _events(told: Any, about: About) -> Iterator[tuple[dict[str, Any], str]]:  # noqa: ANN401 - whatever the JSON holds
    """Yield events, each with the value by which its line is found."""
    if isinstance(told, str):
        yield from _word(told, about)
        return
    for each in told if isinstance(told, list) else [told]:
        if "protoPayload" in each:
            yield from _google(each)
        elif "DocumentIncarnation" in each:
            yield from _azure(each)
        elif "InstanceStatuses" in each:
            yield from _amazon(each)
        elif "Code" in each:
            yield _amazon_event(each, about.subject), each["Code"]


def _word(told: str, about: About) -> Iterator[tuple[dict[str, Any], str]]:
    if told in ACTIONS:
        yield {"at": about.at, "host": about.subject, "provider": "google", "action": ACTIONS[told]}, told


def _google(entry: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    payload = entry["protoPayload"]
    method = str(payload.get("methodName"))
    if method in ACTIONS:
        host = str(payload.get("resourceName") or "").rpartition("/")[2]
        at = _time(entry.get("timestamp"))
        yield {"at": at, "host": host, "provider": "google", "action": ACTIONS[method]}, method


def _amazon(told: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for status in told["InstanceStatuses"] or []:
        for event in status.get("Events") or []:
            yield _amazon_event(event, status.get("InstanceId")), str(event.get("Code"))


def _amazon_event(event: dict[str, Any], host: str | None) -> dict[str, Any]:
    code = str(event.get("Code"))
    return {
        "at": _time(event.get("NotBefore")),
        "host": host,
        "provider": "aws",
        "action": ACTIONS.get(code, "notice"),
    }


def _azure(told: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for event in told.get("Events") or []:
        lasts = event.get("DurationInSeconds")
        for host in event.get("Resources") or [None]:
            yield (
                {
                    "at": _time(event.get("NotBefore")),
                    "value": float(lasts) if isinstance(lasts, int | float) and lasts >= 0 else None,
                    "host": host,
                    "provider": "azure",
                    "action": ACTIONS.get(str(event.get("EventType")), "notice"),
                },
                str(event.get("EventType")),
            )


def _time(text: Any) -> int | None:  # noqa: ANN401 - whatever the JSON holds
    """Return milliseconds since 1970 of an ISO time or one of mail; None where it is neither, as of what has begun."""
    try:
        read = datetime.fromisoformat(str(text))
    except ValueError:
        try:
            read = parsedate_to_datetime(str(text))
        except ValueError:
            return None
    known = read if read.tzinfo else read.replace(tzinfo=UTC)
    return int(known.timestamp() * 1000)


SOURCE = Source(
    "maintenance",
    "Maintenance of hosts",
    "state",
    reading=Reading(tells=tells, facts=facts, reports=frozenset({v.HOST_MAINTENANCE}), remarks=A_FEW_REMARKS),
)
