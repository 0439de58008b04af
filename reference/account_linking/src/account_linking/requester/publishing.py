"""Publishes records with producers that survive freezes of the worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from account_linking.kafka_security import client_settings
from leadsman_clients import Hop, kafka_producer_provider
from leadsman_clients.network_path import resolve_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from account_linking.providers.model import Settings
    from account_linking.requester.worker import Outgoing
    from leadsman_clients import KafkaProducerProvider
    from leadsman_clients.network_path import PathSpec

LAMBDA_PATH = ("lambda", "aws_nat")
"""A function in a VPC reaches its brokers through a NAT, and is frozen between invocations."""

HOP_SETTING = "ACCOUNT_LINKING_HOP_SECONDS"
"""The path's idle limit in seconds, where it is shorter than that of the named hops: the demo uses 4 s for 350 s."""


def kafka_path(settings: Settings, usual: PathSpec) -> PathSpec:
    """Return the hops to the brokers: the usual ones, unless ACCOUNT_LINKING_HOP_SECONDS sets a shorter idle limit."""
    seconds = settings.get(HOP_SETTING)
    return [Hop("path", timedelta(seconds=float(seconds)), freezes=resolve_path(usual).freezes)] if seconds else usual


def lambda_producers(settings: Settings, *, timeout: timedelta) -> KafkaProducerProvider:
    """Return the worker's producers. They are idempotent, so that a retry of the client creates no duplicate."""
    return kafka_producer_provider(
        partial(_producer_settings, settings), path=kafka_path(settings, LAMBDA_PATH), timeout=timeout
    )


def _producer_settings(settings: Settings) -> dict[str, Any]:
    """Return a new producer's settings, with credentials as they are now."""
    brokers = {"bootstrap.servers": settings["KAFKA_BOOTSTRAP"], **client_settings(settings)}
    return {**brokers, "enable.idempotence": True, "compression.type": "lz4"}


@dataclass(frozen=True, slots=True)
class InvocationPublisher:
    """Publishes within an invocation: returns when all records are acknowledged; raises NotDelivered otherwise."""

    producers: KafkaProducerProvider

    def __call__(self, records: Sequence[Outgoing], *, timeout: timedelta) -> None:
        """Send the records, and wait until the brokers have acknowledged all of them."""
        with self.producers.invocation(timeout=timeout) as sent:
            for record in records:
                sent.send(record.topic, record.value, key=record.key, headers=record.headers)
