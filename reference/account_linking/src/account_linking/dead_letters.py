"""Makes dead letters: a record that can never succeed, with its place and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from account_linking.errors import AccountLinkingError
from account_linking.requester.worker import Outgoing
from account_linking.topics import DEAD_LETTERS

if TYPE_CHECKING:
    from account_linking.kafka_event import KafkaRecord

MAX_REASON_CHARACTERS = 500
"""Maximum of the header `reason`: with the largest webhook it stays below the broker's limit of 1 MB a record."""


def dead_letter(record: KafkaRecord, error: Exception) -> Outgoing:
    """Return the record as a dead letter. An unexpected error is named by its type: its text may quote the content."""
    reason = f"{type(error).__name__}: {error}" if isinstance(error, AccountLinkingError) else type(error).__name__
    kafka_position = f"{record.topic}-{record.partition}-{record.offset}"
    headers = (("from", kafka_position.encode()), ("reason", reason[:MAX_REASON_CHARACTERS].encode(errors="replace")))
    return Outgoing(topic=DEAD_LETTERS, key=kafka_position, value=record.value, headers=headers)
