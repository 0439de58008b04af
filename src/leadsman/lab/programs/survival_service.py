"""A small service whose Kafka client is plain, or wrapped by leadsman_clients, or inherited by a fork.

Its settings argument is a SurvivalOptions, as JSON.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadsman.lab.processes.program import LOOPBACK
from leadsman.lab.programs.producer_service import (
    DELIVERY_SECONDS,
    Delivery,
    DeliveryFailed,
    ProgramArguments,
    handle_event,
    serve_commands,
    start,
)
from leadsman_clients import Hop, PrometheusCollector, kafka_producer_provider

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.lab.programs.producer_service import Sender
    from leadsman_clients import RecordMetadata
    from leadsman_clients.observability.metrics import MetricSource

DELIVERY_TIMEOUT = timedelta(seconds=DELIVERY_SECONDS)

METRICS_PORT = "LEADSMAN_LAB_METRICS_PORT"
"""The environment variable with the port for metrics; absent: none are exposed."""

CHILD_SECONDS = 90
"""A child that cannot deliver hangs: after so long it is killed. Longer than its own delivery timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalOptions:
    """The lab's request. `password` names the setting whose present value is in the file `password_file`."""

    client: str
    wrapped: bool
    settings: Mapping[str, Any]
    hop_seconds: float
    freezes: bool = False
    password: str = ""
    password_file: str = ""
    forks: bool = False

    def current(self) -> dict[str, Any]:
        """Return the settings with the present password."""
        password = {self.password: Path(self.password_file).read_text(encoding="utf-8")} if self.password else {}
        return {**self.settings, **password}


def main() -> None:
    """Handle events, in this process or in a fork of it."""
    arguments = start(sys.argv[1:])
    options = SurvivalOptions(**arguments.settings)  # type: ignore[arg-type]  # the lab's own keys
    if options.forks:
        fork(arguments, create_sender(arguments, options))
    else:
        serve_commands(arguments, lambda: create_sender(arguments, options))


def create_sender(arguments: ProgramArguments, options: SurvivalOptions) -> Sender:
    """Return the requested producer."""
    if not options.wrapped:
        return create_plain(replace(arguments, settings=options.current()), options.client)
    return WrappedAiokafka(arguments, options) if options.client == "aiokafka" else Wrapped(arguments, options)


def create_plain(arguments: ProgramArguments, client: str) -> Sender:
    """Return a client's producer as its users have it: one for the life of the process."""
    from leadsman.lab.programs import (
        producer_aiokafka,
        producer_confluent,
        producer_kafka_python,
    )

    factories: Mapping[str, Callable[[], Sender]] = {
        "confluent-kafka": lambda: producer_confluent.ConfluentSender(arguments),
        "kafka-python": lambda: producer_kafka_python.KafkaPythonSender(arguments),
        "aiokafka": lambda: producer_aiokafka.AiokafkaSender(arguments, producer_aiokafka.loop()),
    }
    return factories[client]()


def path(options: SurvivalOptions) -> Hop:
    """Return the path in the form that the wrapped client needs."""
    return Hop("broker", timedelta(seconds=options.hop_seconds), freezes=options.freezes)


def expose(producers: MetricSource, port: int) -> None:
    """Expose a provider's metrics to Prometheus, as its users do."""
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(PrometheusCollector(producers))
    start_http_server(port, addr=LOOPBACK, registry=registry)


class Wrapped:
    """A synchronous client behind a provider."""

    def __init__(self, arguments: ProgramArguments, options: SurvivalOptions) -> None:
        client: Any = options.client
        self._topic = arguments.topic
        self._producers = kafka_producer_provider(
            options.current, client=client, path=path(options), timeout=DELIVERY_TIMEOUT
        )
        if METRICS_PORT in os.environ:
            expose(self._producers, int(os.environ[METRICS_PORT]))

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait until it is stored."""
        return deliver_or_raise(lambda: self._producers.deliver(self._topic, value, timeout=DELIVERY_TIMEOUT))

    def poll(self) -> None:
        """Nothing to poll: waiting for a record polls."""

    def close(self) -> None:
        """Close the producer."""
        self._producers.close()


class WrappedAiokafka:
    """aiokafka behind a provider, in an event loop of its own."""

    def __init__(self, arguments: ProgramArguments, options: SurvivalOptions) -> None:
        self._topic = arguments.topic
        self._producers = kafka_producer_provider(
            options.current, client="aiokafka", path=path(options), timeout=DELIVERY_TIMEOUT
        )
        self._loops: dict[int, asyncio.AbstractEventLoop] = {}

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait until it is stored."""
        return deliver_or_raise(
            lambda: self._run(self._producers.deliver(self._topic, value, timeout=DELIVERY_TIMEOUT))
        )

    def _run(self, coroutine: Any) -> Any:  # noqa: ANN401 - whatever it returns
        if os.getpid() not in self._loops:  # a loop's thread does not survive a fork
            from leadsman.lab.programs.producer_aiokafka import loop

            self._loops[os.getpid()] = loop()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loops[os.getpid()]).result(DELIVERY_SECONDS)

    def poll(self) -> None:
        """Nothing to poll: the loop runs."""

    def close(self) -> None:
        """Close the producer."""
        self._run(self._producers.close())


def fork(arguments: ProgramArguments, producer: Sender) -> None:
    """Deliver event 1, fork, deliver event 2 in the child and then events 3 and 4 here."""
    handle_event("1", arguments, producer.deliver)
    child = os.fork()
    if child == 0:
        handle_event("2", arguments, producer.deliver)
        os._exit(0)
    ended = threading.Event()
    threading.Thread(target=_kill_after_timeout, args=(child, ended), daemon=True).start()
    _, status = os.waitpid(child, 0)
    ended.set()
    if status:
        handle_event("2", arguments, _child_hung)
    for event in ("3", "4"):
        handle_event(event, arguments, producer.deliver)


def _kill_after_timeout(child: int, ended: threading.Event) -> None:
    if not ended.wait(CHILD_SECONDS):
        os.kill(child, 9)


def _child_hung(_: str) -> Delivery:
    raise DeliveryFailed(f"The child process did not answer within {CHILD_SECONDS} s.")


def deliver_or_raise(deliver: Callable[[], RecordMetadata]) -> Delivery:
    """Deliver; NotDelivered with the error's text if that fails."""
    try:
        stored = deliver()
    except Exception as error:
        raise DeliveryFailed(repr(error)) from error
    return Delivery(stored.partition, stored.offset)


if __name__ == "__main__":
    main()
