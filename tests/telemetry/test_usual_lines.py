"""Tables that are read many lines at a time hold what they hold line by line, however they are damaged."""

from __future__ import annotations

import struct
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.outputs.usual_lines import LayoutColumns, Lines, UsualLayout
from leadsman.telemetry.packets.handshake import ETHERNET, Frame, parse_handshake
from leadsman.telemetry.source import event_types, output_source
from leadsman.telemetry.sources.hosts.packets import Handshakes
from leadsman.telemetry.sources.java import class_histogram
from leadsman.telemetry.sources.kafka_tools import kafka_groups
from leadsman.vocabulary import HEAP_CLASS, PRODUCERS_COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.parser import EventColumns

HERE = Path(__file__).parent
CONTEXT = OutputContext(file="some.txt", at=1_763_726_601_000, subject="broker-1", command="")
NOISE = (b"", b" ", b"-", b"x", b"0", b"-1", b"\t", b"\n", b"\r", b"\r\n", b"\x1c", b"\xff", "²".encode(), b"=", b"::1")
MAX_BYTES = 3_000


@cache
def outputs() -> list[bytes]:
    """Outputs of real programs: some lines of each, because a damaged line does not depend on far ones."""
    folders = ("outputs", "host", "cloud")
    paths = (path for folder in folders for path in sorted((HERE / folder).iterdir()) if path.suffix != ".expected")
    return [data[:MAX_BYTES] for path in paths if output_source(data := path.read_bytes())]


@st.composite
def damaged(draw: st.DrawFn) -> list[bytes]:
    """An output in which words are replaced, lines repeated and moved, in one block or in several."""
    random = Random(draw(st.integers(0, 1 << 32)))
    lines = draw(st.sampled_from(outputs())).split(b"\n")
    for _ in range(random.randrange(4)):
        place = random.randrange(len(lines))
        words = lines[place].split(b" ")
        words[random.randrange(len(words))] = random.choice((*NOISE, random.choice(words)))
        lines[place] = b" ".join(words)
    for _ in range(random.randrange(3)):
        lines.insert(random.randrange(len(lines)), random.choice(lines))
    data = b"\n".join(lines)
    cut = data.rfind(b"\n", 0, random.randrange(1, len(data) + 1)) + 1 if random.random() < 1 / 2 else len(data)
    return [piece for piece in (data[:cut], data[cut:]) if piece]


def line_by_line(layout: UsualLayout, lines: Lines) -> LayoutColumns:
    """Leave every line to the reader of single lines."""
    return LayoutColumns(range(0), [()] * layout.groups, range(len(lines.texts)))


def rows(blocks: Iterable[bytes]) -> list[tuple[Any, ...]]:
    """All events, one by one, sorted. Where a parser gives up, those before it."""
    found: list[tuple[Any, ...]] = []
    head, *_ = blocks
    source = output_source(head)
    with suppress(OSError):
        for events in source.parser.read(iter(blocks), CONTEXT) if source and source.parser else ():
            found += rows_of(events)
    return sorted(found, key=repr)


def rows_of(events: EventColumns) -> Iterator[tuple[Any, ...]]:
    count = len(events.lines)
    labels = {name: [each] * count if isinstance(each, str) else each for name, each in events.labels.items()}
    for index, line in enumerate(events.lines):
        own = sorted((name, text) for name, column in labels.items() if (text := column[index]) is not None)
        at = events.at[index] if events.at else None
        subjects = events.subjects
        subject = subjects if subjects is None or isinstance(subjects, str) else subjects[index]
        value = float(each) if len(events.values) and (each := events.values[index]) is not None else None
        yield events.name, int(line), events.texts[index], value, own, at, subject


