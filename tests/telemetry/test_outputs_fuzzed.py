"""Outputs of commands and servers, cut, shuffled and damaged: none of them ends parsing with an unexpected error."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.telemetry.outputs.parser import OutputContext
from leadsman.telemetry.source import output_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.outputs.parser import EventColumns

HERE = Path(__file__).parent
OUTPUTS = [
    path.read_bytes()
    for folder in ("outputs", "host", "cloud")
    for path in sorted((HERE / folder).iterdir())
    if path.suffix != ".expected"
]
NOISE = (
    *(b"", b"-", b"x", b"0", b"-1", b"9" * 30, b"1e999", b"NaN", b"null", b"true", b"[]", b"{}", b'"', b"'", b"\\"),
    *(b",", b":", b"=", b";", b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\xff", b"(", b"%"),
    *("²".encode(), "٣".encode(), b"2026-02-30 25:61:61"),
)
CONTEXT = OutputContext(file="some.txt", at=1_763_726_601_000, subject="broker-1", command="")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A real output in which a few words or lines are removed, moved or replaced."""
    by = draw(st.sampled_from([b"\n", b" ", b",", b":", b";", b'"']))
    parts = draw(st.sampled_from(OUTPUTS)).split(by)
    for _ in range(draw(st.integers(1, 6))):
        # The lines of an output are alike: its headings are at the beginning.
        place = draw(st.integers(0, min(len(parts), 60) - 1))
        parts[place] = draw(st.one_of(st.sampled_from(NOISE), st.sampled_from(parts[:200])))
    return by.join(parts)[: draw(st.integers(1, 20_000))]


@settings(deadline=None, max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@given(damaged())
def test_a_damaged_output_is_parsed_as_far_as_possible(data: bytes) -> None:
    lines = data.decode("utf-8", "replace").split("\n")

    for events in events_of(data):
        assert len(events.lines) == len(events.texts)
        assert all(0 <= number <= len(lines) for number in events.lines)


def events_of(data: bytes) -> Iterator[EventColumns]:
    """Yield the events. A parser may raise OSError where it cannot go on, and no other error."""
    source = output_source(data)
    with suppress(OSError):
        yield from source.parser.read(iter([data]), CONTEXT) if source and source.parser else ()
