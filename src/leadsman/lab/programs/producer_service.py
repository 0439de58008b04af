"""A small service with a Kafka producer, for every Python client: one event per command, and a service's log.

standard input    "send 17" handles event 17, "send 17 1000" with a value padded to 1000 characters; "producers
                  record" creates a producer for each record from now on (see Producers); "quit" or the end of the
                  input ends it
standard output   one JSON line per event: {"id": "17", "value": "worker-1:17", "result": "ok", "offset": 4, "ms": 3}
log file          the service's lines and its Kafka client's, interleaved
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOG = logging.getLogger("orders")

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

POLL_EVERY_SECONDS = 0.1
"""How often an idle service polls its client. Without that librdkafka's log lines come late."""

DELIVERY_SECONDS = 70
"""How long the service waits for one delivery: longer than every client's own request timeout."""


@dataclass(frozen=True, slots=True)
class ProgramArguments:
    """The program's arguments. `settings` have the client's own names and types; `producers` is for Producers."""

    worker: str
    topic: str
    producers: str
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Delivery:
    """The partition and offset of a delivered record."""

    partition: int
    offset: int


class DeliveryFailed(Exception):
    """The client reported an error for the record; the message is the client's own."""


class Sender(Protocol):
    """One producer of one client."""

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its delivery report."""

    def poll(self) -> None:
        """Serve the client's callbacks while there is nothing to do."""

    def close(self) -> None:
        """Close the producer."""


class Producers:
    """The producers of a service: one, a fixed number used in turn, or (`record`) a new one for each record."""

    def __init__(self, create: Callable[[], Sender], producers: str) -> None:
        self._create = create
        self._producers: list[Sender] = []
        self._deliveries = 0
        self.replace(producers)

    def replace(self, producers: str) -> None:
        """Close the present producers, and use others from now on."""
        self.close()
        self._producers = [] if producers == "record" else [self._create() for _ in range(int(producers))]

    def deliver(self, value: str) -> Delivery:
        """Send one record with the producer whose turn it is."""
        if not self._producers:
            return self._deliver_with_new_producer(value)
        self._deliveries += 1
        return self._producers[self._deliveries % len(self._producers)].deliver(value)

    def _deliver_with_new_producer(self, value: str) -> Delivery:
        sender = self._create()
        try:
            return sender.deliver(value)
        finally:
            sender.close()

    def poll(self) -> None:
        """Serve the callbacks of all."""
        for sender in self._producers:
            sender.poll()

    def close(self) -> None:
        """Close all."""
        for sender in self._producers:
            sender.close()


def start(arguments: list[str]) -> ProgramArguments:
    """Open the log, and parse the command line: worker, topic, producers, log file, settings as JSON."""
    worker, topic, producers, log, settings = arguments
    logging.basicConfig(level=logging.INFO, format=FORMAT, filename=log)
    return ProgramArguments(worker, topic, producers, json.loads(settings))


def log_settings(client: str, settings: Mapping[str, object]) -> None:
    """Log the configuration once, as Java clients do by themselves."""
    lines = [f"\t{name} = {value}" for name, value in sorted(settings.items())]
    LOG.info("Producer of %s with settings:\n%s", client, "\n".join(lines))


def read_commands() -> queue.Queue[str]:
    """Return a queue of the lines of standard input, closed by "quit"."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        lines.put("quit")

    threading.Thread(target=read, daemon=True).start()
    return lines


def serve_commands(arguments: ProgramArguments, create: Callable[[], Sender]) -> None:
    """Handle events until `quit`. `create` creates a producer."""
    producers = Producers(create, arguments.producers)
    lines = read_commands()
    while True:
        try:
            line = lines.get(timeout=POLL_EVERY_SECONDS)
        except queue.Empty:
            producers.poll()
            continue
        command, *words = line.split()
        if command == "quit":
            break
        if command == "producers":
            producers.replace(*words)
        else:
            handle_event(words[0], arguments, producers.deliver, size=int(words[1]) if words[1:] else 0)
    LOG.info("Shutting down")
    producers.close()


def handle_event(event: str, arguments: ProgramArguments, deliver: Callable[[str], Delivery], *, size: int = 0) -> None:
    """Handle one event, and report it: to the log in words, to the lab in JSON."""
    LOG.info("Handling event %s", event)
    began = time.monotonic()
    value = f"{arguments.worker}:{event}"
    try:
        delivery, result = deliver(value.ljust(size)), "ok"
    except Exception as error:  # noqa: BLE001 - whatever a client throws is the result
        delivery, result = Delivery(-1, -1), str(error) or repr(error)
    milliseconds = round((time.monotonic() - began) * 1000)
    if result == "ok":
        position = f"{arguments.topic}-{delivery.partition}@{delivery.offset}"
        LOG.info("Event %s delivered to %s in %d ms", event, position, milliseconds)
    else:
        LOG.error("Event %s failed: %s", event, result)
    report = {"id": event, "value": value, "result": result, "offset": delivery.offset, "ms": milliseconds}
    print(json.dumps(report), flush=True)
