"""Heap dumps of a real JVM, against what the same JVM says of itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import java
from leadsman.telemetry.hprof import histogram
from leadsman.telemetry.hprof.reading import NotWhole, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leadsman.pipeline.events import Row

PROGRAM = Path(__file__).parent / "heap" / "Holding.java"
ENTRY = "Holding$Entry"
HELD = 20_000

NOT_IN_DUMPS = {"java.lang.Class"}
"""Most classes are no instances in a dump, but records of their own."""


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A dump of a program that holds entries in a map, and its class histogram as jcmd prints it."""
    dump = tmp_path_factory.mktemp("heap") / "holding.hprof"
    command = [str(java.find()), "-Xmx64m", *java.SMALL, "-cp", str(java.compiled(PROGRAM, [])), "Holding", str(HELD)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        program.stdout.readline()
        asked(program.pid, "GC.heap_dump", str(dump))
        yield dump, asked(program.pid, "GC.class_histogram")
        program.communicate("end")


def asked(pid: int, *words: str) -> str:
    command = [str(java.tool("jcmd")), str(pid), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def instances(text: str) -> dict[str, int]:
    rows = re.findall(r"^ *\d+: +(\d+) +\d+  ?(\S+)", text, re.MULTILINE)
    return {name: int(count) for count, name in rows if name not in NOT_IN_DUMPS}


def test_a_dump_counts_what_the_jvm_counts(dumped: tuple[Path, str]) -> None:
    dump, printed = dumped

    contents, held = histogram.of_file(dump, (ENTRY,))

    assert instances(histogram.text(contents, held, ENTRY)) == instances(printed)


def test_the_bytes_of_what_fills_a_heap_are_those_that_it_takes(dumped: tuple[Path, str]) -> None:
    dump, printed = dumped

    sizes = {name: size for _, size, name in histogram.of_file(dump, (ENTRY,))[0].histogram()}

    (told,) = re.findall(rf"(\d+)  {re.escape(ENTRY)}", printed)
    assert sizes[ENTRY] == int(told)


def test_who_holds_the_entries_is_found_without_the_graph(dumped: tuple[Path, str]) -> None:
    dump, _ = dumped

    _, held = histogram.of_file(dump, (ENTRY,))

    ((path, times),) = held.most_common()
    assert path.startswith("java.util.HashMap$Node.value <- ")
    assert path.endswith("java.util.HashMap.table <- Holding.entries")
    assert times == len(["1,", "10,", "100,", "1000,", "10000"])


def test_small_blocks_make_no_difference(dumped: tuple[Path, str]) -> None:
    data = dumped[0].read_bytes()

    pieces = (data[start : start + 1000] for start in range(0, len(data), 1000))

    assert read(pieces).histogram() == read([data]).histogram()


def test_a_dump_that_breaks_off_says_so(dumped: tuple[Path, str]) -> None:
    data = dumped[0].read_bytes()

    with pytest.raises(NotWhole, match="breaks off"):
        read([data[: len(data) // 2]])


def test_a_dump_is_known_by_its_content_and_becomes_events(dumped: tuple[Path, str], rows, tmp_path: Path) -> None:
    (tmp_path / "unnamed").write_bytes(dumped[0].read_bytes())

    told: list[Row] = [row for row in rows(tmp_path) if row.source == "heap_dump"]

    counted = {row.labels["class"]: int(row.labels["instances"]) for row in told if row.name == "heap.class"}
    assert counted[ENTRY] == HELD
    assert all(row.at is not None for row in told)
