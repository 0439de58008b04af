"""One admin connection to a cluster, opened by the first request, and batches of bounded size."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from leadsman.collect.collector import NotCollected
from leadsman.collect.kafka.bootstrap_servers import connection_failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

T = TypeVar("T")
V = TypeVar("V")

CONNECT_TIMEOUT_MS = 15_000
REQUEST_TIMEOUT_MS = 30_000
RECONNECT_PAUSE_SECONDS = 10.0
"""After a failure to connect, the next requests of the same round fail at once instead of waiting for a timeout."""

ATTEMPTS = 10
ATTEMPTS_SECONDS = 15.0
"""A request that any broker can answer goes to the next one where a broker is dead, so often and for so long.

kafka-python asks a broker at random until one is connected, and does not repeat a request. For some 50 ms it leaves out
the broker that failed (reconnect.backoff.ms): an attempt that follows at once goes to another one.
"""

ERROR_TEXTS = {
    "NodeNotReadyError": "No connection: an attempt to connect failed a moment ago",
    "UnknownBrokerIdError": "The other brokers name no address of this broker: it is fenced, or has shut down",
}
"""For errors of kafka-python that hold no more than the broker's id."""

SILENT_PAUSE_SECONDS = 60.0
"""A broker that did not answer is left out for so long: a round of requests takes less."""

MAX_RESPONSE_BYTES = 512 << 20
"""Responses for partitions with millions of producer ids are large; the client's default limit is 100 MB."""


