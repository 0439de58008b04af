"""Topics of a real broker end in the events of the files whose lines they hold, whatever happens to the topics."""

from __future__ import annotations

import json
import pickle
import random
import signal
import uuid
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leadsman import modes
from leadsman.lab import faults
from leadsman.pipeline.events import ARROW_SCHEMA, batches
from leadsman.pipeline.read.growing import GrowingStream
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.waiting import wait_for
from leadsman.watch import stream_states
from leadsman.watch.kafka import topic_changes, topic_consumer
from leadsman.watch.kafka.client_settings import write_settings
from leadsman.watch.messages import read_lag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from leadsman.lab.brokers.cluster import Cluster

    MakeWatch = Callable[..., Any]
    Produce = Callable[..., None]

CAPTURES = sorted(path for path in Path(next(iter(modes.__path__))).glob("*/recorded/*") if path.is_dir())
RECORDINGS = [
    pytest.param(path, id=f"{path.parent.parent.name}/{path.name}", marks=[pytest.mark.long] if place % 4 else [])
    for place, path in enumerate(CAPTURES)
]
"""Each fourth is of every mode and of every client's layout, broken and not. The others run in `make lab`."""
IDLE = next(path for path in CAPTURES if path.name == "broken-java")
KEEP = {"retention.ms": "-1"}
SOON = timedelta(seconds=60)
LINE = "2026-02-16 12:{:02d}:{:02d}.000 ERROR {} failed"

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


def log_lines(capture: Path) -> Iterator[tuple[str, int, bytes]]:
    """The name of each log of a recording, each line's place, and the line."""
    for path in sorted(capture.rglob("*.log")):
        if path.name == "stdout.log":
            continue  # it has no times: in a topic its lines have those of their records
        place = 0
        for line in path.read_bytes().splitlines(keepends=True):
            yield path.relative_to(capture).as_posix(), place, line.rstrip(b"\r\n")
            place += len(line)


def raw(capture: Path) -> list[dict[str, Any]]:
    """The lines as records that are keyed by their writer."""
    return [{"key": name, "value": line} for name, _, line in log_lines(capture)]


def as_filebeat(capture: Path) -> list[dict[str, Any]]:
    """The lines as Filebeat ships them: no key, so that a writer's lines are spread over all partitions."""
    meta = {"@metadata": {"beat": "filebeat", "type": "_doc", "version": "8.16.0"}, "input": {"type": "filestream"}}
    return [
        {
            "value": json.dumps(
                {
                    "@timestamp": f"2026-11-24T08:{number // 60000:02d}:{number // 1000 % 60:02d}.{number % 1000:03d}Z",
                    **meta,
                    "log": {"offset": place, "file": {"path": name}},
                    "message": line.decode("utf-8", "replace"),
                }
            ),
            "partition": number % 3,
        }
        for number, (name, place, line) in enumerate(log_lines(capture))
    ]


def events_of_files(capture: Path) -> list[str]:
    names = {name for name, _, _ in log_lines(capture)}
    streams = [each for each in list_files(str(capture)).streams if each.name in names]
    rows = [row for each in streams for batch in batches(read(each, UTC)) for row in batch.to_pylist()]
    return comparable(rows, "")


def events_of(table: pa.Table, topic: str) -> list[str]:
    return comparable(table.to_pylist(), f"{topic}/")


def comparable(rows: list[dict[str, Any]], prefix: str) -> list[str]:
    """The events without their capture, without the topic in front of their files, and without sizes of files."""
    return sorted(str(_without(row, prefix)) for row in rows)


def _without(row: dict[str, Any], prefix: str) -> dict[str, Any]:
    labels = {key: text for key, text in row["labels"] if key != "bytes"}
    labels = {key: text.removeprefix(prefix) if key.endswith("file") else text for key, text in labels.items()}
    return {**row, "capture": "", "file": row["file"].removeprefix(prefix), "labels": sorted(labels.items())}


def errors_of(table: pa.Table) -> set[str]:
    assert table.schema.names == ARROW_SCHEMA.names
    return {row["text"] for row in table.to_pylist() if row["name"] == "error"}


def failing(*names: str, minute: int = 0) -> list[dict[str, Any]]:
    """Errors of different kinds, one second apart, by one writer."""
    return [{"key": "app", "value": LINE.format(minute, place, name)} for place, name in enumerate(names)]


