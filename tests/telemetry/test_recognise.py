"""Files that are empty, binary, cut, shuffled or hostile are read without an error."""

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.telemetry.format import NotText, RecognisedFormat
from leadsman.telemetry.recognise import recognise

LATEST = datetime(2021, 6, 1, tzinfo=UTC)
FILES = [path for path in sorted(Path(__file__).with_name("samples").rglob("*")) if path.is_file()]
LINES = [line for path in FILES for line in path.read_bytes().split(b"\n")]
TOKENS = [
    b"2021-02-16 12:00:00,000", b"2021-02-16T12:00:00.123456789Z", b"[2021-02-16 12:00:00,000]", b"%4|1613476800.000|",
    b" stdout P ", b" stderr F ", b'{"log":"', b'","stream":"stdout","time":"', b'{"@timestamp":"', b'"message":"',
    b'{"events":[', b"[{", b"]}", b"}", b"\n",
    b"\\u0000", b"\\", b'"', b"\t", b"  | ", b"[pod/a/b] ", b"<34>1 ", b"\x1b[31m",
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"Feb 29 12:00:00 ", b"99999999999999999999", b"9" * 5000,
    b"1e999", b"NaN", b'"\\ud800"', b"\\udfff",
    b'"values":[["1613476800000000000","', b'{"hits":{"hits":[', b"16/Feb/2021:12:00:00 +0000", b"-99:99", b"\r\n",
]  # fmt: skip

bytes_of_all_kinds = st.one_of(
    st.binary(max_size=400),
    st.lists(st.sampled_from(TOKENS), max_size=40).map(b"".join),
    st.lists(st.sampled_from(LINES), max_size=30).map(b"\n".join),
    st.builds(lambda path, cut: path.read_bytes()[:cut], st.sampled_from(FILES), st.integers(0, 5000)),
    st.builds(lambda path, cut: path.read_bytes()[cut:], st.sampled_from(FILES), st.integers(0, 5000)),
    st.lists(st.one_of(st.sampled_from(TOKENS), st.sampled_from(LINES), st.binary(max_size=20)), max_size=30).map(
        b"".join
    ),
)


def everything_read(data):
    form = recognise(data, zone=UTC, latest=LATEST)
    if isinstance(form, NotText):
        return [form.why]
    times = [form.time_at(data, start, min(len(data), start + 60)) for start in range(0, len(data), 7)]
    records = list(form.records([data])) if form.records else []
    return [*times, *((record.text + record.quote + (record.subject or "")).encode() for record in records)]


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(bytes_of_all_kinds)
def test_no_bytes_end_the_reading_with_an_error(data):
    assert isinstance(everything_read(data), list)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(bytes_of_all_kinds.filter(lambda data: data[:2] not in (b"\xff\xfe", b"\xfe\xff")))
def test_quotes_are_literal_whatever_the_bytes(data):
    form = recognise(data, zone=UTC, latest=LATEST)
    records = list(form.records([data])) if isinstance(form, RecognisedFormat) and form.records else []
    lines = data.decode("utf-8", "replace").split("\n")

    assert all(record.quote in lines[record.line - 1] for record in records)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(bytes_of_all_kinds)
def test_a_time_is_an_instant_that_a_clock_can_show(data):
    form = recognise(data, zone=UTC, latest=LATEST)
    at = form.time_at(data, 0, len(data)) if isinstance(form, RecognisedFormat) else None

    assert at is None or abs(at) < 253_402_300_800_000


def test_half_a_surrogate_pair_does_not_reach_the_events(read):
    line = (
        b'{"@timestamp":"2021-02-16T12:00:00.000Z","message":"a \\ud800 b","kubernetes":{"pod":{"name":"p\\udc00"}}}\n'
    )

    (record,) = read(line).records

    assert (record.text, record.subject) == ("a ? b", "p?")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"\n \n", "it is empty"),
        (b"\x00" * 100, "only NUL bytes"),
        (bytes(range(256)), "it is not text"),
    ],
)
def test_a_file_that_is_no_text_has_a_reason(data, why):
    assert recognise(data, zone=UTC, latest=LATEST) == NotText(why)


LOG = b"2021-02-16 12:00:00,000 INFO orders: one line\n" * 40


