"""Makes a provider of Kafka producers that goes with the path to the brokers."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypedDict, overload

from leadsman.clients.aio import AsyncKafkaProducers
from leadsman.clients.confluent import ConfluentLine
from leadsman.clients.errors import MissingLibrary
from leadsman.clients.hops import path as path_of
from leadsman.clients.kafka_python import KafkaPythonLine
from leadsman.clients.policy import Activity, Policy, Retire
from leadsman.clients.producers import KafkaProducers
from leadsman.clients.settings import AIOKAFKA, CONFLUENT, DIALECTS, KAFKA_PYTHON, PROVIDER_SHARE, Fitted, fit

if TYPE_CHECKING:
    from typing import Unpack

    from leadsman.clients.clock import Clock
    from leadsman.clients.events import Listener
    from leadsman.clients.hops import Path, PathLike
    from leadsman.clients.line import MakeLine
    from leadsman.clients.settings import SettingsSource

LOG = logging.getLogger("leadsman.clients")

INLINE_WITHIN = timedelta(seconds=2)
"""What replacing may cost a frozen worker's caller at most. An idle producer has nothing to flush: 5 ms."""


class Options(TypedDict, total=False):
    """What a provider of producers can be told; see `kafka_producer_provider`."""

    path: PathLike
    within: timedelta | None
    max_age: timedelta | None
    policy: Policy | None
    name: str
    on_event: Listener | None
    clock: Clock | None


@overload
def kafka_producer_provider(
    config: SettingsSource, *, client: Literal["aiokafka"], **options: Unpack[Options]
) -> AsyncKafkaProducers: ...


@overload
def kafka_producer_provider(
    config: SettingsSource,
    *,
    client: Literal["confluent-kafka", "kafka-python"] = "confluent-kafka",
    **options: Unpack[Options],
) -> KafkaProducers: ...


def kafka_producer_provider(
    config: SettingsSource,
    *,
    client: str = "confluent-kafka",
    path: PathLike = "broker",
    within: timedelta | None = None,
    max_age: timedelta | None = None,
    policy: Policy | None = None,
    name: str = "kafka-producer",
    on_event: Listener | None = None,
    clock: Clock | None = None,
) -> KafkaProducers | AsyncKafkaProducers:
    """Return producers for `config` that survive the path. With aiokafka, their methods are coroutines.

    `config` is the client's own configuration, or a function that returns it at each creation, so that credentials are
    fresh. `path` names the hops to the brokers. `within` is how long a caller can wait for one record: a serverless
    worker's time limit. `policy` overrides all that follows from the path.

    The client gets an idle limit below the shortest hop's, so that it reconnects by itself; the provider replaces a
    producer that was quiet for nearly as long as that hop allows, by any clock. Settings that contradict the path raise
    ContradictsPath, here and now.
    """
    way = path_of(path)
    fitted = partial(_fitted, config, client, way, within)
    first = fitted()
    for note in first.notes:
        LOG.warning("%s: %s", name, note)
    chosen = policy or _policy(way, first, max_age)
    if client == AIOKAFKA.client:
        return AsyncKafkaProducers(fitted, policy=chosen, name=name, on_event=on_event, clock=clock)
    make: MakeLine = KafkaPythonLine
    threaded = client == KAFKA_PYTHON.client or not way.freezes
    if client == CONFLUENT.client:
        make = partial(ConfluentLine, thread=threaded, warm_up=first.idempotent, clock=clock)
    return KafkaProducers(fitted, make, policy=chosen, name=name, threaded=threaded, on_event=on_event, clock=clock)


def _fitted(config: SettingsSource, client: str, way: Path, within: timedelta | None) -> Fitted:
    if client not in DIALECTS:
        raise MissingLibrary(f"No client is known as {client!r}. Known: {', '.join(DIALECTS)}.")
    settings = config() if callable(config) else config
    return fit(settings, DIALECTS[client], path=way, within=within)


def _policy(way: Path, fitted: Fitted, max_age: timedelta | None) -> Policy:
    """Return what the path allows. In the background a flush may take as long as a record may: nobody waits for it."""
    return Policy(
        max_idle=way.limit * PROVIDER_SHARE,
        max_age=max_age,
        activity=Activity.REPORTED,
        retire=Retire.INLINE if way.freezes else Retire.BACKGROUND,
        retire_within=min(fitted.delivery, INLINE_WITHIN) if way.freezes else fitted.delivery,
    )