class ClusterAdmin:
    """The admin API of one cluster. Every failure is raised as NotCollected.

    `settings` is called when the connection is opened: reading key stores needs other programs.
    """

    def __init__(self, settings: Callable[[], Mapping[str, object]]) -> None:
        self._settings = settings
        self._admin: Any = None
        self._failed: tuple[float, str] | None = None
        self._silent_brokers: dict[int, tuple[float, str]] = {}

    def request(self, call: Callable[..., T], *arguments: object) -> T:
        """Return the result of `call`, a function of the admin client and of these arguments, which changes nothing.

        Where a broker has no connection, another one is asked.
        """
        return self._attempt(call, arguments, attempts=ATTEMPTS)

    def change(self, call: Callable[[Any], T]) -> T:
        """Return the result of `call`, which changes the cluster: sent once, because one without answer may be done."""
        return self._attempt(call, (), attempts=1)

    def _attempt(self, call: Callable[..., T], arguments: Sequence[object], *, attempts: int) -> T:
        from kafka.errors import (
            KafkaConnectionError,
            KafkaError,
            KafkaTimeoutError,
            NodeNotReadyError,
            RequestTimedOutError,
        )

        failures: list[Exception] = []
        until = time.monotonic() + ATTEMPTS_SECONDS
        while len(failures) < attempts and time.monotonic() < until:
            try:
                return call(self._open_connection(), *arguments)
            except (KafkaConnectionError, KafkaTimeoutError, RequestTimedOutError) as error:
                failures.append(error)
            except NodeNotReadyError as error:  # each broker that could answer failed a moment ago
                failures.append(error)
                break
            except (KafkaError, OSError, ValueError, LookupError, TimeoutError) as error:
                raise NotCollected(_error_text(error)) from error
        raise NotCollected(_error_text(failures[0])) from failures[0]

    def request_halving(
        self, call: Callable[[Any, Sequence[T]], Mapping[T, V]], items: Sequence[T]
    ) -> tuple[dict[T, V], dict[T, str]]:
        """Return the result of `call`, a function of the admin client and of items, and why single items have none.

        One item that fails, fails the request for all: the request is repeated for each half.
        """
        try:
            return dict(self.request(call, items)), {}
        except NotCollected as error:
            if len(items) == 1:
                return {}, {items[0]: str(error)}
        half = len(items) // 2
        first, second = (self.request_halving(call, some) for some in (items[:half], items[half:]))
        return first[0] | second[0], first[1] | second[1]

    def describe(self) -> dict[str, Any]:
        """Return the cluster's `brokers` (broker_id, host, port, rack), `controller_id` and `cluster_id`."""
        return self.request(_describe_cluster)

    def brokers(self) -> list[int]:
        """Return the ids of all brokers."""
        return sorted(int(each["broker_id"]) for each in self.describe()["brokers"])

    def request_each_broker(self, call: Callable[[Any, int], T]) -> Iterator[tuple[int, T]]:
        """Yield each broker that answers with the result of `call`, a function of the admin client and the broker's id.

        Raises NotCollected at the end, where brokers did not answer: what the others answered is complete. A broker
        that did not answer is not asked again in the same round, since each request would wait for its timeout.
        """
        silent: dict[int, str] = {}
        nodes = self.brokers()
        for node in nodes:
            try:
                yield node, self._request_broker(call, node)
            except NotCollected as error:
                silent[node] = str(error)
        if silent:
            named = "; ".join(f"broker {node}: {why}" for node, why in silent.items())
            raise NotCollected(f"{len(silent)} of {len(nodes)} brokers did not answer. {named}")

    def _request_broker(self, call: Callable[[Any, int], T], node: int) -> T:
        failed_at, why = self._silent_brokers.get(node, (-SILENT_PAUSE_SECONDS, ""))
        if time.monotonic() - failed_at < SILENT_PAUSE_SECONDS:
            raise NotCollected(why)
        try:
            return self.request(call, node)
        except NotCollected as error:
            self._silent_brokers[node] = (time.monotonic(), str(error))
            raise

    def _open_connection(self) -> Any:  # noqa: ANN401 - the library has no types
        from kafka.admin import KafkaAdminClient

        if self._admin is None:
            if self._failed and time.monotonic() - self._failed[0] < RECONNECT_PAUSE_SECONDS:
                raise NotCollected(self._failed[1])
            defaults = {
                "client_id": "leadsman",
                "bootstrap_timeout_ms": CONNECT_TIMEOUT_MS,
                "request_timeout_ms": REQUEST_TIMEOUT_MS,
                "receive_message_max_bytes": MAX_RESPONSE_BYTES,
            }
            settings = defaults | dict(self._settings())
            try:
                self._admin = KafkaAdminClient(**settings)
            except Exception as error:
                why = _why_no_connection(settings, error)
                self._failed = (time.monotonic(), why)
                raise NotCollected(why) from error
        return self._admin

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._admin is not None:
            with suppress(Exception):  # the connection is not used any more: its errors do not matter
                self._admin.close()
            self._admin = None


def _describe_cluster(admin: Any) -> dict[str, Any]:  # noqa: ANN401 - the library has no types
    """Request the cluster's description.

    kafka-python 3.0 fails on brokers 2.8 to 3.6, whose response has no type of endpoint. The request for older
    brokers works there.
    """
    try:
        return dict(admin.describe_cluster())
    except KeyError:
        metadata = admin._manager.run(admin._get_cluster_metadata, [])  # noqa: SLF001 - no public method does this
        return {**metadata, "brokers": [{**each, "broker_id": each["node_id"]} for each in metadata["brokers"]]}


def _why_no_connection(settings: Mapping[str, Any], error: Exception) -> str:
    """Return why there is no connection; the client's own error does not say what the other side did."""
    from kafka.errors import KafkaConnectionError, KafkaTimeoutError

    servers = list(settings["bootstrap_servers"])
    uses_tls = str(settings.get("security_protocol", "")).endswith("SSL")
    is_silent = isinstance(error, KafkaTimeoutError | KafkaConnectionError)
    if is_silent and (failures := connection_failures(servers, uses_tls=uses_tls)):
        return f"No connection to the cluster. {failures}"
    return f"No connection to {','.join(servers)}: {_error_text(error).replace(str(servers), ','.join(servers))}"


def _error_text(error: Exception) -> str:
    name = type(error).__name__
    return ERROR_TEXTS.get(name) or " ".join(str(error).split()) or name


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the items, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
