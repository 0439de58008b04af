"""Trimming cuts whole runs, changes no line that stays, and makes no silence in a client's log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from leadsman.capture import Item, Manifest, write_manifest
from leadsman.lab.run.trim import LARGEST, shorten, trim, turning_points, without_repeated_dumps, without_storms
from leadsman.sections import Section, exit_line, section_line

if TYPE_CHECKING:
    from pathlib import Path

BEGAN = datetime(2026, 11, 21, 9, tzinfo=UTC)

DUMP = [f"\tsetting.{number} = {number}\n" for number in range(100)]


def at(milliseconds: int, text: str) -> str:
    return f"2026-11-21 09:00:{milliseconds // 1000:02},{milliseconds % 1000:03} {text}\n"


def dumped(second: int) -> list[str]:
    return [at(second * 1000, "INFO KafkaConfig values: "), *DUMP]


def test_a_settings_dump_is_kept_once() -> None:
    line = at(2000, "INFO started")

    kept = without_repeated_dumps([*dumped(1), line, *dumped(3)])

    assert kept == [*dumped(1), line, dumped(3)[0]]


def test_a_stack_trace_is_no_dump() -> None:
    lines = [at(1000, "ERROR failed"), "java.lang.Exception\n", "\tat a.B\n"] * 2

    assert without_repeated_dumps(lines) == lines


def test_a_storm_is_thinned_and_no_gap_is_made() -> None:
    storm = [at(number * 10, f"ERROR kafka: Connection {number} refused") for number in range(1000)]

    kept = without_storms(storm)

    assert kept == storm[::50]


def test_routine_is_thinned_to_one_a_second() -> None:
    lines = [at(number * 10, f"INFO orders: Handling event {number}") for number in range(1000)]

    assert without_storms(lines) == lines[::100]


def test_of_an_output_small_entries_are_cut_and_nothing_else(tmp_path: Path) -> None:
    head = section_line(Section(BEGAN, "broker-1", "jvm/histogram.txt", "jcmd 1 GC.class_histogram"))
    rows = "   1:         55704       16590880  [B (java.base@17)\n 900:             1             16  a.B$C\n"
    (tmp_path / "histogram.txt").write_text(f"{head}{rows}Total  55705  16590896\n{exit_line(0)}")
    item = Item(file="histogram.txt", source="class_histogram", command="jcmd", at=BEGAN)
    manifest = Manifest(
        cluster="lab", recorded_from=BEGAN, recorded_until=BEGAN, host="lab", ran="leadsman", items=(item,)
    )
    write_manifest(tmp_path, manifest)

    trim(tmp_path)

    assert (tmp_path / "histogram.txt").read_text() == (
        f"{head}{rows.splitlines(keepends=True)[0]}Total  55705  16590896\n{exit_line(0)}"
    )


def test_starts_and_shutdowns_of_a_large_broker_log_stay() -> None:
    lines = [at(number, f"INFO line {number} " + "x" * 100) for number in range(2000)]
    lines[1000] = at(1000, "INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)")

    kept = turning_points(lines)

    assert kept[0] == lines[0]
    assert kept[-1] == lines[-1]
    assert lines[992:1009] == [line for line in kept if line in lines[900:1100]]
    assert sum(map(len, kept)) <= LARGEST


def test_a_small_file_stays() -> None:
    lines = [at(1, "ERROR failed")] * 10

    assert shorten(lines, is_client_log=True) == shorten(lines, is_client_log=False) == lines