@pytest.mark.parametrize("capture", RECORDINGS)
@pytest.mark.parametrize("shipped", [raw, as_filebeat], ids=["lines", "filebeat"])
def test_a_recording_s_logs_in_a_topic_have_the_events_of_the_files(
    capture: Path, shipped: Callable[[Path], Any], topic: str, *, watch_topics: MakeWatch, produce: Produce
):
    produce(topic, shipped(capture))

    events = watch_topics(topic, max_bytes=random.Random(capture.name).choice([200_000, 2 << 20, 64 << 20])).to_end()

    assert events_of(events, topic) == events_of_files(capture)


@pytest.mark.parametrize("seed", range(5))
def test_batches_of_any_size_that_are_begun_again_after_a_kill_end_in_the_same_events(
    seed: int, topic: str, watch_topics: MakeWatch, produce: Produce
):
    chance = random.Random(seed)
    shipped = chance.choice([raw, as_filebeat])(IDLE)
    watch = watch_topics(topic)
    while shipped or watch.plan():
        count = chance.randrange(1, 400)
        produce(topic, shipped[:count])
        shipped = shipped[count:]
        object.__setattr__(watch.request, "max_bytes", chance.choice([4_000, 60_000, 1 << 20]))
        for changes in [watch.plan()] * chance.choice(
            [1, 1, 2]
        ):  # a batch whose offset is logged is read again as it is
            forget_memory(chance)
            found = watch.read(changes)
        watch.events.apply(found)
        watch.query_offset += bool(changes)

    assert events_of(watch.events.table(), topic) == events_of_files(IDLE)


def forget_memory(chance: random.Random) -> None:
    """Sometimes, as in a new process: states come from their files, consumers seek anew."""
    if chance.random() < 0.5:
        stream_states._CACHED.clear()
        topic_consumer.consumer_of.cache_clear()


def test_aborted_transactions_are_not_read_and_their_offsets_are_no_loss(
    cluster: Cluster, topic: str, watch_topics: MakeWatch
):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions()
    for name, is_committed in (("first", True), ("second", False), ("third", True), ("fourth", False)):
        producer.begin_transaction()
        producer.produce(topic, key="app", value=LINE.format(0, 1, name))
        producer.flush()  # else an abort drops what was not sent yet, and no offset is aborted
        producer.commit_transaction() if is_committed else producer.abort_transaction()

    watch = watch_topics(topic)

    found = wait_for(
        lambda: len(errors_of(watch.to_end())) > 1 and errors_of(watch.to_end()), timeout=SOON, what="two lines"
    )

    assert found == {LINE.format(0, 1, "first"), LINE.format(0, 1, "third")}
    assert watch.new_messages() == []


def test_an_open_transaction_is_waited_for_and_read_when_it_is_committed(
    cluster: Cluster, topic: str, watch_topics: MakeWatch, produce: Produce
):
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, key="app", value=LINE.format(0, 1, "open"))
    producer.flush()
    produce(topic, failing("behind"))
    watch = watch_topics(topic)
    before = errors_of(watch.to_end())
    producer.commit_transaction()

    wait_for(
        lambda: len(errors_of(watch.to_end())) == 2, timeout=SOON, what="the lines of the transaction and behind it"
    )
    assert before == set()


def test_a_compacted_topic_s_gaps_are_read_over(cluster: Cluster, watch_topics: MakeWatch, produce: Produce):
    name = f"compacted-{uuid.uuid4().hex[:8]}"
    settings = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.0001"}
    cluster.create_topic(name, config=settings)
    for place in range(20):
        produce(name, [{"key": "settings", "value": LINE.format(0, place, f"try{place}")}])
    produce(name, [{"key": "settings", "value": None}])

    watch = watch_topics(name)

    watch.to_end()

    (position,) = watch.positions.values()
    assert [(each.end, each.lost) for each in position.partitions] == [(21, 0)]
    assert watch.new_messages() == []


def test_partitions_that_are_added_are_read_from_their_beginning(
    cluster: Cluster, topic: str, watch_topics: MakeWatch, produce: Produce
):
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    watch = watch_topics(topic, start="latest")
    watch.to_end()
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})  # it lives until the answer is there
    client.create_partitions([NewPartitions(topic, 5)])[topic].result()
    produce_to_partition = partial(produce, topic, [{**failing("late")[0], "partition": 4}])
    wait_for(lambda: _succeeds(produce_to_partition), timeout=SOON, what="the new partition")

    found = wait_for(lambda: errors_of(watch.to_end()), timeout=SOON, what="the line in the new partition")

    assert found == {LINE.format(0, 0, "late")}


