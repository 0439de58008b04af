"""Producer ids by the thousand: Kafka's own protocol, spoken without a client. Real producers make 100 a second.

InitProducerId and Produce are sent many at a time; measured 6,000 ids a second, 20,000 entries with 16 partitions.
"""

from __future__ import annotations

import socket
import struct
import time
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from leadsman.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Sequence

PRODUCE, INIT_PRODUCER_ID = (0, 7), (22, 0)
"""Requests with versions that all brokers from 2.3 to 4.3 know."""

CLIENT_ID = b"order-events"
IDS_AT_ONCE, BATCHES_AT_ONCE = 200, 50
ANSWER_WITHIN = timedelta(seconds=60)

NO_IDS_YET = (14, 15)
"""A coordinator that still loads or fetches its next block of 1000 ids says so: ask again."""

ALL_REPLICAS, TRANSACTION_MS, TIMEOUT_MS = -1, 60_000, 30_000
VALUE = b"x"


class Wire:
    """One connection to a broker."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), ANSWER_WITHIN.total_seconds())
        self._answers = self._socket.makefile("rb")
        self._asked = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def ids(self, count: int) -> list[int]:
        """Return so many new producer ids."""
        had: list[int] = []
        body = struct.pack(">hi", -1, TRANSACTION_MS)
        while len(had) < count:
            answers = self._ask([body] * min(IDS_AT_ONCE, count - len(had)), INIT_PRODUCER_ID)
            told = [struct.unpack_from(">hq", answer, 8) for answer in answers]
            if wrong := {error for error, _ in told} - {0, *NO_IDS_YET}:
                raise LabError(f"The broker gave no producer id: error {wrong} of Kafka's protocol.")
            had += [producer for error, producer in told if not error]
        return had

    def send(self, ids: Sequence[int], topic: str, partitions: Sequence[int], *, at_ms: int | None = None) -> None:
        """Send one record under each id to each partition, as the id's first and only batch."""
        for start in range(0, len(ids), BATCHES_AT_ONCE):
            chosen = ids[start : start + BATCHES_AT_ONCE]
            for answer in self._ask([_produce(each, topic, partitions, at_ms) for each in chosen], PRODUCE):
                _refuse_errors(answer, topic, len(partitions))

    def begin(self, size: int, sent: int) -> None:
        """Begin a request of `size` bytes, of which only `sent` come: the broker makes room for all of it."""
        head = struct.pack(">hhih", *PRODUCE, 0, len(CLIENT_ID)) + CLIENT_ID
        self._socket.sendall(struct.pack(">i", size) + head + bytes(max(0, sent - len(head))))

    def _ask(self, bodies: Sequence[bytes], what: tuple[int, int]) -> list[bytes]:
        """Send all requests, then read all answers: they come in order."""
        requests = []
        for body in bodies:
            self._asked += 1
            head = struct.pack(">hhih", *what, self._asked, len(CLIENT_ID)) + CLIENT_ID
            requests.append(struct.pack(">i", len(head) + len(body)) + head + body)
        self._socket.sendall(b"".join(requests))
        return [self._answer() for _ in requests]

    def _answer(self) -> bytes:
        head = self._answers.read(4)
        if len(head) < len("size"):
            raise LabError("The broker closed the connection in the middle of an answer.")
        return self._answers.read(struct.unpack(">i", head)[0])


def leak(bootstrap: str, topic: str, *, ids: int, partitions: int = 1) -> None:
    """Make so many producers that send one record to each partition and are never heard of again."""
    with Wire(bootstrap) as wire:
        wire.send(wire.ids(ids), topic, range(partitions))


def burst(bootstrap: str, connections: int, *, size: int) -> ExitStack:
    """Open connections on each of which a large request begins; closing the result closes them."""
    with ExitStack() as stack:
        for _ in range(connections):
            stack.enter_context(Wire(bootstrap)).begin(size, size // 3)
        return stack.pop_all()


def _produce(producer: int, topic: str, partitions: Sequence[int], at_ms: int | None) -> bytes:
    batch = _batch(producer, round(time.time() * 1000) if at_ms is None else at_ms)
    told = struct.pack(">i", len(batch)) + batch
    name = topic.encode()
    head = struct.pack(">hhi", -1, ALL_REPLICAS, TIMEOUT_MS) + struct.pack(">ih", 1, len(name)) + name
    return head + struct.pack(">i", len(partitions)) + b"".join(struct.pack(">i", each) + told for each in partitions)


def _batch(producer: int, at_ms: int) -> bytes:
    """Return a batch of one record: epoch 0, sequence 0. Its checksum covers neither topic nor partition."""
    import google_crc32c  # noqa: PLC0415 - only who writes batches needs it

    record = bytes([0, 0, 0, 1, 2 * len(VALUE)]) + VALUE + b"\0"
    record = bytes([2 * len(record)]) + record
    body = struct.pack(">hiqqqhii", 0, 0, at_ms, at_ms, producer, 0, 0, 1) + record
    return struct.pack(">qiibI", 0, len(body) + 9, -1, 2, google_crc32c.value(body)) + body


def _refuse_errors(answer: bytes, topic: str, partitions: int) -> None:
    """Raise LabError unless every partition took its batch. A partition's answer is 30 bytes, its error behind 4."""
    first = 4 + 4 + 2 + len(topic.encode()) + 4
    errors = {struct.unpack_from(">h", answer, first + each * 30 + 4)[0] for each in range(partitions)}
    if errors != {0}:
        raise LabError(f"The broker did not take a batch: errors {errors} of Kafka's protocol.")
