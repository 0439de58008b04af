"""A small service with aiokafka."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading

import aiokafka
from aiokafka import AIOKafkaProducer

from leadsman.lab.programs.talking import ANSWER_SECONDS, Call, Delivery, NotDelivered, say_settings, start, talk

TOLD = ("acks", "connections_max_idle_ms", "request_timeout_ms", "retry_backoff_ms", "enable_idempotence")
"""Settings that are logged also where they are defaults. There is no `retries`: it tries until a request times out."""


class Sender:
    """One producer in an event loop that runs in a thread of its own, used from outside."""

    def __init__(self, call: Call, loop: asyncio.AbstractEventLoop) -> None:
        self._topic, self._loop = call.topic, loop
        self._producer = asyncio.run_coroutine_threadsafe(_producer(call), loop).result(ANSWER_SECONDS)

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait for its answer."""
        try:
            return asyncio.run_coroutine_threadsafe(self._send(value), self._loop).result(ANSWER_SECONDS)
        except Exception as error:
            raise NotDelivered(repr(error)) from error

    async def _send(self, value: str) -> Delivery:
        sent = await self._producer.send_and_wait(self._topic, value.encode())
        return Delivery(sent.partition, sent.offset)

    def breathe(self) -> None:
        """Nothing to serve: the loop runs."""

    def close(self) -> None:
        """Let go of it."""
        asyncio.run_coroutine_threadsafe(self._producer.stop(), self._loop).result(5)


def main() -> None:
    """Run the client in an event loop of its own, as its users do, and talk from outside."""
    call = start(sys.argv[1:])
    running = loop()
    talk(call, lambda: Sender(call, running))


def loop() -> asyncio.AbstractEventLoop:
    """Return an event loop that runs in a thread of its own."""
    running = asyncio.new_event_loop()
    threading.Thread(target=running.run_forever, name="client", daemon=True).start()
    return running


async def _producer(call: Call) -> AIOKafkaProducer:
    defaults = {name: p.default for name, p in inspect.signature(AIOKafkaProducer).parameters.items() if name in TOLD}
    known = {**defaults, **call.settings}
    say_settings(f"aiokafka {aiokafka.__version__}", {name.replace("_", "."): value for name, value in known.items()})
    producer = AIOKafkaProducer(**call.settings)
    await producer.start()
    return producer


if __name__ == "__main__":
    main()
