"""What Kafka producers log when a send goes well, fails, is retried or stalls, in the words of each client.

The texts are those of Apache Kafka's Java clients 2.6, 3.7 and 4.0, of librdkafka 2.x and of kafka-python 2.0.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SENT, REOPENED, FAILED, RETRIED = "sent", "reopened", "failed", "retried"
STALLED, TIMED_OUT, REFUSED, KILLED = "stalled", "timed out", "refused", "killed"
CONSUMER_REOPENED, SLOW = "consumer reopened", "slow"

JAVA_2, JAVA_3, JAVA_4, RDKAFKA, KAFKA_PYTHON = "java 2.6", "java 3.7", "java 4.0", "librdkafka", "kafka-python"

RAW = "RAW"
"""The level of a line that the client prints by itself, outside of the program's logging."""


@dataclass(frozen=True, slots=True)
class LogCall:
    """A line that a program logs `delay_ms` after the send began."""

    delay_ms: int
    level: str
    logger: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """One record's way to a broker. `gap_ms` is how long the worker had been idle."""

    at_ms: int
    record: str
    topic: str
    partition: int
    offset: int
    node: int
    host: str
    address: str
    correlation: int
    gap_ms: int
    took_ms: int
    time_out_ms: int


def _published(send: Send, delay_ms: int) -> LogCall:
    text = f"published {send.record} to {send.topic}-{send.partition}@{send.offset} in {delay_ms} ms"
    return LogCall(delay_ms, "INFO", "OrderPublisher", text)


# ---- Java ----

_PRODUCER = "[Producer clientId=producer-1] "


def _java_dropped(send: Send, elapsed_ms: int) -> list[LogCall]:
    gone = f"{_PRODUCER}Node {send.node} disconnected."
    return [LogCall(elapsed_ms, "INFO", "NetworkClient", gone), _java_cancelled(send, elapsed_ms)]


def _java_cancelled(send: Send, elapsed_ms: int, request: str = "PRODUCE") -> LogCall:
    text = (
        f"{_PRODUCER}Cancelled in-flight {request} request with correlation id {send.correlation} due to node "
        f"{send.node} being disconnected (elapsed time since creation: {elapsed_ms}ms, elapsed time since send: "
        f"{elapsed_ms}ms, throttle time: 0ms, request timeout: {send.time_out_ms}ms)"
    )
    return LogCall(elapsed_ms, "INFO", "NetworkClient", text)


def _java_error(send: Send, delay_ms: int, cause: str) -> LogCall:
    text = (
        f"could not publish {send.record}\njava.util.concurrent.ExecutionException: {cause}\n"
        "\tat org.apache.kafka.clients.producer.internals.FutureRecordMetadata.valueOrError"
        "(FutureRecordMetadata.java:97)\n\tat com.fernweh.orders.OrderPublisher.publish(OrderPublisher.java:61)\n"
        f"Caused by: {cause}"
    )
    return LogCall(delay_ms, "ERROR", "OrderPublisher", text)


def _java_failed(send: Send) -> list[LogCall]:
    cause = f"org.apache.kafka.common.errors.NetworkException: Disconnected from node {send.node}"
    return [*_java_dropped(send, send.took_ms), _java_error(send, send.took_ms + 2, cause)]


def _java_2_failed(send: Send) -> list[LogCall]:
    cause = "org.apache.kafka.common.errors.NetworkException: The server disconnected before a response was received."
    return [_java_error(send, send.took_ms + 2, cause)]


def _java_got_error(send: Send, delay_ms: int, error: str) -> LogCall:
    text = (
        f"{_PRODUCER}Got error produce response with correlation id {send.correlation} on topic-partition "
        f"{send.topic}-{send.partition}, retrying (2147483646 attempts left). Error: {error}"
    )
    return LogCall(delay_ms, "WARN", "Sender", text)


def _java_retried(send: Send) -> list[LogCall]:
    error = f"NETWORK_EXCEPTION. Error Message: Disconnected from node {send.node}"
    warned = _java_got_error(send, send.took_ms + 1, error)
    return [*_java_dropped(send, send.took_ms), warned, _published(send, send.took_ms + 131)]


def _java_2_retried(send: Send) -> list[LogCall]:
    warned = _java_got_error(send, send.took_ms + 1, "NETWORK_EXCEPTION")
    return [warned, _published(send, send.took_ms + 131)]


