"""One admin connection to a cluster, made when it is first needed, and questions in bounded batches."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from leadsman.collect.collector import CouldNotBeHad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

T = TypeVar("T")

CONNECT_WITHIN_MS = 15_000
ANSWER_WITHIN_MS = 30_000
TRIED_AGAIN_SECONDS = 10.0
"""After a failure to connect the next questions of the same round are not asked: each would wait in vain."""

LARGEST_ANSWER_BYTES = 512 << 20
"""Answers about partitions with millions of producer ids are large; the client's default is 100 MB."""


class Cluster:
    """The admin API of one cluster. Every failure of it is a CouldNotBeHad.

    `settings` are looked up when a connection is made: reading key stores takes other programs.
    """

    def __init__(self, settings: Callable[[], Mapping[str, object]]) -> None:
        self._settings = settings
        self._admin: Any = None
        self._failed: tuple[float, str] | None = None

    def ask(self, question: Callable[..., T], *words: object) -> T:
        """Return what the question, a function of the admin client and of these words, returns."""
        from kafka.errors import KafkaError  # noqa: PLC0415 - loaded only where it is used

        try:
            return question(self._connected(), *words)
        except (KafkaError, OSError, ValueError, LookupError, TimeoutError) as error:
            raise CouldNotBeHad(_said(error)) from error

    def described(self) -> dict[str, Any]:
        """Return the cluster's `brokers` (broker_id, host, port, rack), `controller_id` and `cluster_id`."""
        return self.ask(_described)

    def brokers(self) -> list[int]:
        """Return the ids of all brokers."""
        return sorted(int(each["broker_id"]) for each in self.described()["brokers"])

    def _connected(self) -> Any:  # noqa: ANN401 - the library has no types
        from kafka.admin import KafkaAdminClient  # noqa: PLC0415

        if self._admin is None:
            if self._failed and time.monotonic() - self._failed[0] < TRIED_AGAIN_SECONDS:
                raise CouldNotBeHad(self._failed[1])
            known = {
                "client_id": "leadsman",
                "bootstrap_timeout_ms": CONNECT_WITHIN_MS,
                "request_timeout_ms": ANSWER_WITHIN_MS,
                "receive_message_max_bytes": LARGEST_ANSWER_BYTES,
            }
            settings = known | dict(self._settings())
            try:
                self._admin = KafkaAdminClient(**settings)
            except Exception as error:
                why = f"No connection to {settings['bootstrap_servers']}: {_said(error)}"
                self._failed = (time.monotonic(), why)
                raise CouldNotBeHad(why) from error
        return self._admin

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._admin is not None:
            with suppress(Exception):  # what is wrong with it now is of no interest to anybody
                self._admin.close()
            self._admin = None


def _described(admin: Any) -> dict[str, Any]:  # noqa: ANN401 - the library has no types
    """Ask for the cluster. kafka-python 3.0 trips over brokers 2.8 to 3.6, whose answer has no type of endpoint.

    Those are asked in the way in which it asks older ones.
    """
    try:
        return dict(admin.describe_cluster())
    except KeyError:
        told = admin._manager.run(admin._get_cluster_metadata, [])  # noqa: SLF001 - see above: there is no other way
        return {**told, "brokers": [{**each, "broker_id": each["node_id"]} for each in told["brokers"]]}


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
