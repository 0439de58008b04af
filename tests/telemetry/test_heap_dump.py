"""Heap dumps of a real JVM, compared with the class histogram of the same JVM."""

from __future__ import annotations

import mmap
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.java import runtime
from leadsman.telemetry.hprof import histogram, occurrences
from leadsman.telemetry.hprof.reader import InvalidDump, read_dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from leadsman.pipeline.events import EventRow

PROGRAM = Path(__file__).parent / "heap" / "Holding.java"
ENTRY = "Holding$Entry"
ENTRY_COUNT = 20_000

NOT_IN_DUMPS = {"java.lang.Class"}
"""In a dump, most classes are records of their own instead of instances."""


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A dump of a program that has entries in a map, and its class histogram as jcmd prints it."""
    dump = tmp_path_factory.mktemp("heap") / "holding.hprof"
    command = [
        str(runtime.find_java()),
        "-Xmx64m",
        *runtime.SMALL_JVM_OPTIONS,
        "-cp",
        str(runtime.compile_source(PROGRAM, [])),
        "Holding",
        str(ENTRY_COUNT),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        program.stdout.readline()
        run_jcmd(program.pid, "GC.heap_dump", str(dump))
        yield dump, run_jcmd(program.pid, "GC.class_histogram")
        program.communicate("end")


def run_jcmd(pid: int, *words: str) -> str:
    command = [str(runtime.find_tool("jcmd")), str(pid), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def instances(text: str) -> dict[str, int]:
    rows = re.findall(r"^ *\d+: +(\d+) +\d+  ?(\S+)", text, re.MULTILINE)
    return {name: int(count) for count, name in rows if name not in NOT_IN_DUMPS}


def test_a_dump_has_the_instance_counts_of_the_jvm(dumped: tuple[Path, str]) -> None:
    dump, printed = dumped

    contents, holders = histogram.read_file(dump, (ENTRY,))

    assert instances(histogram.histogram_text(contents, holders, ENTRY)) == instances(printed)


def test_the_bytes_of_the_largest_class_are_those_of_the_jvm(dumped: tuple[Path, str]) -> None:
    dump, printed = dumped

    sizes = {name: size for _, size, name in histogram.read_file(dump, (ENTRY,))[0].histogram()}

    (size,) = re.findall(rf"(\d+)  {re.escape(ENTRY)}", printed)
    assert sizes[ENTRY] == int(size)


def test_the_fields_that_refer_to_the_entries_are_found_without_the_graph(dumped: tuple[Path, str]) -> None:
    dump, _ = dumped

    _, holders = histogram.read_file(dump, (ENTRY,))

    ((path, count),) = holders.most_common()
    assert path.startswith("java.util.HashMap$Node.value <- ")
    assert path.endswith("java.util.HashMap.table <- Holding.entries")
    assert count == len(["1,", "10,", "100,", "1000,", "10000"])


@pytest.mark.parametrize("engine", [occurrences._hyperscan, occurrences._re])
def test_identifiers_are_found_across_the_borders_of_windows(
    engine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(occurrences, "WINDOW_BYTES", mmap.PAGESIZE)
    monkeypatch.setattr(occurrences, "_hyperscan", engine)
    content = bytearray(3 * mmap.PAGESIZE + 100)
    first, second = b"\x01\n\x00*", b"\x00\x01\n\x00"
    for at in (0, mmap.PAGESIZE - 1, 2 * mmap.PAGESIZE, len(content) - len(first)):
        content[at : at + len(first)] = first
    (tmp_path / "dump").write_bytes(content)

    with (tmp_path / "dump").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = list(occurrences.occurrences(data, [first, second]))

    places = {
        index: [at for at in range(len(content)) if content.startswith(each, at)]
        for index, each in enumerate((first, second))
    }
    assert {index: [at for at, each in found if each == index] for index in places} == places
    assert len(places[0]) == 4


def test_small_blocks_make_no_difference(dumped: tuple[Path, str]) -> None:
    data = dumped[0].read_bytes()

    pieces = (data[start : start + 1000] for start in range(0, len(data), 1000))

    assert read_dump(pieces).histogram() == read_dump([data]).histogram()


def test_a_dump_that_breaks_off_is_an_error(dumped: tuple[Path, str]) -> None:
    data = dumped[0].read_bytes()

    with pytest.raises(InvalidDump, match="breaks off"):
        read_dump([data[: len(data) // 2]])


def test_a_dump_is_recognised_by_its_content_and_becomes_events(dumped: tuple[Path, str], rows, tmp_path: Path) -> None:
    (tmp_path / "unnamed").write_bytes(dumped[0].read_bytes())

    events: list[EventRow] = [row for row in rows(tmp_path) if row.source == "heap_dump"]

    counted = {row.labels["class"]: int(row.labels["instances"]) for row in events if row.name == "heap.class"}
    assert counted[ENTRY] == ENTRY_COUNT
    assert all(row.at is not None for row in events)
