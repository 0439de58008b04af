"""Kafka clients that survive: what could be dead is replaced before it is used. Imports nothing else of leadsman.

`pip install 'leadsman[clients]'` brings confluent-kafka and prometheus-client, and no Spark.
"""

from leadsman.clients.aio import AsyncKafkaProducers
from leadsman.clients.async_provider import AsyncExpiringProvider
from leadsman.clients.clock import Clock, SystemClock
from leadsman.clients.consumer.health import Health, State
from leadsman.clients.consumer.runner import ConsumerRunner
from leadsman.clients.consumer.verdicts import DeadLetter, Message, Retry, Rules, Skip
from leadsman.clients.errors import (
    ClientsError,
    ContradictsPath,
    CreationFailed,
    CreationTimedOut,
    LeaseMisused,
    MissingLibrary,
    NoInstance,
    NotDelivered,
    ProviderClosed,
    RunnerFailed,
    TooManyProducers,
)
from leadsman.clients.events import Event, Kind, Reason
from leadsman.clients.hops import HOPS, Hop
from leadsman.clients.kafka import kafka_producer_provider
from leadsman.clients.lease import Lease
from leadsman.clients.metrics import PrometheusCollector, observe
from leadsman.clients.policy import Activity, Policy, Retire
from leadsman.clients.probes import probes
from leadsman.clients.producers import Invocation, KafkaProducers
from leadsman.clients.provider import ExpiringProvider
from leadsman.clients.records import Delivered, Delivery
from leadsman.clients.registry import Budgets, ProducerRegistry, SharedProducers
from leadsman.clients.tally import Stats

__all__ = [
    "HOPS",
    "Activity",
    "AsyncExpiringProvider",
    "AsyncKafkaProducers",
    "Budgets",
    "ClientsError",
    "Clock",
    "ConsumerRunner",
    "ContradictsPath",
    "CreationFailed",
    "CreationTimedOut",
    "DeadLetter",
    "Delivered",
    "Delivery",
    "Event",
    "ExpiringProvider",
    "Health",
    "Hop",
    "Invocation",
    "KafkaProducers",
    "Kind",
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
    "Reason",
    "Retire",
    "Retry",
    "Rules",
    "RunnerFailed",
    "SharedProducers",
    "Skip",
    "State",
    "Stats",
    "SystemClock",
    "TooManyProducers",
    "kafka_producer_provider",
    "observe",
    "probes",
]
