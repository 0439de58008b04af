"""The event that AWS Lambda passes to a function that is mapped to a Kafka topic."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from account_linking.errors import Poison

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One Kafka record of an invocation."""

    topic: str
    partition: int
    offset: int
    value: bytes
    headers: Mapping[str, str]


def parse_records(event: Mapping[str, Any]) -> list[Record]:
    """Return the records of an event in order; Poison if the event is no batch of Kafka records."""
    try:
        return [_record(each) for batch in event["records"].values() for each in batch]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Poison(f"The event is no batch of Kafka records: {error!r}.") from error


def _record(each: Mapping[str, Any]) -> Record:
    headers = {name: bytes(value).decode() for header in each.get("headers", ()) for name, value in header.items()}
    return Record(
        topic=each["topic"],
        partition=each["partition"],
        offset=each["offset"],
        value=base64.b64decode(each.get("value") or ""),
        headers=headers,
    )


def make_event(records: list[Record]) -> dict[str, Any]:
    """Return the event that AWS would make of these records; for tests and the emulator."""
    batches: dict[str, list[dict[str, Any]]] = {}
    for each in records:
        fields = {
            "topic": each.topic,
            "partition": each.partition,
            "offset": each.offset,
            "value": base64.b64encode(each.value).decode(),
            "headers": [{name: list(value.encode())} for name, value in each.headers.items()],
        }
        batches.setdefault(f"{each.topic}-{each.partition}", []).append(fields)
    return {"eventSource": "SelfManagedKafka", "records": batches}