@settings(deadline=None, max_examples=800, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_many_lines_at_a_time_hold_what_single_lines_hold(blocks: list[bytes]) -> None:
    at_once = rows(blocks)

    with patch.object(UsualLayout, "rows", line_by_line):
        assert at_once == rows(blocks)


@pytest.mark.parametrize(
    "name",
    ["host/arp-an", "host/ip-s-neigh", "host/ss-tan", "host/tcpdump", "outputs/kafka-topics-4.3", "prometheus-scrape"],
)
def test_lines_of_real_outputs_have_the_usual_layout(name: str) -> None:
    (path,) = (path for path in HERE.rglob("*.txt") if str(path).endswith(f"{name}.txt"))
    taken: list[LayoutColumns] = []
    every = UsualLayout.rows

    def counted(layout: UsualLayout, lines: Lines) -> LayoutColumns:
        taken.append(every(layout, lines))
        return taken[-1]

    with patch.object(UsualLayout, "rows", counted):
        rows([path.read_bytes()])

    assert sum(len(each.usual) for each in taken) > 1


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 1 << 32))
def test_a_table_of_groups_is_split_as_each_of_its_lines(seed: int) -> None:
    random = Random(seed)
    printed = (HERE / "outputs" / "kafka-consumer-groups-4.3.txt").read_text().split("\n")
    heading = next(line for line in printed if kafka_groups.HEADING.match(line))
    lines = list(takewhile(str.strip, printed[printed.index(heading) + 1 :]))
    columns = kafka_groups._columns(heading)
    texts = [damaged_line(line, random) for line in lines]

    numbers, kept, cells = kafka_groups._cells(range(len(texts)), texts, columns)

    singly = [(number, line, row) for number, line in enumerate(texts) if (row := kafka_groups._row(line, columns))]
    by_row = [{name: column[index] for name, column in cells.items()} for index in range(len(kept))]
    assert list(zip(numbers, kept, by_row, strict=True)) == singly


def damaged_line(line: str, random: Random) -> str:
    place = random.randrange(len(line))
    return line if random.random() < 1 / 2 else line[:place] + random.choice(("", "x", " ", "x" * 40)) + line[place:]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from([2, 18, 16, 24, 4])), max_size=40))
def test_frames_that_repeat_a_packet_are_counted_as_if_each_was_parsed(sent: list[tuple[int, int, int]]) -> None:
    frames = [Frame(number, number, ETHERNET, frame_of(*each)) for number, each in enumerate(sent)]
    by_key, parsed = Handshakes(), Handshakes()
    for frame in frames:
        by_key.add_frame(frame)
        if (packet := parse_handshake(frame)) is not None:
            parsed.add(packet, frame.number, frame.at)

    assert by_key.packets == parsed.packets


def frame_of(source: int, target: int, flags: int) -> bytes:
    """A TCP segment; of the third host, with options in its IP header, and of the second one in pieces."""
    version, fragment = (0x46, 0) if source == 2 else (0x45, 7 if target == 1 else 0)
    macs = bytes([2, 0, 0, 0, 0, target, 2, 0, 0, 0, 0, source])
    packet = struct.pack("!BBHHHBBH4B4B", version, 0, 40, 1, fragment, 64, 6, 0, 10, 0, 0, source, 10, 0, 0, target)
    segment = struct.pack("!HHIIBBHHH", 40_000 + source, 9092, 1, 1, 0x50, flags, 502, 0, 0)
    return macs + b"\x08\x00" + packet + b"\0" * 4 * (version & 1 == 0) + segment


NEAR_A_CLASS = (
    *(b"", b" ", b"1", b"9", b"50", b"51", b"300", b"301", b"0", b":", b"#", b"[B", b"kafka.", b"org.apache.kafka."),
    *(b"kafka.log.ProducerStateEntry", b"\xff", b"\r"),
)


@settings(deadline=None, max_examples=400)
@given(st.lists(st.lists(st.sampled_from(NEAR_A_CLASS), max_size=9).map(b"".join), max_size=12))
def test_a_small_class_is_no_event(lines: list[bytes]) -> None:
    head = b" num     #instances         #bytes  class name (module)\n"
    written = [b"  %s: 12 3456  %s" % (line[:3], line[3:]) for line in lines]
    blocks = [head + b"\n".join([*written, *lines, b"  60: 7 8  kafka.log.ProducerStateEntry"])]

    notable = rows(blocks)

    with patch.object(class_histogram, "NOTABLE_LINES", lambda joined: joined.split("\n")):
        assert notable == rows(blocks)
    assert notable


def test_a_histogram_of_all_objects_has_that_in_declared_labels() -> None:
    histogram = (HERE / "outputs" / "class-histogram.txt").read_bytes()
    context = replace(CONTEXT, command="jcmd 17 GC.class_histogram -all")
    parser = class_histogram.SOURCE.parser

    found = [row for events in parser.read([histogram], context) for row in rows_of(events)]  # type: ignore[union-attr]

    assert {name for name, *_ in found} == {HEAP_CLASS, PRODUCERS_COUNTED}
    assert all(("live", "false") in labels for *_, labels, _, _ in found)
    assert all(label in event_types()[name].labels for name, *_, labels, _, _ in found for label, _ in labels)
