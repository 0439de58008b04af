"""The same silences, in whatever order a subject's lines come."""

import pickle
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman import vocabulary as names
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.idle_gaps import writers
from leadsman.pipeline.idle_gaps.spans import PackedSpans, SpanEnd
from leadsman.pipeline.idle_gaps.writers import SubjectActivity

SECOND = 1000
Rows = Callable[[Path], list[EventRow]]


def idle_gaps(times: Sequence[int], kept: int = 200) -> list[tuple[int, int]]:
    """Return since when and until when a subject that wrote at these times was silent."""
    subject = SubjectActivity("worker", kept)
    for line, at in enumerate(times, 1):
        subject.note_line(SpanEnd(at, line, "", "app.log"))
    return [(gap.at - round(gap.seconds * 1000), gap.at) for gap in subject.idle_gaps()]


def between(times: Sequence[int]) -> list[tuple[int, int]]:
    return [(before, after) for before, after in pairwise(sorted(times)) if after - before >= SECOND]


@given(st.lists(st.integers(0, 200 * SECOND), min_size=1, max_size=60))
def test_lines_in_any_order_have_the_idle_gaps_of_the_sorted_ones(times):
    assert idle_gaps(times) == between(times)


@given(st.lists(st.integers(0, 200 * SECOND), min_size=1, max_size=60), st.booleans())
def test_lines_in_one_direction_have_the_longest_idle_gaps(times, newest_first):
    lengths = [after - before for before, after in idle_gaps(sorted(times, reverse=newest_first), kept=3)]

    assert sorted(lengths) == sorted(after - before for before, after in between(times))[-3:]


def test_what_is_shorter_than_all_that_were_kept_is_reported_as_not_known():
    subject = SubjectActivity("worker", 2)
    for line, at in enumerate((0, 3000, 12_000, 17_000, 24_000), 1):
        subject.note_line(SpanEnd(at, line, "", "app.log"))

    assert [gap.seconds for gap in subject.idle_gaps()] == [9.0, 7.0]
    assert subject.floor_ms == 7 * SECOND


def test_idle_gaps_of_one_length_are_as_many_as_are_kept_however_many_there_are():
    assert len(idle_gaps([each * 30 * SECOND for each in range(5000)], kept=7)) == 7


