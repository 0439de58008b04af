"""Writers of a topic that ended for good are forgotten; one that writes again loses no line, and none comes twice."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.watch import event_store
from leadsman.watch.expired_streams import ExpiredStreams

from .test_topics import LINE, errors_of, forget_memory

if TYPE_CHECKING:
    from .conftest import MakeWatch, Produce, TopicWatch

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

KIND = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BEGIN = datetime(2026, 2, 16, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _keep_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "MAX_SILENT_WRITERS", 2)


def failed(writer: str, minute: int) -> dict[str, Any]:
    """A record with an error of its own kind."""
    kind = KIND[minute // len(KIND)] + KIND[minute % len(KIND)]
    return {"key": writer, "value": LINE.format(minute, 0, f"{writer}{kind}")}


def states(watch: TopicWatch) -> int:
    """How many streams have a state."""
    return len(list(Path(watch.request.folder, "streams").glob("*/*")))


def test_a_topic_of_workers_that_end_keeps_the_last_ones(topic: str, watch_topics: MakeWatch, produce: Produce):
    watch, kept, expired = watch_topics(topic), [], []
    for minute in range(20):
        produce(topic, [failed(f"worker-{minute}-", minute)])
        watch.to_end()
        watch.expire(BEGIN + timedelta(minutes=minute - 2))
        kept.append((states(watch), len(watch.events.streams()), watch.events.count()))
        expired.append(len(ExpiredStreams(Path(watch.request.folder)).read()))

    assert max(kept) == max(kept[:8]), kept
    assert expired[-1] > 10, "a watch names them as long as a task can read the topic from before"


def test_a_worker_that_comes_back_is_read_on(topic: str, watch_topics: MakeWatch, produce: Produce):
    watch = watch_topics(topic)
    for minute, writer in enumerate(["first", *("second", "third", "fourth"), *(["last"] * 10), "first"]):
        produce(topic, [failed(writer, minute)])
        watch.to_end()
        watch.expire(BEGIN + timedelta(minutes=minute - 2))

    assert errors_of(watch.events.table()) == {
        failed(*each)["value"] for each in [("first", 14), ("last", 13), ("last", 12)]
    }
    assert watch.new_messages() == []


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 30))])
def test_writers_come_and_go_and_are_killed_and_the_lines_of_the_retention_are_there_once(
    seed: int, topic: str, watch_topics: MakeWatch, produce: Produce
):
    """Tasks that are run again, new processes, and expiry between any two steps of a trigger."""
    chance = random.Random(f"silent writers {seed}")
    watch, retention = watch_topics(topic), chance.choice([3, 8])
    minutes = sorted(chance.sample(range(60), 40))
    records = [failed(chance.choice("abcdefgh"), minute) for minute in minutes]
    produced = 0
    while produced < len(records) or watch.plan():
        count = chance.randrange(4)
        produce(topic, records[produced : produced + count])
        produced += count
        horizon = BEGIN + timedelta(minutes=minutes[min(max(produced, 1), len(records)) - 1] - retention)
        for changes in [watch.plan()] * chance.choice([1, 2]):
            forget_memory(chance)
            if chance.random() < 0.3:
                watch.expire(horizon)
            found = watch.read(changes)
        watch.events.apply(found)
        watch.query_offset += bool(changes)
        if chance.random() < 0.5:
            watch.expire(horizon)
    watch.expire(horizon)

    expected = {
        each["value"] for each, minute in zip(records, minutes, strict=True) if minute >= minutes[-1] - retention
    }
    errors = [row for row in watch.events.table().to_pylist() if row["name"] == "error"]
    assert sorted(row["text"] for row in errors) == sorted(expected)
    assert watch.new_messages() == []
