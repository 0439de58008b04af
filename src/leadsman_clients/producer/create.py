"""Makes a provider of Kafka producers that fits the network path to the brokers."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypedDict, overload

from leadsman_clients.errors import MissingLibrary
from leadsman_clients.instance.policy import Activity, Policy, Retirement
from leadsman_clients.network_path import resolve_path
from leadsman_clients.producer._confluent import ConfluentAdapter
from leadsman_clients.producer._kafka_python import KafkaPythonAdapter
from leadsman_clients.producer.async_provider import AsyncKafkaProducerProvider
from leadsman_clients.producer.provider import KafkaProducerProvider
from leadsman_clients.producer.settings import (
    AIOKAFKA,
    CONFLUENT,
    KAFKA_PYTHON,
    PROVIDER_IDLE_SHARE,
    SETTING_NAMES,
    AdjustedSettings,
    adjust_settings,
)

if TYPE_CHECKING:
    from typing import Unpack

    from leadsman_clients.clock import Clock
    from leadsman_clients.network_path import NetworkPath, PathSpec
    from leadsman_clients.observability.events import EventListener
    from leadsman_clients.producer._adapter import AdapterFactory
    from leadsman_clients.producer.settings import SettingsSource

LOG = logging.getLogger("leadsman_clients")

INLINE_RETIRE_TIMEOUT = timedelta(seconds=2)
"""How long a frozen worker's caller waits for a retirement at most. An idle producer has nothing to flush: 5 ms."""


class ProducerOptions(TypedDict, total=False):
    """The optional arguments of `kafka_producer_provider`."""

    path: PathSpec
    timeout: timedelta | None
    max_age: timedelta | None
    policy: Policy | None
    name: str
    on_event: EventListener | None
    clock: Clock | None


@overload
def kafka_producer_provider(
    config: SettingsSource, *, client: Literal["aiokafka"], **options: Unpack[ProducerOptions]
) -> AsyncKafkaProducerProvider: ...


@overload
def kafka_producer_provider(
    config: SettingsSource,
    *,
    client: Literal["confluent-kafka", "kafka-python"] = "confluent-kafka",
    **options: Unpack[ProducerOptions],
) -> KafkaProducerProvider: ...


def kafka_producer_provider(
    config: SettingsSource,
    *,
    client: str = "confluent-kafka",
    path: PathSpec = "broker",
    timeout: timedelta | None = None,
    max_age: timedelta | None = None,
    policy: Policy | None = None,
    name: str = "kafka-producer",
    on_event: EventListener | None = None,
    clock: Clock | None = None,
) -> KafkaProducerProvider | AsyncKafkaProducerProvider:
    """Return a provider of producers for `config` that survive the path. With aiokafka, its methods are coroutines.

    `config` is the client's own configuration, or a function that returns it at each creation, so that credentials are
    fresh. `path` names the hops to the brokers. `timeout` is how long a caller can wait for one record: a serverless
    worker's time limit. `policy` replaces the whole policy that is derived from the path.

    The client gets an idle limit below the shortest hop's, so that it reconnects by itself; the provider replaces a
    producer that was idle for nearly as long as that hop allows, by any clock. Settings that lose records on the path
    raise InvalidConfiguration, here and now.
    """
    network_path = resolve_path(path)
    load_settings = partial(_load_settings, config, client, network_path, timeout)
    adjusted = load_settings()
    for warning in adjusted.warnings:
        LOG.warning("%s: %s", name, warning)
    policy = policy or _policy(network_path, adjusted, max_age)
    if client == AIOKAFKA.client:
        return AsyncKafkaProducerProvider(load_settings, policy=policy, name=name, on_event=on_event, clock=clock)
    make_adapter: AdapterFactory = KafkaPythonAdapter
    has_poll_thread = client == KAFKA_PYTHON.client or not network_path.freezes
    if client == CONFLUENT.client:
        make_adapter = partial(
            ConfluentAdapter, has_poll_thread=has_poll_thread, warm_up=adjusted.is_idempotent, clock=clock
        )
    return KafkaProducerProvider(
        load_settings,
        make_adapter,
        policy=policy,
        name=name,
        has_poll_thread=has_poll_thread,
        on_event=on_event,
        clock=clock,
    )


def _load_settings(
    config: SettingsSource, client: str, path: NetworkPath, timeout: timedelta | None
) -> AdjustedSettings:
    if client not in SETTING_NAMES:
        raise MissingLibrary(f"No client is known as {client!r}. Known: {', '.join(SETTING_NAMES)}.")
    settings = config() if callable(config) else config
    return adjust_settings(settings, SETTING_NAMES[client], path=path, timeout=timeout)


def _policy(path: NetworkPath, adjusted: AdjustedSettings, max_age: timedelta | None) -> Policy:
    """Return the policy for a path. A flush in the background may take as long as a record may: no caller waits."""
    timeout = adjusted.delivery_timeout
    return Policy(
        max_idle=path.idle_timeout * PROVIDER_IDLE_SHARE,
        max_age=max_age,
        activity=Activity.TOUCH,
        retirement=Retirement.INLINE if path.freezes else Retirement.BACKGROUND,
        retire_timeout=min(timeout, INLINE_RETIRE_TIMEOUT) if path.freezes else timeout,
    )
