"""A file read in batches yields the same rows as the file read record by record."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.pipeline.events import EventRow, batches
from leadsman.pipeline.idle_gaps.event_rows import activity_of
from leadsman.pipeline.idle_gaps.writers import SubjectActivity
from leadsman.pipeline.read.blocks import Block, DecompressionError
from leadsman.pipeline.read.log_lines import FileReading
from leadsman.pipeline.read.records import EventExtractor
from leadsman.telemetry.format import RecognisedFormat
from leadsman.telemetry.json_records import documents, line_columns, line_reader, time_windows
from leadsman.telemetry.line_records import aws_tail_columns, interleaved_columns
from leadsman.telemetry.recognise import recognise

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

EXAMPLES = 150
"""Some ten seconds for the four properties. Each run draws others."""

LINES = (
    "START RequestId: 611855e6-8c68-4843-afa7-7820c5e24327 Version: $LATEST",
    "END RequestId: 611855e6-8c68-4843-afa7-7820c5e24327",
    "2026-11-17 00:35:38 611855e6 INFO  org.apache.kafka.common.utils.AppInfoParser - Kafka version: 2.6.3",
    "2026-11-17 00:35:38,123 INFO [Producer clientId=producer-1] Cluster ID: Rk3vQm1tSZqkS0rKpB9h5w",
    "org.apache.kafka.common.errors.NetworkException: Disconnected from node 3",
    " org.apache.kafka.common.errors.ProducerFencedException",
    " Not authorized to access topic",
    "\tat org.apache.kafka.clients.Sender.run(Sender.java:1)\n\tat java.lang.Thread.run(Thread.java:9)",
    "\tat a.B.c(D.java:1)",
    "\t\u00e9",
    "Caused by: java.io.IOException: Connection reset by peer",
    '  File "app.py", line 3, in send',
    "%4|1794875738.123|FAIL|rdkafka#producer-1| [thrd:b-1:9092/1]: b:9092/1: Disconnected (after 300012ms in state UP)",
    "[ERROR]\t2026-11-17T00:35:38.395Z\t611855e6\tKafkaTimeoutError: Failed to update metadata",
    '{"level": "ERROR", "message": "java.lang.IllegalStateException: \\u00fc"}',
    "kafka.conn <BrokerConnection node_id=1 host=b-1:9092 <connected>>: socket disconnected",
    "password=hunter2 sasl.jaas.config = x y z",
    "message", "timestamp", ": ", ", ", ",", 'message": "x', '"', "\\", "/", "x", "", "\n", "\r", "tail\r", "a\x00b",
    "2026/11/17/[$LATEST]9ff91c4ad8c32f82c6f7b28710568f8e", "\ud83d\ude00 grin", "\u2028", "ERROR " + "long " * 120,
)  # fmt: skip
texts = st.one_of(
    st.sampled_from(LINES),
    st.lists(st.sampled_from(LINES), min_size=1, max_size=4).map("\n".join),
    st.text(max_size=30),
)
WRITERS = ("2026/11/17/[$LATEST]" + "a" * 32, "2026/11/17/[12]" + "b" * 32, "svc/app/" + "c" * 32)
START = datetime(2026, 11, 17, 0, 35, tzinfo=UTC)


def rows(
    data: bytes, *, at_once: bool, block_bytes: int, blocks: int = 1 << 30
) -> tuple[Counter[str], tuple[object, ...]]:
    """Return all rows of a file, and the counters of the reader."""
    form = recognise(data, zone=UTC)
    assert isinstance(form, RecognisedFormat)
    extractor, subjects = EventExtractor("capture"), dict[str, SubjectActivity]()
    reading = FileReading(
        "file", form if at_once else replace(form, batches=None), name="file", extractor=extractor, subjects=subjects
    )
    events: list[EventRow | pa.RecordBatch] = []
    with suppress(DecompressionError):
        events += reading.all(cut(data, block_bytes, blocks))
    events += extractor.unknown_errors()
    events += activity_of(subjects.values(), capture="capture", file="file")
    read = Counter(
        repr({**row, "labels": sorted(row["labels"])}) for batch in batches(events) for row in batch.to_pylist()
    )
    about = reading.bytes, reading.line, reading.timed, reading.in_order, reading.times.first, reading.times.last
    return read, (*about, sorted(extractor.sources), sorted(extractor.shows), sorted(subjects))


def cut(data: bytes, size: int, blocks: int) -> Iterator[Block]:
    """Cut into blocks as `blocks` does: behind newlines, and anywhere in longer lines. After so many they break off."""
    for _ in range(blocks):
        if not data:
            return
        end = data.rfind(b"\n", 0, size) + 1 or min(size, len(data))
        yield Block(data[:end], end)
        data = data[end:]
    raise DecompressionError("breaks off")


def assert_same(
    data: bytes, block_bytes: int, *, window: int = documents.WINDOW_CHARACTERS, blocks: int = 1 << 30
) -> None:
    with ExitStack() as changed:
        changed.enter_context(patch.object(aws_tail_columns, "BLOCK_BYTES", block_bytes))
        changed.enter_context(patch.object(interleaved_columns, "BLOCK_BYTES", block_bytes))
        changed.enter_context(patch.object(line_columns, "BLOCK_BYTES", block_bytes))
        changed.enter_context(patch.object(time_windows, "BATCH_BYTES", block_bytes))
        changed.enter_context(patch.object(documents, "WINDOW_CHARACTERS", window))
        singly = rows(data, at_once=False, block_bytes=block_bytes, blocks=blocks)
        at_once = rows(data, at_once=True, block_bytes=block_bytes, blocks=blocks)
    assert at_once == singly


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, object]]:
    """Events of CloudWatch: most of one layout, of several writers, in order of time or not."""
    keys = draw(
        st.sampled_from(
            (
                ("logStreamName", "timestamp", "message", "ingestionTime", "eventId"),
                ("timestamp", "message", "ingestionTime"),
                ("ingestionTime", "message", "timestamp"),
                ("timestamp", "message", "level"),
            )
        )
    )
    at = draw(st.sampled_from((1_794_875_737_795, 1_794_875_737_000)))
    steps = draw(
        st.sampled_from((st.integers(0, 400_000), st.sampled_from((0, 1, 900, 1000)), st.integers(-5000, 5000)))
    )
    found = []
    for number in range(draw(st.integers(2, 30))):
        at += draw(steps)
        event = {
            "logStreamName": draw(st.sampled_from(WRITERS)),
            "timestamp": at,
            "message": draw(texts) + draw(st.sampled_from(("", "\n", "\n\n"))),
            "ingestionTime": at + 412,
            "eventId": f"3{number:055d}",
            "level": draw(st.sampled_from(("INFO", "ERROR"))),
        }
        found.append({key: event[key] for key in keys})
    return found


ODD = st.sampled_from(
    (
        {"timestamp": 1794875737795},
        {"timestamp": "2026-11-17T00:35:38Z", "message": "ISO"},
        {"timestamp": 17948757377, "message": "seconds"},
        {"timestamp": 1794875737795.5, "message": "x"},
        {"message": "turned", "timestamp": 1794875737795},
        {"timestamp": 1794875737795, "message": None},
        {"timestamp": 1794875737795, "message": {"message": "inner"}, "ingestionTime": 1},
        {"logStreamName": "", "timestamp": 1794875737795, "message": "no writer", "ingestionTime": 1, "eventId": "x"},
        [],
        {},
    )
)


@st.composite
def documents_of_events(draw: st.DrawFn) -> bytes:
    events: list[object] = [*draw(records())]
    for place, odd in draw(st.lists(st.tuples(st.integers(2, 40), ODD), max_size=2)):
        events.insert(place, odd)
    before: dict[str, object] = draw(
        st.sampled_from(({}, {"logStreamName": "of the document"}, {"logStream": "x", "é": "\n"}))
    )
    after: dict[str, object] = draw(
        st.sampled_from(({}, {"nextForwardToken": "f/1"}, {"logEvents": [{"message": "one more ERROR"}]}))
    )
    layout: dict[str, Any] = draw(
        st.sampled_from(({"indent": 4}, {"indent": 1}, {"separators": (",", ":")}, {}, {"ensure_ascii": False}))
    )
    text = json.dumps({**before, "events": events, **after}, **layout)
    text = draw(st.sampled_from((text, text + "\n", text.replace("\n", "\r\n"), "\ufeff" + text, text + "\n" + text)))
    data = text.encode("utf-8", "surrogatepass")
    swaps = (
        (b"\\n", b"\\u000a"), (b"/", b"\\/"), (b"\\t", b"\t"), (b"long", b"l\xffng"), (b"long", b"l\nng"),
        (b"INFO", b"\\qNFO"), (b"at", b"\\ud83d"),
    )  # fmt: skip
    cut_off = data[: int(len(data) * draw(st.floats(0.3, 1)))]
    changes = (data, data, cut_off, *(data.replace(old, new) for old, new in swaps))
    return draw(st.sampled_from(changes))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    data=documents_of_events(), block_bytes=st.sampled_from((150, 700, 5000)), window=st.sampled_from((500, 1 << 25))
)
def test_a_document_is_read_by_columns_as_it_is_read_record_by_record(data, block_bytes, window):
    if not isinstance(recognise(data, zone=UTC), RecognisedFormat):
        return

    assert_same(data, block_bytes, window=window)


@st.composite
def tail_lines(draw: st.DrawFn) -> bytes:
    """Return lines of `aws logs tail`, most with a time and a writer, and other lines that occur in such files."""
    at = START
    steps = draw(st.sampled_from((st.integers(0, 400_000), st.sampled_from((0, 1, 999, 1000)), st.integers(-9, 9))))
    zone = draw(st.sampled_from(("+00:00", "Z", "+05:30")))
    spec = draw(st.sampled_from(("microseconds", "milliseconds")))
    lines = []
    for _ in range(draw(st.integers(2, 40))):
        at += timedelta(milliseconds=draw(steps))
        written = at.replace(tzinfo=None).isoformat(timespec=draw(st.sampled_from((spec, spec, spec, "auto"))))
        text = draw(texts)
        line = f"{written}{zone} {draw(st.sampled_from(WRITERS))} {text}"
        lines.append(draw(st.sampled_from((line, line, line, line, line, draw(odd_lines(text))))))
    end = draw(st.sampled_from(("\n", "\r\n")))
    data = (end.join(lines) + draw(st.sampled_from(("", end)))).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from((data, data, data.replace(b"long", b"l\xffng"), b"\xef\xbb\xbf" + data, b"\n" + data)))


PODS = ("orders-7d9f8b6c5d-x2x4z", "orders-7d9f8b6c5d-q8w9e", "", '\u00e9 \\ "x"', "info")


def loki(text: str, at: datetime, pod: str, level: str) -> dict[str, object]:
    labels = {"pod": pod, "container": level} if level else {"pod": pod}
    return {"labels": labels, "line": text, "timestamp": at.isoformat(timespec="milliseconds")}


def elasticsearch(text: str, at: datetime, pod: str, level: str) -> dict[str, object]:
    time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    source = {"@timestamp": time, "message": text, "kubernetes": {"pod": {"name": pod}}, "level": level}
    return {"_index": "logs-2026", "_id": f"{at.microsecond}", "_score": 1.5, "_source": source}


def journald(text: str, at: datetime, pod: str, level: str) -> dict[str, object]:
    micros = int(at.timestamp() * 1000) * 1000
    return {"__REALTIME_TIMESTAMP": f"{micros}", "_SYSTEMD_UNIT": pod, "MESSAGE": text, "PRIORITY": level}


def filebeat(text: str, at: datetime, pod: str, level: str) -> dict[str, object]:
    time = at.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return {"ts": time, "container_id": pod, "log.level": level, "log": text, "n": [at.microsecond, None, True]}


def in_milliseconds(text: str, at: datetime, pod: str, level: str) -> dict[str, object]:
    message = {"msg": text, "level": level} if level else {"msg": text}
    return {**message, "timestamp": int(at.timestamp() * 1000), "logStream": pod}


FORMS = (loki, elasticsearch, journald, filebeat, in_milliseconds)


def odd_json(line: str, other: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        (
            "", " ", "{}", "[]", "null", "plain ERROR 2026-11-17T00:35:38.395Z", line[:-1], line + " ", " " + line,
            "\ufeff" + line, line.replace("{", "{ ", 1), line + "x", line.replace(":", " :", 1),
            line.replace("e", "\\u0065"),
            line.replace("e", "\\ud83d"), line.replace("a", "\\q"), line.replace(" ", "\t"), line.replace("0", "x"),
            line.replace(":00", ":61"), line.replace("}", ', "level": "warn"}', 1),
            line.replace("}", ', "exception": "E: x"}'),
            line.replace("}", ', "message": null}'), line.replace("pod", "app"), other, "\x00\x00" + line,
            line.replace("/", "\\/"), line[:-1] + ', "message": [69, 82, 82, 79, 82]}', line.replace('"', "'"),
            "2026-11-16 01:02:03,4 ERROR " + line, line.replace("20", "19", 1), line.replace("2026-11", "2026-13"),
        )
    )  # fmt: skip


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    """Return JSON lines as log collectors write them, most of one layout, and other lines that occur in such files."""
    form, other = draw(st.sampled_from(FORMS)), draw(st.sampled_from(FORMS))
    layout: dict[str, Any] = draw(st.sampled_from(({}, {"separators": (",", ":")}, {"ensure_ascii": False})))
    steps = draw(st.sampled_from((st.integers(0, 400_000), st.sampled_from((0, 1, 999, 1000)), st.integers(-9, 9))))
    usual = draw(st.sampled_from((("info",), ("info", "WARN", "error"), ("",), ("", "info"))))
    at, lines = START, list[str]()
    for _ in range(draw(st.integers(2, 40))):
        at += timedelta(milliseconds=draw(steps))
        pod, level = draw(st.sampled_from(PODS[: draw(st.sampled_from((2, 2, 2, 5)))])), draw(st.sampled_from(usual))
        text = draw(texts) + draw(st.sampled_from(("", "", "\n")))
        line, another = (json.dumps(each(text, at, pod, level), **layout) for each in (form, other))
        lines.append(draw(st.sampled_from((line, line, line, line, line, draw(odd_json(line, another))))))
    end = draw(st.sampled_from(("\n", "\n", "\r\n")))
    data = (end.join(lines) + draw(st.sampled_from(("", end)))).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from((data, data, data.replace(b"long", b"l\xffng"), b"\xef\xbb\xbf" + data, b"\n" + data)))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=json_lines(), block_bytes=st.sampled_from((200, 1000, 1 << 20)))
def test_json_lines_are_read_by_columns_as_they_are_read_line_by_line(data, block_bytes):
    if not isinstance(recognise(data, zone=UTC), RecognisedFormat):
        return

    assert_same(data, block_bytes)


@pytest.mark.parametrize("form", FORMS)
def test_json_lines_of_the_usual_forms_are_read_by_columns_but_for_those_that_teach_their_shape(form):
    made = [form(f"a {index} line", START + timedelta(seconds=index), PODS[index % 2], "info") for index in range(500)]
    made[100] = {"odd": "line"}
    data = "".join(json.dumps(each) + "\n" for each in made).encode()
    read = recognise(data, zone=UTC)
    assert isinstance(read, RecognisedFormat)
    assert read.batches

    with patch.object(line_reader, "parse_line", wraps=line_reader.parse_line) as read_singly:
        count = sum(len(batch.at) for batch in read.batches([data]))

    assert count == 500
    assert read_singly.call_count == 1


def odd_lines(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        (
            text,
            "",
            " \t",
            f"2026-11-17T00:35:38.395+02:00 {WRITERS[0]} {text}",
            f"2026-13-17T00:35:38.395+00:00 {WRITERS[1]} {text}",
            f"2026-11-17T00:35:38.395000+00:00 other-program {text}",
            f"2026-11-17T00:35:61.395000+00:00 {WRITERS[0]} {text}",
            f"2026-11-17T00:35:38.395000+00:00 {WRITERS[0]}",
            f"2026-11-17 00:35:38,395 {text}",
            f'{{"timestamp":"2026-11-16T00:35:38.395Z","x":"{text}"}}',
            f"{text} 2026-11-15 01:02:03,4 x",
        )
    )


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=tail_lines(), block_bytes=st.sampled_from((200, 1000, 1 << 20)))
def test_a_tail_is_read_by_columns_as_it_is_read_line_by_line(data, block_bytes):
    if not isinstance(recognise(data, zone=UTC), RecognisedFormat):
        return

    assert_same(data, block_bytes)


def test_a_document_that_ends_with_a_short_value_is_read_by_columns():
    events = [{"timestamp": 1_794_875_737_795 + n, "message": "long " * 9, "logStreamName": "s"} for n in range(20)]

    assert_same(json.dumps({"events": events}).encode(), 1 << 20)


CLIENTS = ("producer-1", "producer-2", "consumer-billing-1", "\u00e9")
LAYOUTS = (
    "{at} INFO [Producer clientId={who}] {text}",
    "orders-{who} | {at} {text}",
    "[pod/orders/{who}] {at} {text}",
    "Nov 17 00:35:38 {who} kafka[12]: {text}",
)


@st.composite
def lines_of_several(draw: st.DrawFn) -> bytes:
    """Return lines that name their writers, and others among them."""
    layout, at, lines = draw(st.sampled_from(LAYOUTS)), START, list[str]()
    for _ in range(draw(st.integers(2, 40))):
        at += timedelta(milliseconds=draw(st.integers(-9, 400_000)))
        text = draw(texts)
        written = at.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")
        line = layout.format(at=written, who=draw(st.sampled_from(CLIENTS)), text=text)
        lines.append(draw(st.sampled_from((line, line, line, line, text, f"{written} INFO {text}"))))
    end = draw(st.sampled_from(("\n", "\r\n")))
    data = (end.join(lines) + draw(st.sampled_from(("", end)))).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from((data, data, data.replace(b"long", b"l\xffng"), b"\n" + data)))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=lines_of_several(), block_bytes=st.sampled_from((200, 1000, 1 << 20)), blocks=st.sampled_from((2, 1 << 30)))
def test_lines_of_several_writers_are_read_by_columns_as_they_are_read_line_by_line(data, block_bytes, blocks):
    if not isinstance(recognise(data, zone=UTC), RecognisedFormat):
        return

    assert_same(data, block_bytes, blocks=blocks)


def test_a_document_out_of_order_in_the_middle_of_a_large_one_is_sorted_in_the_same_windows():
    events = [
        {"timestamp": 1794875737795 + (index * 7919) % 5000, "message": f"{LINES[index % 7]} {index}\n"}
        for index in range(2000)
    ]
    data = json.dumps({"events": events}, indent=4).encode()

    assert_same(data, 20_000, window=30_000)


@pytest.mark.parametrize("blocks", [1, 2, 3, 9])
def test_of_a_file_that_breaks_off_the_same_is_read(blocks):
    lines = [
        f"2026-11-17T00:{index:02d}:38.123000+00:00 {WRITERS[index % 3]} {LINES[index % 9]}" for index in range(60)
    ]
    events = [{"timestamp": 1794875737795 + 1000 * index, "message": LINES[index % 9]} for index in range(60)]

    assert_same("\n".join(lines).encode("utf-8"), 900, blocks=blocks)
    assert_same(json.dumps({"events": events}, indent=4).encode(), 900, window=1500, blocks=blocks)


def test_utf_16_is_read_as_it_is_read_line_by_line():
    lines = [
        f"2026-11-17T00:{index:02d}:38.123000+00:00 {WRITERS[index % 3]} {LINES[index % 9]}" for index in range(60)
    ]

    assert_same("\n".join(lines).encode("utf-16"), 1 << 20)


@pytest.mark.parametrize("form", ["document", "tail"])
def test_the_usual_form_is_read_by_columns_to_its_end(form):
    lines = [f"2026-11-17T00:35:38.{index:03d}000+00:00 {WRITERS[index % 3]} ERROR {index}\n" for index in range(500)]
    events = [{"timestamp": 1794875737795 + index, "message": "a line of the log\n"} for index in range(500)]
    data = {"tail": "".join(lines), "document": json.dumps({"events": events}, indent=4)}[form].encode()
    read = recognise(data, zone=UTC)
    assert isinstance(read, RecognisedFormat)
    assert read.records

    with (
        patch.object(documents, "parse_element") as parse_element,
        patch.object(aws_tail_columns.TailReader, "_read") as read_singly,
    ):
        assert read.batches
        count = sum(len(batch.at) for batch in read.batches([data]))

    assert count == 500
    assert not parse_element.called
    assert not read_singly.called
