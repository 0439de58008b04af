"""What workers log when PostgreSQL, Redis or an HTTP service drops an idle connection while Kafka is well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.production.serverless_wordings import LogCall

if TYPE_CHECKING:
    from collections.abc import Callable

POSTGRES, REDIS, HTTP, JDBC = "postgres", "redis", "http", "jdbc"


def _postgres(delay_ms: int) -> LogCall:
    text = (
        "could not store order\nTraceback (most recent call last):\n"
        '  File "/var/task/store.py", line 33, in store\n    cursor.execute(INSERT, row)\n'
        "psycopg2.OperationalError: server closed the connection unexpectedly\n"
        "\tThis probably means the server terminated abnormally\n\tbefore or while processing the request."
    )
    return LogCall(delay_ms, "ERROR", "store", text)


def _redis(delay_ms: int) -> LogCall:
    text = (
        "could not read basket: redis.exceptions.ConnectionError: "
        "Error while reading from baskets.cache.internal:6379 : (104, 'Connection reset by peer')"
    )
    return LogCall(delay_ms, "ERROR", "baskets", text)


def _http(delay_ms: int) -> LogCall:
    text = (
        "could not fetch rates\nTraceback (most recent call last):\n"
        '  File "/opt/python/requests/adapters.py", line 682, in send\n'
        "    raise ConnectionError(err, request=request)\n"
        "requests.exceptions.ConnectionError: ('Connection aborted.', "
        "RemoteDisconnected('Remote end closed connection without response'))"
    )
    return LogCall(delay_ms, "ERROR", "rates", text)


def _jdbc(delay_ms: int) -> LogCall:
    text = (
        "could not store order\norg.postgresql.util.PSQLException: An I/O error occurred while "
        "sending to the backend.\n"
        "\tat org.postgresql.core.v3.QueryExecutorImpl.execute(QueryExecutorImpl.java:398)\n"
        "Caused by: java.net.SocketException: Connection reset"
    )
    return LogCall(delay_ms, "ERROR", "OrderStore", text)


DEPENDENCIES: dict[str, Callable[[int], LogCall]] = {POSTGRES: _postgres, REDIS: _redis, HTTP: _http, JDBC: _jdbc}
"""The error that each dependency's client raises, so many milliseconds after the send to Kafka began."""
