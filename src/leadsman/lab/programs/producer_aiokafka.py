"""A small service with aiokafka."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading

import aiokafka
from aiokafka import AIOKafkaProducer

from leadsman.lab.programs.producer_service import (
    DELIVERY_SECONDS,
    Delivery,
    DeliveryFailed,
    ProgramArguments,
    log_settings,
    serve_commands,
    start,
)

LOGGED_SETTINGS = ("acks", "connections_max_idle_ms", "request_timeout_ms", "retry_backoff_ms", "enable_idempotence")
"""Settings that are logged even as defaults. aiokafka has no `retries`: it retries until a request times out."""


class AiokafkaSender:
    """One producer in an event loop that runs in a thread of its own, used from outside."""

    def __init__(self, arguments: ProgramArguments, loop: asyncio.AbstractEventLoop) -> None:
        self._topic, self._loop = arguments.topic, loop
        self._producer = asyncio.run_coroutine_threadsafe(_producer(arguments), loop).result(DELIVERY_SECONDS)

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its delivery report."""
        try:
            return asyncio.run_coroutine_threadsafe(self._send(value), self._loop).result(DELIVERY_SECONDS)
        except Exception as error:
            raise DeliveryFailed(repr(error)) from error

    async def _send(self, value: str) -> Delivery:
        sent = await self._producer.send_and_wait(self._topic, value.encode())
        return Delivery(sent.partition, sent.offset)

    def poll(self) -> None:
        """Nothing to poll: the loop runs."""

    def close(self) -> None:
        """Close the producer."""
        asyncio.run_coroutine_threadsafe(self._producer.stop(), self._loop).result(5)


def main() -> None:
    """Run the client in an event loop of its own, as its users do, and serve commands from outside."""
    arguments = start(sys.argv[1:])
    running = loop()
    serve_commands(arguments, lambda: AiokafkaSender(arguments, running))


def loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that runs in a thread of its own."""
    running = asyncio.new_event_loop()
    threading.Thread(target=running.run_forever, name="client", daemon=True).start()
    return running


async def _producer(arguments: ProgramArguments) -> AIOKafkaProducer:
    defaults = {
        name: p.default for name, p in inspect.signature(AIOKafkaProducer).parameters.items() if name in LOGGED_SETTINGS
    }
    settings = {**defaults, **arguments.settings}
    log_settings(
        f"aiokafka {aiokafka.__version__}", {name.replace("_", "."): value for name, value in settings.items()}
    )
    producer = AIOKafkaProducer(**arguments.settings)
    await producer.start()
    return producer


if __name__ == "__main__":
    main()
