"""One producer for each distinct configuration of a process, however often code requests one."""

from __future__ import annotations

import sys
import threading
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

from leadsman_clients.clock import SystemClock
from leadsman_clients.errors import ClientsError, ProviderClosed, TooManyProducers
from leadsman_clients.instance._process_hooks import register
from leadsman_clients.observability.events import ClientEvent, EventKind, emit
from leadsman_clients.producer._config_equality import ConfigKey, config_key, differing_settings
from leadsman_clients.producer.create import kafka_producer_provider
from leadsman_clients.producer.settings import CONFLUENT, SETTING_NAMES, is_idempotent

if TYPE_CHECKING:
    from typing import Unpack

    from leadsman_clients.clock import Clock
    from leadsman_clients.observability.events import EventListener
    from leadsman_clients.producer.create import ProducerOptions
    from leadsman_clients.producer.provider import KafkaProducerProvider
    from leadsman_clients.producer.settings import SettingsSource


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryLimits:
    """How much a process may do before the registry emits an event, or refuses.

    `max_producers`: distinct configurations; one more is refused. `max_calls` within `calls_window` from one line of
    code: more mean that it requests a producer for about each record. `max_replacements` of one idempotent producer
    within `replacements_window`: on the shortest path that is known (240 s) idleness alone causes at most 19 an hour.
    """

    max_producers: int = 8
    max_calls: int = 100
    calls_window: timedelta = timedelta(minutes=1)
    max_replacements: int = 20
    replacements_window: timedelta = timedelta(hours=1)


class RateAlarm:
    """Counts something, and reports once when its rate exceeds a limit; again only after the rate fell and rose."""

    def __init__(self, limit: int, window: timedelta) -> None:
        self._limit = limit
        self._window_seconds = window.total_seconds()
        self._times: deque[float] = deque(maxlen=limit + 1)
        self._is_exceeded = False

    def count(self, now: float) -> bool:
        """Count one more at this monotonic time; return whether the limit is exceeded just now."""
        self._times.append(now)
        is_exceeded = len(self._times) > self._limit and now - self._times[0] < self._window_seconds
        is_new = is_exceeded and not self._is_exceeded
        self._is_exceeded = is_exceeded
        return is_new