@pytest.mark.parametrize(
    "data", [LOG + b"\x00" * 100_000, b"\x00" * 4096 + LOG, LOG + b"\x00" * 4096 + LOG], ids=["end", "begin", "middle"]
)
def test_zeros_of_a_crashed_machine_or_of_copytruncate_make_no_log_binary(data):
    assert isinstance(recognise(data, zone=UTC, latest=LATEST), RecognisedFormat)


@pytest.mark.parametrize(
    "line",
    [
        b"\tat com.acme.X.y(X.java:3)",
        b"Caused by: java.io.IOException: Broken pipe",
        b"java.lang.IllegalStateException: no",
        b"\tconnections.max.idle.ms = 540000",
        b'  File "x.py", line 3, in y',
        b"... 12 more",
        b"",
        b"2021",
        b"2021-02-30 12:00:00,000 no such day",
        b"2021-02-16 25:00:00,000 no such hour",
        b"21/02/16 12:00:03 a date of Spark in a file without them",
        b"1613476803 a number that could be a time",
    ],
)  # fmt: skip
def test_a_line_without_a_time_of_its_own_continues_the_one_before(read, line):
    result = read(b"\n".join([b"2021-02-16 12:00:00,000 INFO x"] * 9 + [line]))

    assert result.form.time_at(line, 0, len(line)) is None


def test_a_time_is_found_in_the_middle_of_a_block(read):
    block = b"2021-02-16 12:00:00,001 a\n2021-02-16 12:00:00,002 b\n"

    assert read(block).form.time_at(block, 26, 51) - read(block).form.time_at(block, 0, 25) == 1


def test_a_hole_that_copytruncate_left_is_skipped(read):
    result = read(b"\x00" * 5000 + b"2021-02-16 12:00:00,001 a\n2021-02-16 12:00:00,002 b\n")

    assert len(result.times) == 2


def test_a_syslog_of_january_remembers_that_december_was_last_year(read):
    lines = b"Dec 31 23:59:59 w-1 app[1]: a\nJan  1 00:00:01 w-1 app[1]: b\n"

    first, second = read(lines).times

    assert second - first == 2000


def test_a_program_of_syslog_without_a_process_id_is_named_without_one(read):
    result = read(
        b"<134>1 2021-02-16T12:36:02Z w-1 app - - - INFO a\n"
        b"<134>1 2021-02-16T12:36:03Z w-2 app - ID47 - INFO b\n"
        b"<134>1 2021-02-16T12:36:04Z w-2 app 17 - - INFO c\n"
    )

    assert [record.subject for record in result.records] == ["w-1 app", "w-2 app", "w-2 app 17"]


def test_a_line_of_millions_of_bytes_is_cut(read):
    result = read(b"worker-1  | 2021-02-16 12:00:00,001 a\n" * 2 + b"worker-2  | 2021 " + b"x" * (20 << 20))

    assert [len(record.quote) for record in result.records] == [37, 37, 16 << 20]


def test_a_document_of_any_size_is_read_as_a_stream():
    head = b'{"events":[{"timestamp":1613476800000,"message":"a"}'
    form = recognise(head, zone=UTC, latest=LATEST)
    event = b',\n{"timestamp":1613476800000,"message":"%s"}' % (b"x" * 1000)
    blocks = (head if number == 0 else event * 1000 for number in range(25))
    assert isinstance(form, RecognisedFormat)
    assert form.records

    tracemalloc.start()
    lines = [record.line for record in form.records(blocks)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert lines == list(range(1, 24_002))
    assert most < 60_000_000


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_document_that_is_cut_off_is_read_up_to_there(size: int):
    document = b'[{"time": 1613476800000, "message": "one"},\n{"time": 1613476801000, "message": "t\\u00e4wo'
    form = recognise(document, zone=UTC, latest=LATEST)
    assert isinstance(form, RecognisedFormat)
    assert form.records

    records = list(form.records(document[at : at + size] for at in range(0, len(document), size)))

    assert [(record.line, record.text) for record in records] == [(1, "one")]


def test_a_document_whose_first_record_is_larger_than_a_block_is_recognised():
    line = b'["1613476800000000000", "%s"],' % (b"x" * 1000)
    document = b'{"data": {"resultType": "streams", "result": [{"stream": {"pod": "a"}, "values": [' + line * 5000

    form = recognise(document, zone=UTC, latest=LATEST)

    assert isinstance(form, RecognisedFormat)
    assert form.names == ("JSON document",)
