"""Publishes through producers that survive the worker's freezes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from leadsman.clients import Hop, kafka_producer_provider
from leadsman.clients.hops import path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from account_linking.requester.worker import Outgoing
    from leadsman.clients import KafkaProducers
    from leadsman.clients.hops import PathLike

LAMBDA_PATH = ("lambda", "aws_nat")
"""A function in a VPC reaches its brokers through a NAT, and is frozen between invocations."""

HOP_SETTING = "ACCOUNT_LINKING_HOP_SECONDS"
"""Set where the path is shorter-lived than these names say: in the demo, where seconds stand for minutes."""


def way(settings: Mapping[str, str], usual: PathLike) -> PathLike:
    """Return the hops to the brokers: the usual ones, unless the settings know a shorter-lived path."""
    seconds = settings.get(HOP_SETTING)
    return [Hop("path", timedelta(seconds=float(seconds)), freezes=path(usual).freezes)] if seconds else usual


def lambda_producers(bootstrap: str, *, within: timedelta, hops: PathLike = LAMBDA_PATH) -> KafkaProducers:
    """Return the worker's producers. Idempotent, so that a retry of the client's own doubles nothing."""
    settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": "lz4"}
    return kafka_producer_provider(settings, path=hops, within=within)


@dataclass(frozen=True, slots=True)
class Surviving:
    """Publishes within an invocation: returns when all is acknowledged, and raises NotDelivered otherwise."""

    producers: KafkaProducers

    def __call__(self, records: Sequence[Outgoing], *, within: timedelta) -> None:
        """Store the records."""
        with self.producers.invocation(within=within) as sent:
            for record in records:
                sent.send(record.topic, record.value, key=record.key, headers=record.headers)
