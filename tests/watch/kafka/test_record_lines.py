"""Records as shippers write them: whose line it is, which text, and at what time."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Message
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from leadsman.watch.kafka.record_lines import LineEntry, RecordLines, RecordReader, keys_name_writers

if TYPE_CHECKING:
    from collections.abc import Sequence

AT = 1_771_243_831_123
"""2026-02-16T12:10:31.123Z"""
ARRIVED = AT + 5000
ISO = "2026-02-16T12:10:31.123Z"
LINE = "2026-02-16 12:10:31,123 ERROR Mail failed"


def record(
    value: object,
    *,
    key: bytes | None = None,
    headers: list[tuple[str, str | bytes | None]] | None = None,
    at: int = ARRIVED,
    offset: int = 0,
) -> Message:
    data = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
    return Message(topic="logs", partition=0, offset=offset, key=key, value=data, headers=headers, timestamp=(1, at))


def read(*records: Message, **options: Any) -> RecordLines:
    return RecordReader("logs", UTC, **options).read({0: records})


def only_line(message: Message) -> tuple[str | None, LineEntry]:
    found = read(message)
    ((writer, entries),) = found.in_order()
    (entry,) = entries
    assert not found.set_aside
    return writer, entry


FILEBEAT: dict[str, Any] = {
    "@timestamp": ISO,
    "@metadata": {"beat": "filebeat", "type": "_doc", "version": "8.16.0"},
    "log": {"offset": 0, "file": {"path": "/var/log/kafka/server.log"}},
    "message": LINE,
    "input": {"type": "filestream"},
    "ecs": {"version": "8.0.0"},
    "host": {"name": "broker-1"},
    "agent": {"type": "filebeat", "version": "8.16.0", "hostname": "broker-1"},
}
KUBERNETES = {
    "pod": {"name": "orders-7c5d-x2x9p", "uid": "1"},
    "container": {"name": "orders"},
    "namespace": "shop",
    "node": {"name": "node-1"},
}
FLUENT_BIT = {
    "@timestamp": 1771243831.123,
    "log": LINE + "\n",
    "stream": "stdout",
    "kubernetes": {
        "pod_name": "orders-7c5d-x2x9p",
        "namespace_name": "shop",
        "container_name": "orders",
        "docker_id": "0a1b2c",
        "host": "node-1",
    },
}
VECTOR_FILE = {
    "file": "/var/log/kafka/server.log",
    "host": "broker-1",
    "message": LINE,
    "offset": 0,
    "source_type": "file",
    "timestamp": ISO,
}
VECTOR_KUBERNETES = {
    "file": "/var/log/pods/shop_orders-7c5d-x2x9p_1/orders/0.log",
    "kubernetes": {"pod_name": "orders-7c5d-x2x9p", "container_name": "orders", "pod_namespace": "shop"},
    "message": LINE,
    "source_type": "kubernetes_logs",
    "stream": "stdout",
    "timestamp": ISO,
}
VECTOR_DOCKER = {
    "container_name": "orders",
    "host": "node-1",
    "message": LINE,
    "source_type": "docker_logs",
    "stream": "stdout",
    "timestamp": ISO,
}
LOKI = {
    "streams": [
        {
            "stream": {"pod": "orders-7c5d-x2x9p", "container": "orders", "namespace": "shop"},
            "values": [[f"{AT}000000", LINE, {"trace_id": "1"}]],
        }
    ]
}


@pytest.mark.parametrize(
    ("value", "writer"),
    [
        pytest.param(FILEBEAT, "broker-1/var/log/kafka/server.log", id="filebeat, of a file"),
        pytest.param({**FILEBEAT, "kubernetes": KUBERNETES}, "orders-7c5d-x2x9p/orders", id="filebeat, of a pod"),
        pytest.param(FLUENT_BIT, "orders-7c5d-x2x9p/orders", id="fluent bit"),
        pytest.param(VECTOR_FILE, "broker-1/var/log/kafka/server.log", id="vector, of a file"),
        pytest.param(VECTOR_KUBERNETES, "orders-7c5d-x2x9p/orders", id="vector, of a pod"),
        pytest.param(VECTOR_DOCKER, "orders", id="vector, of a container"),
        pytest.param(LOKI, "orders-7c5d-x2x9p/orders", id="loki push"),
    ],
)
def test_a_shipper_s_record_names_writer_time_and_line(value: object, writer: str):
    found, entry = only_line(record(value, key=b"a key that names nobody"))

    assert found == writer
    assert entry[:3] == (AT, LINE.encode(), b"")


def otlp_logs() -> dict[str, Any]:
    log_record = {
        "timeUnixNano": f"{AT}000000",
        "severityNumber": 17,
        "severityText": "ERROR",
        "body": {"stringValue": "Mail failed"},
        "attributes": [{"key": "exception.stacktrace", "value": {"stringValue": "x.Full: no\n\tat Mails.send"}}],
    }
    attributes = [
        {"key": "k8s.pod.name", "value": {"stringValue": "orders-1"}},
        {"key": "k8s.container.name", "value": {"stringValue": "orders"}},
    ]
    return {"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [{"logRecords": [log_record]}]}]}


def as_protobuf(document: dict[str, Any], kind: Any = LogsData) -> bytes:
    from google.protobuf.json_format import ParseDict

    return bytes(ParseDict(document, kind()).SerializeToString())


@pytest.mark.parametrize("value", [otlp_logs(), as_protobuf(otlp_logs())], ids=["json", "protobuf"])
def test_an_otlp_log_record_has_level_stack_and_the_pod_of_its_resource(value: object):
    writer, entry = only_line(record(value))

    assert writer == "orders-1/orders"
    assert entry == LineEntry(AT, b"Mail failed\nx.Full: no\n\tat Mails.send", b"[ERROR] ")


def otlp_metrics() -> dict[str, Any]:
    point = {
        "timeUnixNano": f"{AT}000000",
        "asDouble": 7.5,
        "attributes": [{"key": "area", "value": {"stringValue": "heap"}}],
    }
    count = {"timeUnixNano": f"{AT}000000", "asInt": "12345678901"}
    metrics = [
        {"name": "jvm_memory_used_bytes", "gauge": {"dataPoints": [point]}},
        {"name": "kafka.server.total", "sum": {"dataPoints": [count]}},
    ]
    attributes = [{"key": "service.instance.id", "value": {"stringValue": "broker-1:7071"}}]
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [{"metrics": metrics}]}]}


@pytest.mark.parametrize("value", [otlp_metrics(), as_protobuf(otlp_metrics(), MetricsData)], ids=["json", "protobuf"])
def test_otlp_metrics_are_prometheus_s_text_with_their_times(value: object):
    (output,) = read(record(value)).outputs

    assert output.writer == "broker-1:7071"
    assert output.text.decode().splitlines() == [
        f'jvm_memory_used_bytes{{instance="broker-1:7071",area="heap"}} 7.5 {AT}',
        f'kafka_server_total{{instance="broker-1:7071"}} 12345678901.0 {AT}',
    ]


def test_traces_and_other_binary_values_are_set_aside_with_partition_and_offset():
    span = {"traceId": "AAAAAAAAAAAAAAAAAAAAAA==", "spanId": "AAAAAAAAAAA=", "name": "send"}
    traces = as_protobuf({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, TracesData)
    avro = b"\0\0\0\0\x07\x02\x06abc"

    found = read(record(traces, offset=4), record(LINE.encode(), key=b"a"), record(avro, offset=6))

    assert [(each.partition, each.offset, each.value) for each in found.set_aside] == [(0, 4, traces), (0, 6, avro)]
    assert [writer for writer, _ in found.in_order()] == ["a"]


def test_a_raw_line_is_of_the_writer_in_its_key():
    assert only_line(record(LINE.encode(), key=b"clients/worker-1.log")) == (
        "clients/worker-1.log",
        LineEntry(ARRIVED, LINE.encode()),
    )


def test_headers_name_a_writer_before_the_key_does():
    headers: list[tuple[str, str | bytes | None]] = [
        ("host.name", b"broker-1"),
        ("log.file.path", b"/var/log/server.log"),
    ]

    assert only_line(record(LINE.encode(), key=b"7", headers=headers))[0] == "broker-1/var/log/server.log"


@pytest.mark.parametrize("key", [None, b"", b"\x00\x01\xff", b"x" * 500], ids=["none", "empty", "binary", "long"])
def test_a_key_that_is_no_name_names_no_service(key: bytes | None):
    assert only_line(record(LINE.encode(), key=key))[0] is None


def test_a_line_that_begins_like_json_is_a_line():
    assert only_line(record(b"{not json", key=b"a"))[1].text == b"{not json"


def test_an_application_s_json_keeps_its_level_apart_and_is_of_its_key():
    value = {"timestamp": ISO, "level": "error", "message": "Mail failed", "events": [1, 2]}

    assert only_line(record(value, key=b"orders")) == ("orders", LineEntry(AT, b"Mail failed", b"[ERROR] "))


def test_an_application_s_host_and_its_key_are_one_writer_together():
    value = {"timestamp": ISO, "level": "error", "message": "Mail failed", "host": "app-1"}

    assert only_line(record(value, key=b"orders"))[0] == "app-1/orders"
    assert only_line(record(value))[0] == "app-1"
    assert only_line(record(value, key=b"app-1"))[0] == "app-1"


def test_an_empty_message_is_an_empty_line_and_a_record_without_one_is_shown_as_it_is():
    assert only_line(record({**FILEBEAT, "message": ""}))[1].text == b""
    assert only_line(record({"@timestamp": ISO, "code": 7}, key=b"a"))[1].text.startswith(b'{"@timestamp"')


def test_a_tombstone_is_no_line_and_an_empty_value_is_an_empty_line():
    assert list(read(record(None)).in_order()) == []
    assert only_line(record(b"", key=b"a"))[1].text == b""


def test_a_cloudwatch_subscription_holds_several_lines():
    value = {
        "messageType": "DATA_MESSAGE",
        "logGroup": "/ecs/orders",
        "logStream": "orders/1",
        "logEvents": [
            {"id": "1", "timestamp": AT, "message": "one"},
            {"id": "2", "timestamp": AT + 1, "message": "two"},
        ],
    }

    ((writer, entries),) = read(record(value)).in_order()

    assert writer == "orders/1"
    assert entries == [LineEntry(AT, b"one"), LineEntry(AT + 1, b"two")]


def test_lines_of_one_writer_in_several_partitions_come_by_their_times():
    times = {0: [1, 4, 5], 1: [2, 3, 6]}
    records = {
        number: [record({**FILEBEAT, "@timestamp": stamp(at), "message": str(at)}) for at in own]
        for number, own in times.items()
    }

    ((_, entries),) = RecordReader("logs", UTC).read(records).in_order()

    assert [each.text for each in entries] == [b"1", b"2", b"3", b"4", b"5", b"6"]


def test_lines_of_one_time_in_several_partitions_come_by_their_place_in_the_file():
    def line(place: int) -> Message:
        return record({**FILEBEAT, "log": {"offset": place, "file": {"path": "a.log"}}, "message": str(place)})

    records = {0: [line(20), line(30)], 1: [line(10), line(40)]}

    ((_, entries),) = RecordReader("logs", UTC).read(records).in_order()

    assert [each.text for each in entries] == [b"10", b"20", b"30", b"40"]


def test_within_one_partition_lines_stay_in_their_order_where_a_clock_steps_back():
    records = {0: [record(str(at).encode(), key=b"a", at=at) for at in (5, 3, 9)], 1: [record(b"6", key=b"a", at=6)]}

    ((_, entries),) = RecordReader("logs", UTC).read(records).in_order()

    assert [each.text for each in entries] == [b"5", b"3", b"6", b"9"]


def test_keys_that_are_different_in_each_record_name_no_writers():
    ids = {0: [record(b"x", key=str(number).encode()) for number in range(2000)]}
    names = {0: [record(b"x", key=str(number % 1500).encode()) for number in range(9000)]}

    assert not keys_name_writers(ids, known=0, seen=0)
    assert keys_name_writers(names, known=0, seen=0)
    assert only_no_writer(ids[0])


def only_no_writer(records: Sequence[Message]) -> bool:
    return [writer for writer, _ in read(*records, keys_name_writers=False).in_order()] == [None]


def test_prometheus_s_text_in_a_record_is_metrics():
    text = b'# TYPE jvm_memory_used_bytes gauge\njvm_memory_used_bytes{area="heap"} 5\n'

    (output,) = read(record(text, key=b"broker-1:7071")).outputs

    assert (output.writer, output.at, output.text) == ("broker-1:7071", ARRIVED, text)


def stamp(seconds: int) -> str:
    return datetime.fromtimestamp(AT / 1000 + seconds, UTC).isoformat()
