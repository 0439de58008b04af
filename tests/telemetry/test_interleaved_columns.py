"""Lines of several writers, read block by block, are the records that are read line by line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.telemetry.formats.text_logs import (
    docker_compose,
    kubectl_prefix,
    several_clients,
    stern,
    syslog,
    syslog_with_priority,
)
from leadsman.telemetry.line_records import interleaved, interleaved_columns, text_lines
from leadsman.telemetry.line_records.interleaved_times import BlockTimes
from leadsman.telemetry.record_batch import NO_TIME
from leadsman.telemetry.timestamps.line_timestamps import detect_timestamps
from leadsman.telemetry.timestamps.timestamp_format import TimeDefaults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.line_records.interleaved import Prefix
    from leadsman.telemetry.record_batch import LogRecordBatch
    from leadsman.telemetry.timestamps.line_timestamps import LineTimestamps

EXAMPLES = 300
"""Some seconds. Each run draws others."""
DEFAULTS = TimeDefaults(timezone(timedelta(hours=2)), datetime(2026, 11, 23, tzinfo=UTC))
START = datetime(2026, 2, 28, 23, 59, 50, tzinfo=UTC)


class Layout(NamedTuple):
    """How lines are written, the most usual way first; `times` as `strftime` takes them, with `%L` for milliseconds."""

    prefix: Prefix
    lines: tuple[str, ...]
    times: tuple[str, ...]


ISO_TIMES = (
    "%Y-%m-%d %H:%M:%S,%L", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%LZ", "%Y-%m-%dT%H:%M:%S.%L000+05:30",
    "[%Y-%m-%d %H:%M:%S,%L]", "%Y/%m/%d %H:%M:%S Z", "%Y-%m-%d %H:%M:%S.%L UTC",
)  # fmt: skip
ZONED_TIMES = (
    "%Y-%m-%dT%H:%M:%S.%L+00:00", "%Y-%m-%dT%H:%M:%S.%L000-03:30", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S,%LZ",
    "%Y-%m-%d %H:%M:%S,%L", "%b %d %H:%M:%S",
)  # fmt: skip
SYSLOG_TIMES = ("%b %d %H:%M:%S", "%b %d %H:%M:%S", "%b  %d %H:%M:%S", "%b %d %H:%M:%S.%L", *ZONED_TIMES[:3])
RDKAFKA_TIMES = ("%%4|%s.%L", *ISO_TIMES[:3])
SYSLOG_LINES = ("{at} {who} app[12]: {text}", "{at} {who} app: {text}", "{at} Z{who} app: {text}")
COMPOSE_LINES = (
    "{who}  | {at} {text}", "\x1b[36m{who} |\x1b[0m {at} {text}", "{who}  |  {text}", "{who} |{text}", "{who}  | ",
)  # fmt: skip
LAYOUTS = (
    Layout(docker_compose.PREFIX, COMPOSE_LINES, ISO_TIMES),
    Layout(kubectl_prefix.PREFIX, ("[pod/{who}/app] {at} {text}", "[pod/{who}/app] {text}"), ISO_TIMES),
    Layout(
        stern.PREFIX,
        ("{who}-x2x4z app {at} {text}", "\x1b[35m{who}-x2x4z\x1b[0m app {at} {text}", "{who}-x2x4z app {text}"),
        ISO_TIMES,
    ),
    Layout(syslog.PREFIX, SYSLOG_LINES, ZONED_TIMES),
    Layout(syslog.PREFIX, SYSLOG_LINES, SYSLOG_TIMES),
    Layout(
        syslog_with_priority.PREFIX,
        ("<34>{at} {who} app[12]: {text}", "<134>1 {at} {who} app 7 - {text}"),
        (*SYSLOG_TIMES, *ZONED_TIMES),
    ),
    Layout(
        several_clients.PREFIX,
        (
            "{at} INFO [Producer clientId={who}] {text}",
            "{at} " + 240 * "x" + " clientId={who}] {text} clientId=other]",
            "{at} clientId= clientId={who}, {text}",
            "{at}|FAIL|rdkafka#{who}| {text}",
            "{at}|FAIL|{who}#producer-1| {text}",
            "clientId={who}] {text}",
        ),
        (*ISO_TIMES, *RDKAFKA_TIMES),
    ),
)  # fmt: skip
WRITERS = ("orders-1", "orders-2", "billing", "a", "INFO", "\u00e9", "long" * 30)
TEXTS = (
    "Node 3 disconnected.", "", " ", "\tat a.B.c(D.java:1)", '  File "app.py", line 3', "\u00e9 \ud83d\ude00", "12",
    "2026-11-17 00:35:38,123 INFO x", "[2026-11-17 00:35:38,123] x", "Feb 16 12:36:02 host app: x", "2026", "END",
    "%4|1794875738.123|FAIL|rdkafka#producer-1| [thrd:b]", "I0216 12:36:02.123456 x", "\x1b[0m2026-11-17 00:35:38 x",
    "ERROR 2026-11-17 00:35:38,123 x", "Caused by: x", "START RequestId: 1", "level=info ts=2021-02-16T12:36:02Z",
    "\x00\x00x", '{"time": "2026-11-17T00:35:38Z"}', "x" * 700, "a|b#c clientId=late]", "\ufeffx", "\u2028", "\x0b",
    "1613433600.123 x", "time=2021-02-16T12:36:02Z x", "a\rb", "17/Nov/2026:00:35:38 +0000 x",
    "x2026-11-17 00:35:38,12 x",
)  # fmt: skip


@st.composite
def logs(draw: st.DrawFn, layout: Layout) -> bytes:
    """Return lines of a layout: most of them alike, and others that occur in such files."""
    usual_time, usual_line, at = draw(st.sampled_from(layout.times)), draw(st.sampled_from(layout.lines)), START
    writers = draw(st.lists(st.sampled_from(WRITERS), min_size=1, max_size=4))
    lines = []
    for _ in range(draw(st.integers(2, 40))):
        at += timedelta(milliseconds=draw(st.sampled_from((0, 1, 999, 1000, 70_000, 86_400_000, -5))))
        time = draw(st.sampled_from((*[usual_time] * 8, *layout.times)))
        line = draw(st.sampled_from((*[usual_line] * 8, *layout.lines, "{at} {text}", "{text}", "", " \t")))
        written = at.strftime(time.replace("%L", f"{at.microsecond // 1000:03d}"))
        text = draw(st.one_of(st.sampled_from(TEXTS), st.text(max_size=6)))
        lines.append(line.format(at=written, who=draw(st.sampled_from(writers)), text=text))
    end = draw(st.sampled_from(("\n", "\n", "\r\n")))
    data = (end.join(lines) + draw(st.sampled_from(("", end)))).encode("utf-8", "surrogatepass")
    changes = ((b"o", b"\xff"), (b"2", b"x"), (b":", b";"), (b" ", b"  "), (b"|", b""), (b"-", b"\n"), (b"0", b"9"))
    changed = data.replace(*draw(st.sampled_from(changes)), draw(st.integers(0, 9)))
    return draw(st.sampled_from((data, data, changed)))


def timestamps_of(prefix: Prefix, data: bytes) -> LineTimestamps:
    lines = data.split(b"\n")
    return detect_timestamps(interleaved.strip_prefix(prefix, lines) if prefix.is_stripped else lines, DEFAULTS)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    """Cut behind newlines, and anywhere in longer lines."""
    while data:
        end = data.rfind(b"\n", 0, size) + 1 or size
        yield data[:end]
        data = data[end:]


def rows_of(batch: LogRecordBatch) -> list[tuple[object, ...]]:
    return [
        (
            int(batch.line[row]),
            None if batch.at[row] == NO_TIME else int(batch.at[row]),
            batch.writers.names[batch.writer[row]],
            *batch.text_and_quote(row),
            bool(batch.starts_record[row]),
            batch.record_starts.get(row, ""),
        )
        for row in range(len(batch.at))
    ]


def assert_same(prefix: Prefix, data: bytes, *, block_bytes: int) -> None:
    records = interleaved.reader(prefix, timestamps_of(prefix, data).time_at)(cut(data, block_bytes))

    with patch.object(interleaved_columns, "BLOCK_BYTES", block_bytes):
        batches = interleaved_columns.reader(prefix, timestamps_of(prefix, data))(cut(data, block_bytes))
        rows = [row for batch in batches for row in rows_of(batch)]

    assert rows == [
        (each.line, each.at, each.subject, each.text, each.quote, each.record_start is None, each.record_start or "")
        for each in records
    ]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.prefix.name}, {layout.times[0]}")
@settings(max_examples=EXAMPLES // len(LAYOUTS), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=st.data())
def test_blocks_are_read_as_their_lines_are(layout: Layout, drawn: st.DataObject) -> None:
    data = drawn.draw(logs(layout))
    max_writers, min_lines = drawn.draw(st.sampled_from((2, 4, 100_000))), drawn.draw(st.sampled_from((1, 1, 5)))
    with (
        patch.object(text_lines, "MAX_WRITERS", max_writers),
        patch.object(interleaved_columns, "MIN_LINES", min_lines),
    ):
        assert_same(layout.prefix, data, block_bytes=drawn.draw(st.sampled_from((150, 1000, 1 << 20))))


USUAL = "a  | [2026-02-28 23:59:50,000] x\nb  | [2026-02-28 23:59:51,000] x\n"


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        pytest.param(
            several_clients.PREFIX,
            "2026-02-28 23:59:50,000 [clientId=a] x\nsince 2026-01-02 00:00:00,000\n"
            "2026-02-28 23:59:50,000 [clientId=a] was 2026-01-01 00:00:00,000\n"
            "2026-02-28 23:59:51,000 [clientId=a] x\n",
            id="the format of the line before reads another time of the line",
        ),
        pytest.param(docker_compose.PREFIX, USUAL + "a  | x2026-02-28 23:59:50,0] x\n", id="another byte before it"),
        pytest.param(
            docker_compose.PREFIX, USUAL + "b  |\n2026-02-28 23:59:52,000 x\n" + USUAL, id="a time on the next line"
        ),
        pytest.param(docker_compose.PREFIX, USUAL + " \t", id="a blank line at the end"),
        pytest.param(
            syslog.PREFIX,
            "Feb 28 23:59:50 a app: x\nFeb 28 23:59:50 UTC app: x\nFeb 28 23:59:50 +01 app: x\nFeb 28 23:59:50 a b: x",
            id="a zone behind a date of syslog",
        ),
    ],
)
def test_lines_that_look_usual_are_read_as_they_are_one_by_one(prefix: Prefix, text: str) -> None:
    with patch.object(interleaved_columns, "MIN_LINES", 1):
        assert_same(prefix, text.encode(), block_bytes=70)
        assert_same(prefix, text.encode(), block_bytes=1 << 20)


@pytest.mark.parametrize(
    "line",
    [
        "{who}  | {at:%Y-%m-%d %H:%M:%S},123 a line",
        "{who}  | {at:%Y-%m-%d %H:%M:%S} a line",
        "[pod/{who}/app] {at:%Y-%m-%dT%H:%M:%S}.123456789Z a line",
        "{who}-x2x4z app [{at:%Y-%m-%d %H:%M:%S},123] a line",
        "{at:%Y-%m-%dT%H:%M:%S}.123+00:00 {who} app[12]: a line",
        "{at:%b %d %H:%M:%S} {who} app[12]: a line",
        "{at:%Y-%m-%d %H:%M:%S}.123 INFO [Producer clientId={who}] a line",
    ],
)
def test_lines_of_the_usual_forms_are_not_read_one_by_one(line: str) -> None:
    lines = [line.format(at=START + timedelta(seconds=index), who=f"orders-{index % 7}") for index in range(500)]
    data = "".join(each + "\n" for each in lines).encode()
    prefix = next(each.prefix for each in LAYOUTS if interleaved.has_prefix(each.prefix, data.splitlines()))

    with (
        patch.object(interleaved_columns.InterleavedBlocks, "_match_others"),
        patch.object(BlockTimes, "_read_others", return_value=[]),
    ):
        (batch,) = interleaved_columns.reader(prefix, timestamps_of(prefix, data))([data])

    assert (batch.at != NO_TIME).all()
    assert len(set(batch.writer.tolist())) == 7