class SharedProducerProvider:
    """The process's producers of one configuration. Closing it does nothing: others use them too."""

    def __init__(self, producers: KafkaProducerProvider) -> None:
        self.producers = producers
        self.send = producers.send
        self.deliver = producers.deliver
        self.flush = producers.flush
        self.invocation = producers.invocation
        self.lease = producers.lease

    def close(self, *, timeout: timedelta | None = None) -> bool:  # noqa: ARG002 - the signature of KafkaProducerProvider
        """Do nothing: the registry closes them."""
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ProducerRegistry:
    """Gives the same producers for the same configuration. Make one, where your module is loaded.

    >>> registry = ProducerRegistry()
    >>> one = registry.producers({"bootstrap.servers": "localhost:9092", "acks": "all"})
    >>> two = registry.producers({"metadata.broker.list": "localhost:9092", "acks": "all"})
    >>> one.producers is two.producers
    True

    It emits an event and a log line for a line of code that keeps requesting producers (`many_calls`) and for an
    idempotent producer that is replaced too often (`churn`): each new one has a producer id that brokers keep for a
    day. More distinct configurations than `limits.max_producers` raise TooManyProducers.
    """

    def __init__(
        self,
        *,
        limits: RegistryLimits | None = None,
        on_event: EventListener | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.limits = limits or RegistryLimits()
        self._on_event = on_event
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._shared: dict[ConfigKey, SharedProducerProvider] = {}
        self._call_sites: dict[tuple[str, int], RateAlarm] = {}
        self._is_closed = False
        self.registration = register(self)

    def producers(
        self,
        config: SettingsSource,
        *,
        client: Literal["confluent-kafka", "kafka-python"] = "confluent-kafka",
        **options: Unpack[ProducerOptions],
    ) -> SharedProducerProvider:
        """Return the process's producers for this configuration; arguments as of `kafka_producer_provider`.

        A function that returns settings is identified by itself, not by the settings that it returns.
        """
        self._count_call(sys._getframe(1))  # noqa: SLF001 - the only way to know the caller
        settings = {"config": config} if callable(config) else config
        if "transactional.id" in settings or "transactional_id" in settings:
            raise ClientsError(
                "A transactional producer cannot be shared: two users would be in one transaction. "
                "Use kafka_producer_provider, one for each transactional.id."
            )
        option_settings = {f"leadsman.{name}": repr(value) for name, value in options.items()}
        key = config_key({**settings, "leadsman.client": client, **option_settings})
        with self._lock:
            self._refuse_if_closed()
            shared = self._shared.get(key)
        return shared or self._add(key, self._create(config, client, options))

    def _create(self, config: SettingsSource, client: Any, options: ProducerOptions) -> KafkaProducerProvider:  # noqa: ANN401 - one of two literals
        settings = {} if callable(config) else config
        idempotent = is_idempotent(settings, SETTING_NAMES.get(client, CONFLUENT))
        listener = self._counting_listener(options.get("on_event"), idempotent=idempotent)
        listening_options: ProducerOptions = {**options, "on_event": listener}
        provider: KafkaProducerProvider = kafka_producer_provider(config, client=client, **listening_options)
        return provider

    def _add(self, key: ConfigKey, provider: KafkaProducerProvider) -> SharedProducerProvider:
        with self._lock:
            self._refuse_if_closed()
            if key not in self._shared:
                self._refuse_if_many(key)
                self._shared[key] = SharedProducerProvider(provider)
            return self._shared[key]

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ProviderClosed("The registry is closed. Make a new one, or close it later.")

    def _refuse_if_many(self, key: ConfigKey) -> None:
        if len(self._shared) < self.limits.max_producers:
            return
        names = ", ".join(differing_settings([*self._shared, key]))
        raise TooManyProducers(
            f"This process has {len(self._shared)} producers with different configurations, and requests one more. "
            f"They differ in: {names}. Give equal users equal settings, or allow more: "
            "RegistryLimits(max_producers=...)."
        )

    def _counting_listener(self, listener: EventListener | None, *, idempotent: bool) -> EventListener:
        """Return a listener that counts replacements, and passes events on."""
        alarm = RateAlarm(self.limits.max_replacements, self.limits.replacements_window)

        def on_event(event: ClientEvent) -> None:
            if listener is not None:
                listener(event)
            if self._on_event is not None:
                self._on_event(event)
            if idempotent and event.kind is EventKind.CREATED and alarm.count(self._clock.read()[0]):
                emit(self._churn(event), self._on_event)

        return on_event

    def _churn(self, event: ClientEvent) -> ClientEvent:
        hours = self.limits.replacements_window.total_seconds() / 3600
        return ClientEvent(
            kind=EventKind.CHURN,
            provider=event.provider,
            generation=event.generation,
            message=(
                f"more than {self.limits.max_replacements} idempotent producers within {hours:g} h: brokers keep the "
                "producer id of each for a day (producer.id.expiration.ms). Let a producer live longer (max_age, "
                "policy), or set enable.idempotence to false where a duplicate does no harm."
            ),
        )

    def _count_call(self, frame: Any) -> None:  # noqa: ANN401 - a frame
        site = (str(frame.f_code.co_filename), int(frame.f_lineno))
        with self._lock:
            alarm = self._call_sites.setdefault(site, RateAlarm(self.limits.max_calls, self.limits.calls_window))
            is_exceeded = alarm.count(self._clock.read()[0])
        if is_exceeded:
            seconds = self.limits.calls_window.total_seconds()
            message = (
                f"{site[0]}:{site[1]} requested a producer more than {self.limits.max_calls} times within "
                f"{seconds:g} s. It gets the same one; request it once, where the module is loaded."
            )
            emit(ClientEvent(kind=EventKind.MANY_CALLS, provider="registry", message=message), self._on_event)

    def __len__(self) -> int:
        """Return how many distinct producers there are."""
        return len(self._shared)

    def close(self, *, timeout: timedelta | None = None) -> bool:
        """Close all producers; return whether that was done in time for each."""
        with self._lock:
            self._is_closed = True
            closing, self._shared = list(self._shared.values()), {}
        closed = [shared.producers.close(timeout=timeout) for shared in closing]
        return all(closed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def before_fork(self) -> None:
        """Take the lock, so that a child inherits no half-made step."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Release the lock."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own. The producers have hooks of their own."""
        self._lock = threading.Lock()

    def at_exit(self) -> None:
        """Do nothing: each of the producers closes itself."""
