"""The event that AWS Lambda passes to a function that is mapped to a Kafka topic."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from account_linking.errors import Poison

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_JAVA_BYTE = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRecord:
    """One Kafka record of an invocation. Of headers with one name the last counts.

    A header's value is text: bytes that are not UTF-8 are lone surrogates (`surrogateescape`), so that none is lost.
    """

    topic: str
    partition: int
    offset: int
    value: bytes
    headers: Mapping[str, str]


def parse_records(event: Mapping[str, Any]) -> list[KafkaRecord]:
    """Return the records of an event in order; Poison if the event is no batch of Kafka records."""
    try:
        return [_record(each) for batch in event["records"].values() for each in batch]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Poison(f"The event is no batch of Kafka records: {error!r}.") from error


def _record(each: Mapping[str, Any]) -> KafkaRecord:
    headers = {name: _text(value) for header in each.get("headers") or () for name, value in header.items()}
    return KafkaRecord(
        topic=each["topic"],
        partition=each["partition"],
        offset=each["offset"],
        value=base64.b64decode(each.get("value") or ""),
        headers=headers,
    )


def _text(signed: Iterable[int] | None) -> str:
    """Return a header's value. AWS sends it as a list of Java's bytes, -128 to 127."""
    return bytes(each & 0xFF for each in signed or ()).decode(errors="surrogateescape")


def _signed(value: str) -> list[int]:
    """Return a header's value as AWS sends it."""
    return [each - 256 if each > MAX_JAVA_BYTE else each for each in value.encode(errors="surrogateescape")]


def make_event(records: list[KafkaRecord]) -> dict[str, Any]:
    """Return the event that AWS would make of these records; for tests and the emulator."""
    batches: dict[str, list[dict[str, Any]]] = {}
    for each in records:
        fields = {
            "topic": each.topic,
            "partition": each.partition,
            "offset": each.offset,
            "value": base64.b64encode(each.value).decode(),
            "headers": [{name: _signed(value)} for name, value in each.headers.items()],
        }
        batches.setdefault(f"{each.topic}-{each.partition}", []).append(fields)
    return {"eventSource": "SelfManagedKafka", "records": batches}