def _java_stalled(send: Send) -> list[LogCall]:
    elapsed_ms = send.time_out_ms + send.took_ms
    timed_out = f"{_PRODUCER}Disconnecting from node {send.node} due to request timeout."
    error = f"REQUEST_TIMED_OUT. Error Message: Disconnected from node {send.node} due to timeout"
    return [
        LogCall(elapsed_ms, "INFO", "NetworkClient", timed_out),
        _java_cancelled(send, elapsed_ms),
        _java_got_error(send, elapsed_ms + 1, error),
        _published(send, elapsed_ms + 140),
    ]


def _java_timed_out(send: Send) -> list[LogCall]:
    elapsed_ms = send.time_out_ms + send.took_ms
    timed_out = f"{_PRODUCER}Disconnecting from node {send.node} due to request timeout."
    cause = (
        f"org.apache.kafka.common.errors.TimeoutException: Expiring 1 record(s) for {send.topic}-{send.partition}:"
        f"{elapsed_ms} ms has passed since batch creation"
    )
    return [
        LogCall(elapsed_ms, "INFO", "NetworkClient", timed_out),
        _java_cancelled(send, elapsed_ms),
        _java_error(send, elapsed_ms + 1, cause),
    ]


def _java_refused(send: Send) -> list[LogCall]:
    refused = (
        f"{_PRODUCER}Connection to node {send.node} ({send.host}/{send.address}:9092) could not be established. "
        "Node may not be available."
    )
    failed = _java_failed(send)
    return [*failed[:2], LogCall(send.took_ms + 1, "WARN", "NetworkClient", refused), *failed[2:]]


def _java_reopened(send: Send) -> list[LogCall]:
    gone = f"{_PRODUCER}Node {send.node} disconnected."
    return [
        LogCall(1, "INFO", "NetworkClient", gone),
        _java_cancelled(send, 3, request="METADATA"),
        _published(send, send.took_ms + 8),
    ]


_CONSUMER = "[Consumer clientId=consumer-ledger-1, groupId=ledger] "


def _java_consumer_reopened(send: Send) -> list[LogCall]:
    request = ("FETCH", "HEARTBEAT", "FIND_COORDINATOR", "API_VERSIONS")[send.offset % 4]
    cancelled = _java_cancelled(send, 4, request=request).text.replace(_PRODUCER, _CONSUMER)
    gone = f"{_CONSUMER}Node {send.node} disconnected."
    call = [LogCall(1, "INFO", "NetworkClient", gone), LogCall(4, "INFO", "NetworkClient", cancelled)]
    return [*call, *_java_consumer_noticed(send, request), _published(send, send.took_ms + 8)]


def _java_consumer_noticed(send: Send, request: str) -> list[LogCall]:
    coordinator = f"{send.host}:9092 (id: {2147483647 - send.node} rack: null)"
    session = f"(sessionId={send.offset * 7919 % 10**9}, epoch={send.correlation})"
    fetch = f"{_CONSUMER}Error sending fetch request {session} to node {send.node}:"
    lost = (
        f"{_CONSUMER}Group coordinator {coordinator} is unavailable or invalid due to cause: coordinator unavailable."
        "isDisconnected: true. Rediscovery will be attempted."
    )
    if request == "FETCH":
        cause = "\norg.apache.kafka.common.errors.DisconnectException: null"
        return [LogCall(4, "INFO", "FetchSessionHandler", fetch + cause)]
    if request == "HEARTBEAT":
        found = f"{_CONSUMER}Discovered group coordinator {coordinator}"
        return [LogCall(5, "INFO", "ConsumerCoordinator", lost), LogCall(9, "INFO", "ConsumerCoordinator", found)]
    return []


# ---- librdkafka ----


def _rdkafka(send: Send, delay_ms: int, severity: str, text: str) -> LogCall:
    seconds = (send.at_ms + delay_ms) / 1000
    broker = f"{send.host}:9092/{send.node}"
    facility = "REQTMOUT" if "imed out" in text and "disconnect" not in text else "FAIL"
    return LogCall(
        delay_ms, RAW, "", f"%{severity}|{seconds:.3f}|{facility}|rdkafka#producer-1| [thrd:{broker}]: {broker}: {text}"
    )


def _rdkafka_dropped(send: Send) -> LogCall:
    how = ("connection reset by peer", "connection closed by peer: receive 0 after POLLIN")[send.correlation % 2]
    return _rdkafka(send, send.took_ms, "6", f"Disconnected: {how} (after {send.gap_ms}ms in state UP)")


