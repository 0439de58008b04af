"""One producer for each distinct configuration of a process, however often code asks for one."""

from __future__ import annotations

import sys
import threading
from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

from leadsman.clients.clock import SystemClock
from leadsman.clients.errors import ClientsError, ProviderClosed, TooManyProducers
from leadsman.clients.events import Event, Kind, tell
from leadsman.clients.kafka import kafka_producer_provider
from leadsman.clients.processwide import join
from leadsman.clients.sameness import Key, differing, key
from leadsman.clients.settings import CONFLUENT, DIALECTS

if TYPE_CHECKING:
    from typing import Unpack

    from leadsman.clients.clock import Clock
    from leadsman.clients.events import Listener
    from leadsman.clients.kafka import Options
    from leadsman.clients.producers import KafkaProducers
    from leadsman.clients.settings import SettingsSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """What a process is allowed before it is reported, or refused.

    `producers`: distinct configurations; one more is refused. `calls` within `calls_in` from one line of code: it asks
    for a producer for each record, or nearly. `replacements` of one idempotent producer within `replacements_in`: on
    the shortest path that is known (240 s) idleness alone causes no more than 19 an hour.
    """

    producers: int = 8
    calls: int = 100
    calls_in: timedelta = timedelta(minutes=1)
    replacements: int = 20
    replacements_in: timedelta = timedelta(hours=1)


class Rate:
    """Whether something happens more often than it may; says so once, and again when it stopped and came back."""

    def __init__(self, most: int, window: timedelta) -> None:
        self._most = most
        self._seconds = window.total_seconds()
        self._times: deque[float] = deque(maxlen=most + 1)
        self._over = False

    def exceeded(self, now: float) -> bool:
        """Count one more at this monotonic time."""
        self._times.append(now)
        over = len(self._times) > self._most and now - self._times[0] < self._seconds
        news = over and not self._over
        self._over = over
        return news


class SharedProducers:
    """The process's producers of one configuration. Closing it lets go of nothing: others use it too."""

    def __init__(self, producers: KafkaProducers) -> None:
        self.producers = producers
        self.send = producers.send
        self.deliver = producers.deliver
        self.flush = producers.flush
        self.invocation = producers.invocation
        self.lease = producers.lease

    def close(self, *, within: timedelta | None = None) -> bool:  # noqa: ARG002 (as the real one is called)
        """Do nothing: the registry closes it."""
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

    It reports, as events and log lines, a line of code that keeps asking (`many_calls`) and an idempotent producer that
    is replaced too often (`churn`): each new one has an id that brokers keep for a day. More distinct configurations
    than `budgets.producers` raise TooManyProducers.
    """

    def __init__(
        self, *, budgets: Budgets | None = None, on_event: Listener | None = None, clock: Clock | None = None
    ) -> None:
        self.budgets = budgets or Budgets()
        self._on_event = on_event
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._known: dict[Key, SharedProducers] = {}
        self._sites: dict[tuple[str, int], Rate] = {}
        self._closed = False
        self.birth = join(self)

    def producers(
        self,
        config: SettingsSource,
        *,
        client: Literal["confluent-kafka", "kafka-python"] = "confluent-kafka",
        **options: Unpack[Options],
    ) -> SharedProducers:
        """Return the process's producers for this configuration; arguments as of `kafka_producer_provider`.

        A function that returns settings is told by itself, not by what it returns.
        """
        self._called_from(sys._getframe(1))  # noqa: SLF001 (the only way to know who calls)
        settings = {"config": config} if callable(config) else config
        if "transactional.id" in settings or "transactional_id" in settings:
            raise ClientsError(
                "A transactional producer cannot be shared: two users would be in one transaction. "
                "Use kafka_producer_provider, one for each transactional.id."
            )
        wanted = key({**settings, "leadsman.client": client, **{f"leadsman.{n}": repr(v) for n, v in options.items()}})
        with self._lock:
            self._refuse_if_closed()
            known = self._known.get(wanted)
        return known or self._admit(wanted, self._make(config, client, options))

    def _make(self, config: SettingsSource, client: Any, options: Options) -> KafkaProducers:  # noqa: ANN401 (one of two literals)
        settings = {} if callable(config) else config
        dialect = DIALECTS.get(client, CONFLUENT)
        idempotent = str(settings.get(dialect.idempotence, dialect.idempotent_by_default)).lower() in {"true", "1"}
        watched = self._watched(options.get("on_event"), idempotent=idempotent)
        watching: Options = {**options, "on_event": watched}
        made: KafkaProducers = kafka_producer_provider(config, client=client, **watching)
        return made

    def _admit(self, wanted: Key, made: KafkaProducers) -> SharedProducers:
        with self._lock:
            self._refuse_if_closed()
            if wanted not in self._known:
                self._refuse_if_many(wanted)
                self._known[wanted] = SharedProducers(made)
            return self._known[wanted]

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ProviderClosed("The registry is closed. Make a new one, or close it later.")

    def _refuse_if_many(self, wanted: Key) -> None:
        if len(self._known) < self.budgets.producers:
            return
        names = ", ".join(differing([*self._known, wanted]))
        raise TooManyProducers(
            f"This process has {len(self._known)} producers with different configurations, and asks for one more. "
            f"They differ in: {names}. Give equal users equal settings, or allow more: Budgets(producers=...)."
        )

    def _watched(self, listener: Listener | None, *, idempotent: bool) -> Listener:
        """Return a listener that counts replacements, and hands on."""
        rate = Rate(self.budgets.replacements, self.budgets.replacements_in)

        def hear(event: Event) -> None:
            if listener is not None:
                listener(event)
            if self._on_event is not None:
                self._on_event(event)
            if idempotent and event.kind is Kind.CREATED and rate.exceeded(self._clock.read()[0]):
                tell(self._churn(event), self._on_event)

        return hear

    def _churn(self, event: Event) -> Event:
        hours = self.budgets.replacements_in.total_seconds() / 3600
        return Event(
            kind=Kind.CHURN,
            provider=event.provider,
            generation=event.generation,
            says=(
                f"more than {self.budgets.replacements} idempotent producers within {hours:g} h: brokers keep the id "
                "of each for a day (producer.id.expiration.ms). Let it live longer (max_age, policy), or set "
                "enable.idempotence to false where a duplicate does no harm."
            ),
        )

    def _called_from(self, frame: Any) -> None:  # noqa: ANN401 (a frame)
        site = (str(frame.f_code.co_filename), int(frame.f_lineno))
        with self._lock:
            rate = self._sites.setdefault(site, Rate(self.budgets.calls, self.budgets.calls_in))
            news = rate.exceeded(self._clock.read()[0])
        if news:
            seconds = self.budgets.calls_in.total_seconds()
            says = (
                f"{site[0]}:{site[1]} asked for a producer more than {self.budgets.calls} times within {seconds:g} s. "
                "It gets the same one; ask once, where the module is loaded."
            )
            tell(Event(kind=Kind.MANY_CALLS, provider="registry", says=says), self._on_event)

    def __len__(self) -> int:
        """Return how many distinct producers there are."""
        return len(self._known)

    def close(self, *, within: timedelta | None = None) -> bool:
        """Close all of them; return whether that was done in time for each."""
        with self._lock:
            self._closed = True
            known, self._known = list(self._known.values()), {}
        closed = [shared.producers.close(within=within) for shared in known]
        return all(closed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def before_fork(self) -> None:
        """Take the lock, so that a child inherits no half-made step."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Let go of it."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start with a lock of its own. The producers see to themselves."""
        self._lock = threading.Lock()

    def at_exit(self) -> None:
        """Do nothing: each of the producers closes itself."""
