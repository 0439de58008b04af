"""What the Python programs share: a small service that handles one event per command, and logs as services do.

standard input    "send 17" handles event 17; "quit", or the end of the input, ends the program
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
from typing import TYPE_CHECKING

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
    """What the lab asked for. `settings` carry the client's own names and types."""

    worker: str
    topic: str
    settings: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Delivery:
    """Where a record went."""

    partition: int
    offset: int


class NotDelivered(Exception):
    """The client said that the record was not delivered, in its own words."""


def start(arguments: list[str]) -> Call:
    """Open the log, and read the call from the command line: worker, topic, log file, settings as JSON."""
    worker, topic, log, settings = arguments
    logging.basicConfig(level=logging.INFO, format=FORMAT, filename=log)
    return Call(worker, topic, json.loads(settings))


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


def talk(call: Call, deliver: Callable[[str], Delivery], breathe: Callable[[], None] = lambda: None) -> None:
    """Handle events until told to quit. `breathe` is called while there is nothing to do."""
    lines = commands()
    while True:
        try:
            line = lines.get(timeout=BREATH_SECONDS)
        except queue.Empty:
            breathe()
            continue
        if line == "quit":
            break
        handle(line.removeprefix("send "), call, deliver)
    LOG.info("Shutting down")


def handle(event: str, call: Call, deliver: Callable[[str], Delivery]) -> None:
    """Handle one event, and say how it went: to the log in words, to the lab in JSON."""
    LOG.info("Handling event %s", event)
    began = time.monotonic()
    value = f"{call.worker}:{event}"
    try:
        delivery, result = deliver(value), "ok"
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
