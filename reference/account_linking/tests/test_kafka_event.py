"""Any record of any application passes through Lambda's event: AWS sends headers as lists of signed bytes."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from account_linking.demo.emulator.event_source_mapping import _record
from account_linking.fanout import split_webhooks
from account_linking.kafka_event import KafkaRecord, make_event, parse_records
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from leadsman.lab.brokers.cluster import Cluster

WITHIN = timedelta(seconds=60)
AWS_EVENT: dict[str, Any] = {
    "eventSource": "aws:kafka",
    "records": {
        "webhook.raw-0": [
            {
                "topic": "webhook.raw",
                "partition": 0,
                "offset": 15,
                "timestamp": 1545084650987,
                "timestampType": "CREATE_TIME",
                "key": None,
                "value": "e30=",
                "headers": [{"provider": [102, 100, 120]}, {"trace": [-1, -128, 127, 0]}, {"city": [77, -61, -68]}],
            },
            {"topic": "webhook.raw", "partition": 0, "offset": 16, "value": None, "headers": []},
            {"topic": "webhook.raw", "partition": 0, "offset": 17, "headers": [{"provider": None}]},
        ]
    },
}
"""As AWS documents it: a header's value is a list of Java's bytes; a tombstone has no value."""


def test_headers_are_lists_of_signed_bytes() -> None:
    first, second, third = parse_records(AWS_EVENT)

    assert (first.headers["provider"], first.headers["city"]) == ("fdx", "Mü")
    assert first.headers["trace"].encode(errors="surrogateescape") == b"\xff\x80\x7f\x00"
    assert (second.value, second.headers, third.headers) == (b"", {}, {"provider": ""})


def test_a_foreign_record_costs_itself_and_not_its_batch() -> None:
    good = AWS_EVENT["records"]["webhook.raw-0"][0] | {
        "value": "eyJub3RpZmljYXRpb25UeXBlIjoiVFJBTlNBQ1RJT05TX1VQREFURUQiLCJjdXN0b21lcklkIjoiYyJ9"
    }
    batch = {"records": {"webhook.raw-0": [*AWS_EVENT["records"]["webhook.raw-0"], good]}}

    published = list(split_webhooks(parse_records(batch)))

    topics = [each.topic for each in published]
    assert sorted(topics) == ["webhook.dead", "webhook.dead", "webhook.dead", "webhook.element"]


@given(st.dictionaries(st.text(), st.binary()), st.binary())
def test_no_bytes_of_a_header_are_lost_or_poison(headers: dict[str, bytes], value: bytes) -> None:
    texts = {name: each.decode(errors="surrogateescape") for name, each in headers.items()}
    record = KafkaRecord(topic="t", partition=0, offset=0, value=value, headers=texts)

    event = json.loads(json.dumps(make_event([record])))

    (parsed,) = parse_records(event)
    sent = [number for header in event["records"]["t-0"][0]["headers"] for each in header.values() for number in each]
    assert parsed == record
    assert {name: each.encode(errors="surrogateescape") for name, each in parsed.headers.items()} == headers
    assert all(-128 <= each <= 127 for each in sent)


@pytest.mark.lab
def test_the_emulator_passes_foreign_headers_as_aws_does(cluster: Cluster) -> None:
    cluster.create_topic("foreign")
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce("foreign", b"x", headers=[("trace", b"\xff\x00"), ("none", None)])
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g"})
    consumer.assign([TopicPartition("foreign", 0, 0)])
    found: list[KafkaRecord] = []

    wait_for(partial(poll, consumer, found), timeout=WITHIN, what="the foreign record")
    consumer.close()

    (batch,) = make_event(found)["records"].values()
    assert batch[0]["headers"] == [{"trace": [-1, 0]}, {"none": []}]


def poll(consumer: Consumer, found: list[KafkaRecord]) -> bool:
    message = consumer.poll(0.2)
    if message is not None and not message.error():
        found.append(_record(message))
    return bool(found)