def test_very_many_silences_without_order_keep_the_longest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writers, "SPANS_KEPT", 1000)
    times = [each * 2 * SECOND for each in range(5000)]
    times[2500:] = [at + 600 * SECOND for at in times[2500:]]
    random.Random(1).shuffle(times)

    assert [(after - before) // SECOND for before, after in idle_gaps(times, kept=1)] == [602]


@pytest.mark.parametrize("seed", range(30))
def test_lines_that_come_a_little_late_have_the_longest_idle_gaps_and_take_little_memory(seed: int):
    chance, late = random.Random(seed), 30 * SECOND
    times, at = [0, late, 0], late
    for _ in range(4000):
        at += chance.choice((2, 3, 5, chance.randint(2, 600))) * SECOND
        times.append(at)
    order = sorted(times[3:], key=lambda each: each + chance.uniform(0, late))
    subject = SubjectActivity("worker", kept=20)
    for line, each in enumerate([*times[:3], *order], 1):
        subject.note_line(SpanEnd(each, line, "", "app.log"))

    lengths = sorted(round(gap.seconds * 1000) for gap in subject.idle_gaps())

    assert lengths == sorted(after - before for before, after in between(times))[-20:]
    assert len(subject._spans) < 200


ORDERS: dict[str, Callable[[int, random.Random], float]] = {
    "oldest first": lambda at, _: at,
    "newest first": lambda at, _: -at,
    "a little late": lambda at, chance: at + chance.uniform(0, 600 * SECOND),
    "no order": lambda _, chance: chance.random(),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kept", [5, 40, 5000])
def test_compressed_spans_have_the_idle_gaps_of_the_others(order: str, kept: int):
    chance = random.Random(kept)
    times = [at * SECOND for at in chance.sample(range(100_000), 3000)]
    plain, packed = SubjectActivity("worker", kept), SubjectActivity("worker", kept, packs=True)
    for line, at in enumerate(sorted(times, key=lambda each: ORDERS[order](each, chance)), 1):
        first = SpanEnd(at, line, f'{at} "\\ \ud800 \0 é', "a/app.log")
        last = first if line % 3 else SpanEnd(at + 1, line, f"{at} second", "b/app.log")
        plain.note_rising_lines(first, last)
        packed.note_rising_lines(first, last)

    assert packed.idle_gaps() == plain.idle_gaps()
    assert len(packed._spans) == len(plain._spans)
    del plain._spans, packed._spans, plain._begins, packed._begins
    assert vars(packed) == vars(plain)


def test_compressed_spans_take_a_third_of_the_room():
    lines = [SpanEnd(at, at, f"2026-01-01T00:00:00Z INFO handled {at} of the orders", "app.log") for at in range(2000)]
    spans = [*zip(lines[::2], lines[1::2], strict=True)]

    assert len(pickle.dumps(PackedSpans(spans))) < len(pickle.dumps(spans)) / 3


SHORT = 10
PAUSES = (0, 700, 1400, 2900)


@pytest.fixture
def lines(log_of) -> list[str]:
    """Four bursts of an hour's work with long pauses between, a line each second."""
    seconds = [pause + each for pause in PAUSES for each in range(600)]
    return str(log_of([(each, f"Handled order {each} as usual, in the ordinary way") for each in seconds])).splitlines()


def quiet(rows: Rows, path: Path) -> list[tuple[str | None, float, str, str | None]]:
    """Return each long silence of a subject, with the lines around it."""
    found = [row for row in rows(path) if row.name == names.SUBJECT_IDLE]
    sure = [(row.subject, row.value or 0.0, row.labels["before_text"], row.text) for row in found]
    return sorted((each for each in sure if each[1] > SHORT), key=lambda each: each[2])


def written(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_shuffled_file_has_the_silences_of_the_sorted_one(rows: Rows, lines: list[str], tmp_path: Path):
    shuffled = random.Random(7).sample(lines, len(lines))
    expected = quiet(rows, written(tmp_path / "sorted" / "app.log", lines).parent)

    assert quiet(rows, written(tmp_path / "shuffled" / "app.log", shuffled).parent) == expected
    assert quiet(rows, written(tmp_path / "newest" / "app.log", lines[::-1]).parent) == expected
    assert [round(seconds) for _, seconds, _, _ in expected] == [101, 101, 901]


def test_a_file_in_no_order_is_reported_and_one_newest_first_is_not(rows: Rows, lines: list[str], tmp_path: Path):
    written(tmp_path / "shuffled.log", random.Random(7).sample(lines, len(lines)))
    written(tmp_path / "newest.log", lines[::-1])
    written(tmp_path / "twice.log", lines + lines)

    read = {row.file: row.labels.get("order") for row in rows(tmp_path) if row.name == names.FILE_READ}

    assert read == {"shuffled.log": "none", "newest.log": None, "twice.log": None}


ROTATIONS = {
    "numbered": lambda part: f"app.log.{50 - part}" if part < 50 else "app.log",
    "by hour": lambda part: f"app.log.2026-11-{20 + part // 24}-{part % 24:02}",
    "by day and number": lambda part: f"app.2026-11-{20 + part // 10}.{part % 10}.log",
    "exported": lambda part: f"{part:06}",
}


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_fifty_rotated_parts_are_one_stream(rotation: str, rows: Rows, lines: list[str], tmp_path: Path):
    size = len(lines) // 49
    for part in range(50):
        written(tmp_path / "parts" / ROTATIONS[rotation](part), lines[part * size : (part + 1) * size] or [""])
    whole = quiet(rows, written(tmp_path / "whole" / "app.log", lines).parent)

    parts = quiet(rows, tmp_path / "parts")

    assert [each[1:] for each in parts] == [each[1:] for each in whole]
    assert len({each[0] for each in parts}) == 1


def test_a_line_of_another_time_makes_no_silence(rows: Rows, lines: list[str], tmp_path: Path):
    busy = lines[:600]
    late = [*busy[:301], "2020-01-01 00:00:00,000 INFO orders: The clock was wrong", *busy[301:]]

    found = quiet(rows, written(tmp_path / "app.log", late).parent)

    assert [round(seconds) for _, seconds, _, _ in found if seconds < 1e6] == []