def _succeeds(call: Callable[[], None]) -> bool:
    from confluent_kafka import KafkaException

    try:
        call()
    except KafkaException:
        return False
    return True


def test_a_topic_that_is_deleted_and_made_again_is_read_from_its_beginning(
    cluster: Cluster, topic: str, watch_topics: MakeWatch, produce: Produce
):
    from confluent_kafka.admin import AdminClient

    produce(topic, failing("first", "second"))
    watch = watch_topics(topic)
    watch.to_end()
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})  # it lives until the answer is there
    client.delete_topics([topic])[topic].result()
    wait_for(lambda: watch.trigger() or watch.new_messages(), timeout=SOON, what="the topic to be missed")
    cluster.create_topic(topic, partitions=3, config=KEEP)
    produce(topic, failing("third", minute=1))

    found = wait_for(
        lambda: watch.trigger() and errors_of(watch.events.table()), timeout=SOON, what="the new topic's line"
    )

    assert len(found) == 3
    assert any("was deleted and made again" in each for each in watch.new_messages())


def test_a_topic_that_does_not_exist_yet_is_reported_once_and_read_when_it_does(
    cluster: Cluster, watch_topics: MakeWatch, produce: Produce
):
    name = f"later-{uuid.uuid4().hex[:8]}"
    watch = watch_topics(name, start="latest")
    watch.trigger()
    watch.trigger()
    reported = watch.new_messages()
    cluster.create_topic(name, config=KEEP)
    produce(name, failing("first"))

    found = wait_for(lambda: errors_of(watch.to_end()), timeout=SOON, what="the topic's line")

    assert [each for each in reported if "There is no topic" in each] == reported
    assert len(reported) == 1
    assert found == {LINE.format(0, 0, "first")}
    assert watch.new_messages() == [f"The topic {name} can be read now."]


def test_records_that_retention_deletes_unread_are_reported_and_counted(
    cluster: Cluster, watch_topics: MakeWatch, produce: Produce
):
    name = f"short-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(name, config=KEEP)
    produce(name, failing("first"))
    watch = watch_topics(name)
    watch.to_end()
    produce(name, failing("second", "third", "fourth", minute=1))
    delete_before(cluster, name, 3)

    found = errors_of(watch.to_end())

    assert found == {LINE.format(0, 0, "first"), LINE.format(1, 2, "fourth")}
    assert any("2 records were deleted" in each and "offsets 1 to 2" in each for each in watch.new_messages())
    watch.trigger()
    lag = read_lag(watch.request.sources_folder)["topics"][name]["partitions"]["0"]
    assert lag == {"offset": 4, "lag": 0, "lost": 2}


def test_records_that_are_deleted_between_plan_and_read_are_reported_and_the_rest_is_read(
    cluster: Cluster, watch_topics: MakeWatch, produce: Produce
):
    name = f"short-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(name, config=KEEP)
    produce(name, failing("first", "second", "third"))
    watch = watch_topics(name)
    changes = watch.plan()
    delete_before(cluster, name, 2)

    watch.events.apply(watch.read(changes))

    assert errors_of(watch.events.table()) == {LINE.format(0, 2, "third")}
    assert any("2 records were deleted" in each for each in watch.new_messages())


def test_where_records_of_one_partition_are_deleted_those_of_the_others_are_read_once(
    topic: str, cluster: Cluster, watch_topics: MakeWatch, produce: Produce
):
    produce(
        topic,
        [
            {"key": f"app-{place % 3}", "partition": place % 3, "value": LINE.format(place // 60, place % 60, "first")}
            for place in range(900)
        ],
    )
    watch = watch_topics(topic)
    changes = watch.plan()
    delete_before(cluster, topic, 100)

    watch.events.apply(watch.read(changes))

    lines = {
        row["subject"]: row["value"] for row in watch.events.table().to_pylist() if row["name"] == "subject.active"
    }
    assert lines == {"app-0": 200.0, "app-1": 300.0, "app-2": 300.0}


def test_a_topic_that_is_deleted_between_plan_and_read_does_not_stop_the_watch(
    cluster: Cluster, watch_topics: MakeWatch, produce: Produce
):
    from confluent_kafka.admin import AdminClient

    name = f"gone-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(name, config=KEEP)
    produce(name, failing("first"))
    watch = watch_topics(name)
    changes = watch.plan()
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})  # it lives until the answer is there
    client.delete_topics([name])[name].result()

    watch.events.apply(watch.read(changes))

    assert errors_of(watch.events.table()) <= {LINE.format(0, 0, "first")}


