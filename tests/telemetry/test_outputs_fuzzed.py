"""What commands and servers print, cut, shuffled and spoilt: nothing of it may break the reading."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadsman.telemetry.reading import About
from leadsman.telemetry.source import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.telemetry.reading import Facts

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
ABOUT = About(file="some.txt", at=1_763_726_601_000, subject="broker-1", command="")


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A real output, a few of whose words or lines are gone, moved or others."""
    by = draw(st.sampled_from([b"\n", b" ", b",", b":", b";", b'"']))
    parts = draw(st.sampled_from(OUTPUTS)).split(by)
    for _ in range(draw(st.integers(1, 6))):
        # Most of an output is more of the same: what a head says is at its beginning.
        place = draw(st.integers(0, min(len(parts), 60) - 1))
        parts[place] = draw(st.one_of(st.sampled_from(NOISE), st.sampled_from(parts[:200])))
    return by.join(parts)[: draw(st.integers(1, 20_000))]


@settings(deadline=None, max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@given(spoilt())
def test_a_spoilt_output_is_read_as_far_as_it_can_be(data: bytes) -> None:
    lines = data.decode("utf-8", "replace").split("\n")

    for facts in facts_of(data):
        assert len(facts.lines) == len(facts.texts)
        assert all(0 <= number <= len(lines) for number in facts.lines)


def facts_of(data: bytes) -> Iterator[Facts]:
    """Yield what is told. A reading may say with an OSError why it cannot go on, and with nothing else."""
    source = source_of(data)
    with suppress(OSError):
        yield from source.reading.read(iter([data]), ABOUT) if source and source.reading else ()
