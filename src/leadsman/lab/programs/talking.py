"""What the Python programs share: a small service that handles one event per command, and logs as services do.

standard input    "send 17" handles event 17, "send 17 1000" with a value padded to 1000 characters; "hold record" makes
                  a producer for each record from now on (see Producers); "quit", or the end of the input, ends it
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

BREATH_SECONDS = 0.1
"""How often an idle service serves its client's callbacks. Without it librdkafka's log lines come late."""

ANSWER_SECONDS = 70
"""How long the service waits for one delivery: longer than every client's own request timeout."""


@dataclass(frozen=True, slots=True)
class Call:
    """What the lab asked for. `settings` carry the client's own names and types; `hold` is for Producers."""

    worker: str
    topic: str
    hold: str
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where a record went."""

    partition: int
    offset: int


class NotDelivered(Exception):
    """The client said that the record was not delivered, in its own words."""


class Sender(Protocol):
    """One producer of one client."""

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its answer."""

    def breathe(self) -> None:
        """Serve the client's callbacks while there is nothing to do."""

    def close(self) -> None:
        """Let go of it."""


class Producers:
    """The producers that a service holds: one, a fixed number used in turn, or (`record`) a new one for each record."""

    def __init__(self, make: Callable[[], Sender], hold: str) -> None:
        self._make = make
        self._held: list[Sender] = []
        self._used = 0
        self.hold(hold)

    def hold(self, how: str) -> None:
        """Let go of those that are held, and hold others from now on."""
        self.close()
        self._held = [] if how == "record" else [self._make() for _ in range(int(how))]

    def deliver(self, value: str) -> Delivery:
        """Send one record with the producer whose turn it is."""
        if not self._held:
            return self._once(value)
        self._used += 1
        return self._held[self._used % len(self._held)].deliver(value)

    def _once(self, value: str) -> Delivery:
        sender = self._make()
        try:
            return sender.deliver(value)
        finally:
            sender.close()

    def breathe(self) -> None:
        """Serve the callbacks of all."""
        for sender in self._held:
            sender.breathe()

    def close(self) -> None:
        """Let go of all."""
        for sender in self._held:
            sender.close()


def start(arguments: list[str]) -> Call:
    """Open the log, and read the call from the command line: worker, topic, hold, log file, settings as JSON."""
    worker, topic, hold, log, settings = arguments
    logging.basicConfig(level=logging.INFO, format=FORMAT, filename=log)
    return Call(worker, topic, hold, json.loads(settings))


def say_settings(client: str, settings: Mapping[str, object]) -> None:
    """Log the configuration once, as Java clients do by themselves."""
    lines = [f"\t{name} = {value}" for name, value in sorted(settings.items())]
    LOG.info("Producer of %s with settings:\n%s", client, "\n".join(lines))


def commands() -> queue.Queue[str]:
    """Return a queue of the lines of standard input, closed by "quit"."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        lines.put("quit")

    threading.Thread(target=read, daemon=True).start()
    return lines


def talk(call: Call, make: Callable[[], Sender]) -> None:
    """Handle events until told to quit. `make` makes a producer."""
    producers = Producers(make, call.hold)
    lines = commands()
    while True:
        try:
            line = lines.get(timeout=BREATH_SECONDS)
        except queue.Empty:
            producers.breathe()
            continue
        word, *arguments = line.split()
        if word == "quit":
            break
        if word == "hold":
            producers.hold(*arguments)
        else:
            handle(arguments[0], call, producers.deliver, size=int(arguments[1]) if arguments[1:] else 0)
    LOG.info("Shutting down")
    producers.close()


def handle(event: str, call: Call, deliver: Callable[[str], Delivery], *, size: int = 0) -> None:
    """Handle one event, and say how it went: to the log in words, to the lab in JSON."""
    LOG.info("Handling event %s", event)
    began = time.monotonic()
    value = f"{call.worker}:{event}"
    try:
        delivery, result = deliver(value.ljust(size)), "ok"
    except Exception as error:  # noqa: BLE001 (whatever a client throws is the result)
        delivery, result = Delivery(-1, -1), str(error) or repr(error)
    milliseconds = round((time.monotonic() - began) * 1000)
    if result == "ok":
        place = f"{call.topic}-{delivery.partition}@{delivery.offset}"
        LOG.info("Event %s delivered to %s in %d ms", event, place, milliseconds)
    else:
        LOG.error("Event %s failed: %s", event, result)
    told = {"id": event, "value": value, "result": result, "offset": delivery.offset, "ms": milliseconds}
    print(json.dumps(told), flush=True)