def _rdkafka_error(send: Send, delay_ms: int, error: str) -> LogCall:
    text = f"delivery of {send.record} to {send.topic} [{send.partition}] failed: KafkaError{{{error}}}"
    return LogCall(delay_ms, "ERROR", "publisher", text)


def _rdkafka_failed(send: Send) -> list[LogCall]:
    error = 'code=_TRANSPORT,val=-195,str="Local: Broker transport failure"'
    return [_rdkafka_dropped(send), _rdkafka_error(send, send.took_ms + 2, error)]


def _rdkafka_retried(send: Send) -> list[LogCall]:
    return [_rdkafka_dropped(send), _published(send, send.took_ms + 1104)]


def _rdkafka_request_timed_out(send: Send) -> list[LogCall]:
    elapsed_ms = send.time_out_ms + send.took_ms
    counts = "Timed out 1 in-flight, 0 retry-queued, 0 out-queue, 0 partially-sent requests"
    down = "1 request(s) timed out: disconnect (average rtt 3.127ms)"
    return [
        _rdkafka(send, elapsed_ms, "5", f"Timed out ProduceRequest in flight (after {elapsed_ms}ms, timeout #0)"),
        _rdkafka(send, elapsed_ms, "4", counts),
        _rdkafka(send, elapsed_ms, "3", f"{down} (after {send.gap_ms + elapsed_ms}ms in state UP)"),
    ]


def _rdkafka_stalled(send: Send) -> list[LogCall]:
    return [*_rdkafka_request_timed_out(send), _published(send, send.time_out_ms + send.took_ms + 1100)]


def _rdkafka_timed_out(send: Send) -> list[LogCall]:
    error = 'code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"'
    return [*_rdkafka_request_timed_out(send), _rdkafka_error(send, send.time_out_ms + send.took_ms + 3, error)]


def _rdkafka_refused(send: Send) -> list[LogCall]:
    refused = f"Connect to ipv4#{send.address}:9092 failed: Connection refused (after 0ms in state CONNECT)"
    return [_rdkafka_failed(send)[0], _rdkafka(send, send.took_ms + 1, "3", refused), _rdkafka_failed(send)[1]]


def _rdkafka_slow(send: Send) -> list[LogCall]:
    """A call that is silent for 21 to 25 s before it fails: the time is the call's own, no worker was idle."""
    silent_ms = 21_000 + send.offset * 7919 % 4_000
    down = f"Disconnected: connection closed by peer: receive 0 after POLLIN (after {silent_ms}ms in state UP)"
    error = 'code=_TRANSPORT,val=-195,str="Local: Broker transport failure"'
    return [*_killed(send), _rdkafka(send, silent_ms, "6", down), _rdkafka_error(send, silent_ms + 2, error)]


# ---- kafka-python ----


def _connection(send: Send) -> str:
    return f"<BrokerConnection node_id={send.node} host={send.host}:9092 <connected> [IPv4 ('{send.address}', 9092)]>"


def _python_dropped(send: Send) -> list[LogCall]:
    closing = f"{_connection(send)}: Closing connection. KafkaConnectionError: socket disconnected"
    return [
        LogCall(send.took_ms, "ERROR", "kafka.conn", f"{_connection(send)}: socket disconnected"),
        LogCall(send.took_ms, "INFO", "kafka.conn", closing),
        LogCall(
            send.took_ms,
            "WARNING",
            "kafka.client",
            f"Node {send.node} connection failed -- refreshing metadata",
        ),
    ]


def _python_error(send: Send, delay_ms: int, error: str) -> LogCall:
    text = (
        f"could not publish {send.record}\nTraceback (most recent call last):\n"
        '  File "/var/task/publisher.py", line 48, in publish\n'
        "    metadata = future.get(timeout=60)\n"
        '  File "/var/task/kafka/producer/future.py", line 67, in get\n'
        f"    raise self.exception # pylint: disable-msg=raising-bad-type\nkafka.errors.{error}"
    )
    return LogCall(delay_ms, "ERROR", "publisher", text)


def _python_failed(send: Send) -> list[LogCall]:
    error = "KafkaConnectionError: KafkaConnectionError: socket disconnected"
    return [*_python_dropped(send), _python_error(send, send.took_ms + 2, error)]


