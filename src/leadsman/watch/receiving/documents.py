"""Splits what is delivered into events, each with an identity: a repeated delivery is the same event.

Alertmanager repeats what still fires, AWS and Google deliver at least once, and Azure's scheduled events are a list
that is posted again and again. So an identity is made of what the sender calls the event, and not of the delivery.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from leadsman.notify.kinds.alertmanager import ALERT_NAME
from leadsman.telemetry.source import output_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_EVENTS = 1000
"""In one delivery. Alertmanager's groups are smaller, and a cloud sends one at a time."""

KNOWN = (
    "Known are the webhook of Alertmanager, AWS Health and EC2 events of EventBridge, system events of Google Cloud's "
    "audit log (also pushed by Pub/Sub), and Azure's scheduled events"
)


class RefusedDocument(Exception):
    """The delivery cannot be used; `str()` of the error is the reason."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """One event: the kind of its sender, what identifies it, and its document."""

    kind: str
    identity: str
    document: Any

    @property
    def digest(self) -> str:
        """The identity as a name of a file."""
        return blake2b(f"{self.kind}\0{self.identity}".encode(), digest_size=12).hexdigest()

    @property
    def content(self) -> bytes:
        """The document as it is kept: a value on each line, so that a quote of the line is short."""
        return (json.dumps(self.document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def received_events(body: bytes) -> list[ReceivedEvent]:
    """Return the events of a delivery, without those of other things than hosts and alerts.

    Raises RefusedDocument where it is no JSON, or nothing in it is of a known sender.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedDocument("The body is no JSON document.") from error
    try:
        found = list(_split(document))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise RefusedDocument(f"The document lacks what its sender writes: {error!r}.") from error
    if len(found) > MAX_EVENTS:
        raise RefusedDocument(f"The document has {len(found)} events; {MAX_EVENTS} are taken at most.")
    known = [each for each in found if output_source(each.content) is not None]
    if found and not known:
        raise RefusedDocument(f"The document is of no known sender. {KNOWN}.")
    return known


def _split(document: Any) -> Iterator[ReceivedEvent]:  # noqa: ANN401 - whatever the JSON holds
    if isinstance(document, list):
        for each in document:
            yield from _split(each)
        return
    keys = document.keys() if isinstance(document, dict) else set()
    split = next((split for needed, split in SENDERS if keys >= needed), None)
    if split is None:
        raise RefusedDocument(f"The document is of no known sender. {KNOWN}.")
    yield from split(document)


def _alerts(document: dict[str, Any]) -> Iterator[ReceivedEvent]:
    """Yield the alerts, without those that a watch sent itself."""
    around = {name: value for name, value in document.items() if name not in {"alerts", "truncatedAlerts"}}
    for alert in document["alerts"]:
        if alert["labels"]["alertname"] == ALERT_NAME:
            continue
        status = alert["status"]
        when = alert["startsAt"] if status == "firing" else f"{alert['startsAt']} {alert['endsAt']}"
        identity = f"{_labels(alert['labels'])} {status} {when}"
        yield ReceivedEvent("alertmanager", identity, {**around, "alerts": [alert]})


def _labels(labels: dict[str, Any]) -> str:
    return json.dumps(labels, sort_keys=True)


def _scheduled(document: dict[str, Any]) -> Iterator[ReceivedEvent]:
    """Yield Azure's events one by one: its list has another number each time that any of them changes."""
    for event in document["Events"] or []:
        identity = f"{event['EventId']} {event.get('EventStatus')} {event.get('NotBefore')}"
        yield ReceivedEvent("azure", identity, {"DocumentIncarnation": 1, "Events": [event]})


def _amazon(document: dict[str, Any]) -> Iterator[ReceivedEvent]:
    yield ReceivedEvent("aws", str(document["id"]), document)


def _google(document: dict[str, Any]) -> Iterator[ReceivedEvent]:
    yield ReceivedEvent("google", f"{document['insertId']} {document.get('timestamp')}", document)


def _pushed(document: dict[str, Any]) -> Iterator[ReceivedEvent]:
    """Yield what Pub/Sub pushes: a log entry, in Base64."""
    try:
        entry = json.loads(base64.b64decode(document["message"]["data"], validate=True))
    except (binascii.Error, ValueError) as error:
        raise RefusedDocument("The data of the Pub/Sub message is no JSON in Base64.") from error
    yield from _split(entry)


SENDERS: tuple[tuple[frozenset[str], Callable[[dict[str, Any]], Iterator[ReceivedEvent]]], ...] = (
    (frozenset({"alerts", "groupKey"}), _alerts),
    (frozenset({"DocumentIncarnation"}), _scheduled),
    (frozenset({"detail-type"}), _amazon),
    (frozenset({"protoPayload"}), _google),
    (frozenset({"message", "subscription"}), _pushed),
)
"""By the keys that only this sender's documents have."""
