"""Tables that are read many lines at a time hold what they hold line by line, however they are damaged."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.outputs.usual_lines import Lines, Rows, UsualLayout
from leadsman.telemetry.source import output_source

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


def line_by_line(layout: UsualLayout, lines: Lines) -> Rows:
    """Leave every line to the reader of single lines."""
    return Rows(range(0), [()] * layout.groups, range(len(lines.texts)))


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


def test_most_lines_of_real_outputs_have_a_usual_layout() -> None:
    taken: list[int] = []
    every = UsualLayout.rows

    def counted(layout: UsualLayout, lines: Lines) -> Rows:
        found = every(layout, lines)
        taken.append(len(found.usual))
        return found

    with patch.object(UsualLayout, "rows", counted):
        for data in outputs():
            rows([data])

    assert sum(taken) > 0