def _python_retried(send: Send) -> list[LogCall]:
    partition = f"TopicPartition(topic='{send.topic}', partition={send.partition})"
    text = (
        f"Got error produce response on topic-partition {partition}, retrying (2 attempts left). "
        "Error: KafkaConnectionError: socket disconnected"
    )
    warned = LogCall(send.took_ms + 1, "WARNING", "kafka.producer.sender", text)
    return [*_python_dropped(send), warned, _published(send, send.took_ms + 180)]


def _python_request_timed_out(send: Send) -> list[LogCall]:
    elapsed_ms = send.time_out_ms + send.took_ms
    warned = f"{_connection(send)} timed out after {send.time_out_ms} ms. Closing connection."
    closing = (
        f"{_connection(send)}: Closing connection. [Error 7] RequestTimedOutError: "
        f"Request timed out after {send.time_out_ms} ms"
    )
    return [
        LogCall(elapsed_ms, "WARNING", "kafka.client", warned),
        LogCall(elapsed_ms, "INFO", "kafka.conn", closing),
    ]


def _python_stalled(send: Send) -> list[LogCall]:
    return [*_python_request_timed_out(send), _published(send, send.time_out_ms + send.took_ms + 170)]


def _python_timed_out(send: Send) -> list[LogCall]:
    error = f"RequestTimedOutError: [Error 7] RequestTimedOutError: Request timed out after {send.time_out_ms} ms"
    return [*_python_request_timed_out(send), _python_error(send, send.time_out_ms + send.took_ms + 2, error)]


def _python_refused(send: Send) -> list[LogCall]:
    text = f"Connect attempt to {_connection(send)} returned error 111. Disconnecting."
    refused = LogCall(send.took_ms + 1, "ERROR", "kafka.conn", text.replace("connected>", "connecting>"))
    failed = _python_failed(send)
    return [*failed[:-1], refused, failed[-1]]


def _python_reopened(send: Send) -> list[LogCall]:
    idle_ms = min(send.gap_ms, 540_000) + 11
    closing = f"Closing idle connection {send.node}, last active {idle_ms} ms ago"
    return [LogCall(0, "INFO", "kafka.client", closing), _published(send, send.took_ms + 9)]


# ---- all ----


def _sent(send: Send) -> list[LogCall]:
    return [_published(send, send.took_ms)]


def _killed(send: Send) -> list[LogCall]:
    return [LogCall(1, "INFO", "OrderPublisher", f"publishing {send.record} to {send.topic}")]


def _rdkafka_killed(send: Send) -> list[LogCall]:
    return [*_killed(send), *_rdkafka_request_timed_out(send)]


_JAVA_3: dict[str, Callable[[Send], list[LogCall]]] = {
    SENT: _sent,
    REOPENED: _java_reopened,
    FAILED: _java_failed,
    RETRIED: _java_retried,
    STALLED: _java_stalled,
    TIMED_OUT: _java_timed_out,
    REFUSED: _java_refused,
    CONSUMER_REOPENED: _java_consumer_reopened,
    KILLED: _killed,
}

_JAVA_2 = {**_JAVA_3, REOPENED: _sent, FAILED: _java_2_failed, RETRIED: _java_2_retried}

_RDKAFKA: dict[str, Callable[[Send], list[LogCall]]] = {
    SENT: _sent,
    REOPENED: _sent,
    FAILED: _rdkafka_failed,
    RETRIED: _rdkafka_retried,
    STALLED: _rdkafka_stalled,
    TIMED_OUT: _rdkafka_timed_out,
    REFUSED: _rdkafka_refused,
    SLOW: _rdkafka_slow,
    KILLED: _rdkafka_killed,
}

_PYTHON: dict[str, Callable[[Send], list[LogCall]]] = {
    SENT: _sent,
    REOPENED: _python_reopened,
    FAILED: _python_failed,
    RETRIED: _python_retried,
    STALLED: _python_stalled,
    TIMED_OUT: _python_timed_out,
    REFUSED: _python_refused,
    KILLED: _killed,
}

WORDS: dict[str, dict[str, Callable[[Send], list[LogCall]]]] = {
    JAVA_2: _JAVA_2,
    JAVA_3: _JAVA_3,
    JAVA_4: _JAVA_3,
    RDKAFKA: _RDKAFKA,
    KAFKA_PYTHON: _PYTHON,
}
"""What each client logs, by what came of the send."""
