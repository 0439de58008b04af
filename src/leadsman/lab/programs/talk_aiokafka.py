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


def main() -> None:
    """Run the client in an event loop of its own, as its users do, and talk from outside."""
    call = start(sys.argv[1:])
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="client", daemon=True).start()
    producer = asyncio.run_coroutine_threadsafe(_producer(call), loop).result(ANSWER_SECONDS)

    async def send(value: str) -> Delivery:
        sent = await producer.send_and_wait(call.topic, value.encode())
        return Delivery(sent.partition, sent.offset)

    def deliver(value: str) -> Delivery:
        try:
            return asyncio.run_coroutine_threadsafe(send(value), loop).result(ANSWER_SECONDS)
        except Exception as error:
            raise NotDelivered(repr(error)) from error

    talk(call, deliver)
    asyncio.run_coroutine_threadsafe(producer.stop(), loop).result(5)


async def _producer(call: Call) -> AIOKafkaProducer:
    defaults = {name: p.default for name, p in inspect.signature(AIOKafkaProducer).parameters.items() if name in TOLD}
    known = {**defaults, **call.settings}
    say_settings(f"aiokafka {aiokafka.__version__}", {name.replace("_", "."): value for name, value in known.items()})
    producer = AIOKafkaProducer(**call.settings)
    await producer.start()
    return producer


if __name__ == "__main__":
    main()
