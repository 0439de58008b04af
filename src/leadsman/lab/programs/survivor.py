"""A small service whose Kafka client is plain, or wrapped by leadsman.clients, or inherited by a fork.

The settings that it is started with are a Wish, as JSON.
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

from leadsman.clients import Hop, kafka_producer_provider
from leadsman.lab.programs.talking import ANSWER_SECONDS, Call, Delivery, NotDelivered, Service, handle, start, talk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leadsman.clients import Delivered

PATIENCE = timedelta(seconds=ANSWER_SECONDS)

CHILD_SECONDS = 90
"""A child that cannot deliver hangs: after so long it is ended. Longer than its own patience."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the lab wants. `password` names the setting that the file `password_file` holds, and may hold anew."""

    client: str
    wrapped: bool
    settings: Mapping[str, Any]
    hop_seconds: float
    freezes: bool = False
    password: str = ""
    password_file: str = ""
    forks: bool = False

    def current(self) -> dict[str, Any]:
        """Return the settings with the password that holds now."""
        password = {self.password: Path(self.password_file).read_text(encoding="utf-8")} if self.password else {}
        return {**self.settings, **password}


def main() -> None:
    """Handle events, in this process or in a fork of it."""
    call = start(sys.argv[1:])
    wish = Wish(**call.settings)  # type: ignore[arg-type]  # the lab's own words
    if wish.forks:
        fork(call, wish)
    else:
        talk(call, service(call, wish))


def service(call: Call, wish: Wish) -> Service:
    """Return the service that is wished for."""
    if not wish.wrapped:
        return plain(replace(call, settings=wish.current()), wish.client)
    return (wrapped_aiokafka if wish.client == "aiokafka" else wrapped)(call, wish)


def plain(call: Call, client: str) -> Service:
    """Return the service of a client as its users have it: one producer for the life of the process."""
    from leadsman.lab.programs import talk_aiokafka, talk_confluent, talk_kafka_python  # noqa: PLC0415 (one is needed)

    programs = {"confluent-kafka": talk_confluent, "kafka-python": talk_kafka_python, "aiokafka": talk_aiokafka}
    made: Service = programs[client].service(call)
    return made


def path(wish: Wish) -> Hop:
    """Return the path as the wrapped client is told of it."""
    return Hop("broker", timedelta(seconds=wish.hop_seconds), freezes=wish.freezes)


def wrapped(call: Call, wish: Wish) -> Service:
    """Return the service of a synchronous client behind a provider."""
    client: Any = wish.client
    producers = kafka_producer_provider(wish.current, client=client, path=path(wish))

    def deliver(value: str) -> Delivery:
        return _told(producers.deliver(call.topic, value, within=PATIENCE))

    return Service(deliver=_in_words(deliver), close=producers.close)


def wrapped_aiokafka(call: Call, wish: Wish) -> Service:
    """Return the service of aiokafka behind a provider, in an event loop of its own."""
    producers = kafka_producer_provider(wish.current, client="aiokafka", path=path(wish))
    loops: dict[int, asyncio.AbstractEventLoop] = {}

    def run(coroutine: Any) -> Any:  # noqa: ANN401 (whatever it returns)
        if os.getpid() not in loops:  # a loop's thread does not survive a fork
            loop = loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="client", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, loops[os.getpid()]).result(ANSWER_SECONDS)

    def deliver(value: str) -> Delivery:
        return _told(run(producers.deliver(call.topic, value, within=PATIENCE)))

    return Service(deliver=_in_words(deliver), close=lambda: run(producers.close()))


def fork(call: Call, wish: Wish) -> None:
    """Deliver event 1, fork, deliver event 2 in the child and then events 3 and 4 here."""
    made = service(call, wish)
    handle("1", call, made.deliver)
    child = os.fork()
    if child == 0:
        handle("2", call, made.deliver)
        os._exit(0)
    ended = threading.Event()
    threading.Thread(target=_end, args=(child, ended), daemon=True).start()
    _, status = os.waitpid(child, 0)
    ended.set()
    if status:
        handle("2", call, _hung)
    for event in ("3", "4"):
        handle(event, call, made.deliver)


def _end(child: int, ended: threading.Event) -> None:
    if not ended.wait(CHILD_SECONDS):
        os.kill(child, 9)


def _hung(_: str) -> Delivery:
    raise NotDelivered(f"The child process did not answer within {CHILD_SECONDS} s.")


def _told(stored: Delivered) -> Delivery:
    return Delivery(stored.partition, stored.offset)


def _in_words(deliver: Any) -> Any:  # noqa: ANN401 (keeps what it is given)
    def told(value: str) -> Delivery:
        try:
            delivery: Delivery = deliver(value)
        except Exception as error:
            raise NotDelivered(repr(error)) from error
        return delivery

    return told


if __name__ == "__main__":
    main()