def delete_before(cluster: Cluster, topic: str, offset: int) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    request = TopicPartition(topic, 0, offset)
    client = AdminClient({"bootstrap.servers": cluster.bootstrap})  # it lives until the answer is there
    client.delete_records([request])[request].result()


def test_records_that_are_larger_than_those_before_are_read_in_smaller_steps(
    topic: str, watch_topics: MakeWatch, produce: Produce, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(topic_changes, "MAX_STEP_BYTES", 2 << 20)
    names = [f"mail{letter}" for letter in "abcdefghijklmnopqrstuvwxy"]
    filler = " " + "x" * 300_000
    produce(topic, [{**each, "value": each["value"] + filler} for each in failing(*names)])

    events = watch_topics(topic).to_end()

    activity = next(row for row in events.to_pylist() if row["name"] == "subject.active")
    assert activity["value"] == len(names)


def test_a_poison_record_is_set_aside_reported_and_counted_and_the_rest_is_read(
    topic: str, watch_topics: MakeWatch, produce: Produce
):
    poison = b"\0\0\0\0\x07\x02\x06password=hunter2"
    produce(topic, [{"key": "app", "value": poison, "partition": 1}, {**failing("first")[0], "partition": 1}])
    watch = watch_topics(topic)

    found = errors_of(watch.to_end())

    assert found == {LINE.format(0, 0, "first")}
    (reported,) = watch.new_messages()
    assert f"{topic}/1 offset 0" in reported
    watch.trigger()
    assert read_lag(watch.request.sources_folder)["topics"][topic]["set_aside"] == 1
    (written,) = (watch.request.sources_folder / "set_aside").iterdir()
    kept = json.loads(written.read_text())
    assert (kept["partition"], kept["offset"]) == (1, 0)
    assert "hunter2" not in written.read_text()


@pytest.mark.parametrize("known", [False, True])
def test_lines_on_which_a_parser_fails_are_set_aside_and_their_writer_is_read_on(
    known: bool,  # noqa: FBT001 - a parameter
    topic: str,
    *,
    watch_topics: MakeWatch,
    produce: Produce,
    monkeypatch: pytest.MonkeyPatch,
):
    read_pieces = GrowingStream.read_pieces

    def poisoned(self: Any, each: Any, form: Any, pieces: Any) -> Any:
        if b"poison" in (data := b"".join(pieces)):
            raise ValueError("poisoned")
        return read_pieces(self, each, form, [data])

    monkeypatch.setattr(GrowingStream, "read_pieces", poisoned)
    watch = watch_topics(topic)
    other = {"key": "other", "value": LINE.format(1, 0, "other")}
    steps = [failing("first") if known else [], [*failing("poison", minute=1), other], failing("last", minute=2)]
    for records in steps:
        produce(topic, records)
        watch.to_end()

    found = errors_of(watch.events.table())

    lines = [LINE.format(0, 0, "first")] if known else []
    assert found == {*lines, LINE.format(1, 0, "other"), LINE.format(2, 0, "last")}
    (reported,) = watch.new_messages()
    assert f"lines of app in {topic}: ValueError: poisoned" in reported
    (written,) = (watch.request.sources_folder / "set_aside").iterdir()
    assert json.loads(written.read_text())["writer"] == "app"


def test_otlp_metrics_in_a_second_topic_are_events_of_their_broker(
    cluster: Cluster, topic: str, watch_topics: MakeWatch, produce: Produce
):
    other = f"metrics-{uuid.uuid4().hex[:8]}"
    cluster.create_topic(other, config=KEEP)
    produce(topic, failing("first"))
    produce(other, [{"value": json.dumps(heap_metrics(second, 1000 + second))} for second in range(3)])

    events = watch_topics(topic, other).to_end().to_pylist()

    sizes = sorted((row["subject"], row["value"]) for row in events if row["name"] == "heap.size")
    assert sizes == [("broker-1:7071", 1000.0), ("broker-1:7071", 1001.0), ("broker-1:7071", 1002.0)]
    assert [row["text"] for row in events if row["name"] == "error"] == [LINE.format(0, 0, "first")]


def heap_metrics(second: int, used: float) -> dict[str, Any]:
    area = [{"key": "area", "value": {"stringValue": "heap"}}]
    point = {"timeUnixNano": str(1_771_243_831_000_000_000 + second * 10**9), "asDouble": used, "attributes": area}
    metric = {"name": "jvm_memory_used_bytes", "gauge": {"dataPoints": [point]}}
    instance = [{"key": "service.instance.id", "value": {"stringValue": "broker-1:7071"}}]
    return {"resourceMetrics": [{"resource": {"attributes": instance}, "scopeMetrics": [{"metrics": [metric]}]}]}


def test_lines_without_times_have_the_time_of_their_record(topic: str, watch_topics: MakeWatch, produce: Produce):
    at = 1_771_243_831_000
    messages = ["ERROR Mail failed: connection refused", "INFO ok", "ERROR Disk failed: full"]
    produce(topic, [{"key": "app", "value": text, "timestamp": at + place} for place, text in enumerate(messages)])

    rows = watch_topics(topic).to_end().to_pylist()

    found = sorted(round(row["at"].timestamp() * 1000) for row in rows if row["name"] == "error")
    assert found == [at, at + 2]


def test_syslog_lines_without_a_key_are_of_the_hosts_and_programs_that_they_name(
    topic: str, watch_topics: MakeWatch, produce: Produce
):
    texts = [f"<134>1 2026-02-16T12:10:{place:02d}Z host-{place % 2} app - - - INFO ok {place}" for place in range(40)]
    produce(topic, [{"value": text} for text in texts])

    rows = watch_topics(topic).to_end().to_pylist()

    active = {row["subject"]: row["value"] for row in rows if row["name"] == "subject.active"}
    assert active == {"host-0 app": 20.0, "host-1 app": 20.0}


def test_a_topic_can_be_read_from_its_end_or_from_so_long_ago(topic: str, watch_topics: MakeWatch, produce: Produce):
    produce(topic, [{**each, "timestamp": 1_771_243_831_000} for each in failing("long ago")])
    produce(topic, failing("just now", minute=1))
    at_end = watch_topics(topic, start="latest", state="a")
    an_hour = watch_topics(topic, start=timedelta(hours=1), state="b")
    at_end.to_end()
    produce(topic, failing("afterwards", minute=2))

    assert errors_of(at_end.to_end()) == {LINE.format(2, 0, "afterwards")}
    assert errors_of(an_hour.to_end()) == {LINE.format(1, 0, "just now"), LINE.format(2, 0, "afterwards")}


def test_a_request_travels_to_other_processes_without_secrets(watch_topics: MakeWatch, tmp_path: Path):
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        'sasl.jaas.config=x.PlainLoginModule required username="a" password="hunter2";\n'
    )
    settings = write_settings(config, tmp_path)
    watch = watch_topics("logs")
    object.__setattr__(watch.request, "settings_file", settings)

    assert b"hunter2" not in pickle.dumps(watch.listing)
    assert json.loads(Path(settings).read_text())["sasl.password"] == "hunter2"
    assert Path(settings).stat().st_mode & 0o077 == 0


def test_an_unreachable_broker_is_reported_once_and_read_on_when_it_answers_again(
    cluster: Cluster, topic: str, watch_topics: MakeWatch, produce: Produce
):
    produce(topic, failing("first"))
    watch = watch_topics(topic)
    watch.to_end()
    with faults.down(cluster.brokers[0], by=signal.SIGKILL):
        is_read = [watch.trigger() for _ in range(2)]
        reported = watch.new_messages()
        lag = read_lag(watch.request.sources_folder)
    produce(topic, failing("second", minute=1))

    found = wait_for(lambda: watch.trigger() and errors_of(watch.events.table()), timeout=SOON, what="the second line")

    assert is_read == [False, False]
    assert len(found) == 2
    assert ["does not answer" in each for each in reported] == [True]
    assert lag["is_unreachable"]
    assert any("answers again" in each for each in watch.new_messages())
