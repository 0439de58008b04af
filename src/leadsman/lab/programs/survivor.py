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
from leadsman.lab.programs.talking import ANSWER_SECONDS, Call, Delivery, NotDelivered, handle, start, talk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leadsman.clients import Delivered
    from leadsman.lab.programs.talking import Sender

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
        fork(call, sender(call, wish))
    else:
        talk(call, lambda: sender(call, wish))


def sender(call: Call, wish: Wish) -> Sender:
    """Return the producer that is wished for."""
    if not wish.wrapped:
        return plain(replace(call, settings=wish.current()), wish.client)
    return WrappedAiokafka(call, wish) if wish.client == "aiokafka" else Wrapped(call, wish)


def plain(call: Call, client: str) -> Sender:
    """Return a client's producer as its users have it: one for the life of the process."""
    from leadsman.lab.programs import talk_aiokafka, talk_confluent, talk_kafka_python  # noqa: PLC0415 (one is needed)

    made: Mapping[str, Callable[[], Sender]] = {
        "confluent-kafka": lambda: talk_confluent.Sender(call),
        "kafka-python": lambda: talk_kafka_python.Sender(call),
        "aiokafka": lambda: talk_aiokafka.Sender(call, talk_aiokafka.loop()),
    }
    return made[client]()


def path(wish: Wish) -> Hop:
    """Return the path as the wrapped client is told of it."""
    return Hop("broker", timedelta(seconds=wish.hop_seconds), freezes=wish.freezes)


class Wrapped:
    """A synchronous client behind a provider."""

    def __init__(self, call: Call, wish: Wish) -> None:
        client: Any = wish.client
        self._topic = call.topic
        self._producers = kafka_producer_provider(wish.current, client=client, path=path(wish), within=PATIENCE)

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait until it is stored."""
        return told(lambda: self._producers.deliver(self._topic, value, within=PATIENCE))

    def breathe(self) -> None:
        """Nothing to serve: waiting for a record serves."""

    def close(self) -> None:
        """Let go of it."""
        self._producers.close()


class WrappedAiokafka:
    """aiokafka behind a provider, in an event loop of its own."""

    def __init__(self, call: Call, wish: Wish) -> None:
        self._topic = call.topic
        self._producers = kafka_producer_provider(wish.current, client="aiokafka", path=path(wish), within=PATIENCE)
        self._loops: dict[int, asyncio.AbstractEventLoop] = {}

    def deliver(self, value: str) -> Delivery:
        """Send one record and wait until it is stored."""
        return told(lambda: self._run(self._producers.deliver(self._topic, value, within=PATIENCE)))

    def _run(self, coroutine: Any) -> Any:  # noqa: ANN401 (whatever it returns)
        if os.getpid() not in self._loops:  # a loop's thread does not survive a fork
            from leadsman.lab.programs.talk_aiokafka import loop  # noqa: PLC0415 (needs the client)

            self._loops[os.getpid()] = loop()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loops[os.getpid()]).result(ANSWER_SECONDS)

    def breathe(self) -> None:
        """Nothing to serve: the loop runs."""

    def close(self) -> None:
        """Let go of it."""
        self._run(self._producers.close())


def fork(call: Call, producer: Sender) -> None:
    """Deliver event 1, fork, deliver event 2 in the child and then events 3 and 4 here."""
    handle("1", call, producer.deliver)
    child = os.fork()
    if child == 0:
        handle("2", call, producer.deliver)
        os._exit(0)
    ended = threading.Event()
    threading.Thread(target=_end, args=(child, ended), daemon=True).start()
    _, status = os.waitpid(child, 0)
    ended.set()
    if status:
        handle("2", call, _hung)
    for event in ("3", "4"):
        handle(event, call, producer.deliver)


def _end(child: int, ended: threading.Event) -> None:
    if not ended.wait(CHILD_SECONDS):
        os.kill(child, 9)


def _hung(_: str) -> Delivery:
    raise NotDelivered(f"The child process did not answer within {CHILD_SECONDS} s.")


def told(deliver: Callable[[], Delivered]) -> Delivery:
    """Deliver, and put what goes wrong into words."""
    try:
        stored = deliver()
    except Exception as error:
        raise NotDelivered(repr(error)) from error
    return Delivery(stored.partition, stored.offset)


if __name__ == "__main__":
    main()
