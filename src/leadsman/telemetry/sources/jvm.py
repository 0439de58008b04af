"""What a JVM says of itself through `jcmd`: VM.flags, GC.heap_info."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import About, Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PID = re.compile(r"(\d+):$")
FLAG = re.compile(r"-XX:(?:([+-])(\w+)|(\w+)=(\S+))")
# One line a generation (serial, parallel) or one for the whole heap (G1). Regions within it are indented further.
GENERATION = re.compile(
    r" (?:def new generation|tenured generation|par new generation|concurrent mark-sweep generation|PSYoungGen"
    r"|ParOldGen|PSOldGen|garbage-first heap) +total (?:reserved \d+K, committed )?(\d+)K, used (\d+)K"
)
Z_HEAP = re.compile(r" ZHeap +used (\d+[KMG]), capacity (\d+[KMG]), max capacity (\d+[KMG])")
SHENANDOAH = re.compile(r" *(\d+[KMG]) max,(?: \d+[KMG] soft max,)? (\d+[KMG]) committed, (\d+[KMG]) used")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    pid: str | None = None
    committed, used, last = 0, 0, (0, "")
    for number, line in decoded_lines(blocks):
        if found := PID.match(line):
            pid = found[1]
        elif line.startswith("-XX:"):
            yield from _flags(number, line, pid)
        elif found := GENERATION.match(line):
            committed, used, last = committed + int(found[1]), used + int(found[2]), (number, line)
        elif found := Z_HEAP.match(line):
            yield from _sizes(number, line, pid, used=found[1], committed=found[2], max=found[3])
        elif found := SHENANDOAH.match(line):
            yield from _sizes(number, line, pid, max=found[1], committed=found[2], used=found[3])
    if last[0]:
        yield fact(v.HEAP_SIZE, *last, committed * 1024.0, kind="committed", pid=pid)
        yield fact(v.HEAP_SIZE, *last, used * 1024.0, kind="used", pid=pid)


def _sizes(number: int, line: str, pid: str | None, **sizes: str) -> Iterator[Facts]:
    for kind, size in sizes.items():
        yield fact(v.HEAP_SIZE, number, line, float(size[:-1]) * UNITS[size[-1]], kind=kind, pid=pid)


def _flags(number: int, line: str, pid: str | None) -> Iterator[Facts]:
    for found in FLAG.finditer(line):
        sign, switch, name, value = found.groups()
        key, told = (switch, str(sign == "+").lower()) if switch else (name, value)
        at = max(0, found.start() - 40)  # the line holds all flags, and is longer than a quote
        text = line[at : at + 1000]
        yield fact(v.SETTING, number, text, None, key=key, value=told, owner="jvm", pid=pid)
        if key == "MaxHeapSize" and told.isdigit():
            yield fact(v.HEAP_SIZE, number, text, float(told), kind="max", pid=pid)


SOURCE = Source(
    "jvm",
    "JVM flags and heap",
    "state",
    reading=Reading(
        tells=told_by(rf"-XX:[+-]?\w+|{GENERATION.pattern}|{Z_HEAP.pattern}|Shenandoah Heap", lines=4),
        facts=_facts,
        reports=frozenset({v.HEAP_SIZE, v.SETTING}),
    ),
)
