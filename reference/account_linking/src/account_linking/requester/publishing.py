"""Publishes through producers that survive the worker's freezes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leadsman.clients import kafka_producer_provider

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from account_linking.requester.worker import Outgoing
    from leadsman.clients import KafkaProducers
    from leadsman.clients.hops import PathLike

LAMBDA_PATH = ("lambda", "aws_nat")
"""A function in a VPC reaches its brokers through a NAT, and is frozen between invocations."""


def lambda_producers(bootstrap: str, *, within: timedelta, path: PathLike = LAMBDA_PATH) -> KafkaProducers:
    """Return the worker's producers. Idempotent, so that a retry of the client's own doubles nothing."""
    settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "lz4"}
    return kafka_producer_provider(settings, path=path, within=within)


@dataclass(frozen=True, slots=True)
class Surviving:
    """Publishes within an invocation: returns when all is acknowledged, and raises NotDelivered otherwise."""

    producers: KafkaProducers

    def __call__(self, records: Sequence[Outgoing], *, within: timedelta) -> None:
        """Store the records."""
        with self.producers.invocation(within=within) as sent:
            for record in records:
                sent.send(record.topic, record.value, key=record.key, headers=record.headers)
