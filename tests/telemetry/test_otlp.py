"""OTLP logs in JSON, as the OpenTelemetry collector's file exporter writes them: one request on each line."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest

from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.json_records import otlp
from leadsman.telemetry.recognise import recognise

AT = 1_771_243_831_123


def attribute(key: str, value: object) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value} if isinstance(value, str) else value}


def request(*messages: str, at: int = AT, **fields: Any) -> dict[str, Any]:
    records = [
        {"timeUnixNano": f"{at + place}000000", "body": {"stringValue": text}, **fields}
        for place, text in enumerate(messages)
    ]
    resource = {"attributes": [attribute("host.name", "broker-1"), attribute("service.name", "kafka")]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {}, "logRecords": records}]}]}


def test_a_file_of_requests_is_read_record_by_record():
    lines = [request("one", "two", severityText="ERROR"), request("three", at=AT + 10, severityNumber=9)]
    head = "".join(json.dumps(each) + "\n" for each in lines).encode()

    form = recognise(head, zone=UTC)

    assert isinstance(form, RecognisedFormat)
    assert form.records is not None
    assert [(each.at, each.subject, each.text) for each in form.records([head])] == [
        (AT, "broker-1", "[ERROR] one"),
        (AT + 1, "broker-1", "[ERROR] two"),
        (AT + 10, "broker-1", "[INFO] three"),
    ]


def test_a_body_of_loki_s_push_api_is_read_like_its_answers():
    body = {"streams": [{"stream": {"pod": "a", "container": "b"}, "values": [[f"{AT}000000", "one"]]}]}
    head = json.dumps(body).encode()

    form = recognise(head, zone=UTC)

    assert isinstance(form, RecognisedFormat)
    assert form.records is not None
    assert [(each.at, each.subject, each.text) for each in form.records([head])] == [(AT, "a/b", "one")]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"stringValue": "text"}, "text"),
        ({"kvlistValue": {"values": [attribute("code", {"intValue": "7"})]}}, '{"code": "7"}'),
        ({"arrayValue": {"values": [{"stringValue": "a"}, {"boolValue": True}]}}, '["a", true]'),
        (None, ""),
        ("no value of OTLP", ""),
    ],
)
def test_a_body_of_any_kind_is_a_message(body: object, message: str):
    (record,) = otlp.log_records({"scopeLogs": [{"logRecords": [{"body": body}]}]})

    assert record["message"] == message


@pytest.mark.parametrize("broken", [None, 5, "x", [], {}, {"scopeLogs": 5}, {"scopeLogs": [{"logRecords": "x"}]}])
def test_what_is_no_otlp_has_no_records(broken: Any):
    broken = broken if isinstance(broken, dict) else {"scopeLogs": broken}

    assert list(otlp.log_records(broken)) == []


def test_a_histogram_is_its_sum_and_its_count():
    point = {"timeUnixNano": f"{AT}000000", "sum": 2.5, "count": "4", "bucketCounts": ["1", "3"]}
    metrics = {"scopeMetrics": [{"metrics": [{"name": "jvm.gc.duration", "histogram": {"dataPoints": [point]}}]}]}

    assert list(otlp.exposition(metrics)) == [f"jvm_gc_duration_sum 2.5 {AT}", f"jvm_gc_duration_count 4.0 {AT}"]


def test_values_that_are_no_numbers_are_left_out():
    points = [{"asDouble": "NaN"}, {"asDouble": None}, {}, {"asInt": "five"}]

    assert (
        list(otlp.exposition({"scopeMetrics": [{"metrics": [{"name": "a", "gauge": {"dataPoints": points}}]}]})) == []
    )
