"""Kafka producers and consumers that survive idle disconnects, freezes, forks and expired credentials.

An instance that could be dead is replaced before it is used. The package needs neither leadsman nor Spark:
`pip install 'leadsman-clients[confluent]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leadsman_clients.backoff import Backoff
    from leadsman_clients.clock import Clock, SystemClock
    from leadsman_clients.consumer.handler import DeadLetter, Message, Retry, Skip
    from leadsman_clients.consumer.health import ConsumerHealth, RunnerState
    from leadsman_clients.consumer.policy import ConsumerPolicy
    from leadsman_clients.consumer.runner import ConsumerRunner
    from leadsman_clients.errors import (
        ClientsError,
        CreationFailed,
        CreationTimedOut,
        InvalidConfiguration,
        LeaseMisused,
        MissingLibrary,
        NoInstance,
        NotDelivered,
        ProviderClosed,
        RunnerFailed,
        TooManyProducers,
    )
    from leadsman_clients.instance.async_provider import AsyncExpiringProvider
    from leadsman_clients.instance.lease import Lease
    from leadsman_clients.instance.policy import Activity, Policy, Retirement
    from leadsman_clients.instance.provider import ExpiringProvider
    from leadsman_clients.network_path import HOPS, Hop
    from leadsman_clients.observability.events import ClientEvent, EventKind, ExpiryReason
    from leadsman_clients.observability.exporters import PrometheusCollector, register_metrics
    from leadsman_clients.observability.probes import serve_probes
    from leadsman_clients.observability.statistics import ProviderStats
    from leadsman_clients.producer.async_provider import AsyncKafkaProducerProvider
    from leadsman_clients.producer.create import kafka_producer_provider
    from leadsman_clients.producer.provider import Invocation, KafkaProducerProvider
    from leadsman_clients.producer.records import DeliveryFuture, RecordMetadata
    from leadsman_clients.producer.registry import ProducerRegistry, RegistryLimits, SharedProducerProvider
__all__ = [
    "HOPS",
    "Activity",
    "AsyncExpiringProvider",
    "AsyncKafkaProducerProvider",
    "Backoff",
    "ClientEvent",
    "ClientsError",
    "Clock",
    "ConsumerHealth",
    "ConsumerPolicy",
    "ConsumerRunner",
    "CreationFailed",
    "CreationTimedOut",
    "DeadLetter",
    "DeliveryFuture",
    "EventKind",
    "ExpiringProvider",
    "ExpiryReason",
    "Hop",
    "InvalidConfiguration",
    "Invocation",
    "KafkaProducerProvider",
    "Lease",
    "LeaseMisused",
    "Message",
    "MissingLibrary",
    "NoInstance",
    "NotDelivered",
    "Policy",
    "ProducerRegistry",
    "PrometheusCollector",
    "ProviderClosed",
    "ProviderStats",
    "RecordMetadata",
    "RegistryLimits",
    "Retirement",
    "Retry",
    "RunnerFailed",
    "RunnerState",
    "SharedProducerProvider",
    "Skip",
    "SystemClock",
    "TooManyProducers",
    "kafka_producer_provider",
    "register_metrics",
    "serve_probes",
]

_MODULES = {
    "backoff": ("Backoff",),
    "clock": ("Clock", "SystemClock"),
    "consumer.handler": ("DeadLetter", "Message", "Retry", "Skip"),
    "consumer.health": ("ConsumerHealth", "RunnerState"),
    "consumer.policy": ("ConsumerPolicy",),
    "consumer.runner": ("ConsumerRunner",),
    "errors": (
        "ClientsError",
        "CreationFailed",
        "CreationTimedOut",
        "InvalidConfiguration",
        "LeaseMisused",
        "MissingLibrary",
        "NoInstance",
        "NotDelivered",
        "ProviderClosed",
        "RunnerFailed",
        "TooManyProducers",
    ),
    "instance.async_provider": ("AsyncExpiringProvider",),
    "instance.lease": ("Lease",),
    "instance.policy": ("Activity", "Policy", "Retirement"),
    "instance.provider": ("ExpiringProvider",),
    "network_path": ("HOPS", "Hop"),
    "observability.events": ("ClientEvent", "EventKind", "ExpiryReason"),
    "observability.exporters": ("PrometheusCollector", "register_metrics"),
    "observability.probes": ("serve_probes",),
    "observability.statistics": ("ProviderStats",),
    "producer.async_provider": ("AsyncKafkaProducerProvider",),
    "producer.create": ("kafka_producer_provider",),
    "producer.provider": ("Invocation", "KafkaProducerProvider"),
    "producer.records": ("DeliveryFuture", "RecordMetadata"),
    "producer.registry": ("ProducerRegistry", "RegistryLimits", "SharedProducerProvider"),
}
"""Where each public name stands. Modules load on first use: a pre-commit hook needs `HOPS` and no client."""


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
