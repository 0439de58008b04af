"""Flags and heap sizes of a JVM, as `jcmd` prints them: VM.flags, GC.heap_info."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    decoded_lines,
    head_line_matches,
    single_event,
)
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


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    pid: str | None = None
    committed, used, last = 0, 0, (0, "")
    for number, line in decoded_lines(blocks):
        if match := PID.match(line):
            pid = match[1]
        elif line.startswith("-XX:"):
            yield from _flags(number, line, pid)
        elif match := GENERATION.match(line):
            committed, used, last = committed + int(match[1]), used + int(match[2]), (number, line)
        elif match := Z_HEAP.match(line):
            yield from _sizes(number, line, pid, used=match[1], committed=match[2], max=match[3])
        elif match := SHENANDOAH.match(line):
            yield from _sizes(number, line, pid, max=match[1], committed=match[2], used=match[3])
    if last[0]:
        yield single_event(v.HEAP_SIZE, *last, committed * 1024.0, kind="committed", pid=pid)
        yield single_event(v.HEAP_SIZE, *last, used * 1024.0, kind="used", pid=pid)


def _sizes(number: int, line: str, pid: str | None, **sizes: str) -> Iterator[EventColumns]:
    for kind, size in sizes.items():
        yield single_event(v.HEAP_SIZE, number, line, float(size[:-1]) * UNITS[size[-1]], kind=kind, pid=pid)


def _flags(number: int, line: str, pid: str | None) -> Iterator[EventColumns]:
    for match in FLAG.finditer(line):
        sign, switch, name, value = match.groups()
        key, setting = (switch, str(sign == "+").lower()) if switch else (name, value)
        at = max(0, match.start() - 40)  # the line holds all flags, and is longer than a quote
        text = line[at : at + 1000]
        yield single_event(v.SETTING, number, text, None, key=key, value=setting, owner="jvm", pid=pid)
        if key == "MaxHeapSize" and setting.isdigit():
            yield single_event(v.HEAP_SIZE, number, text, float(setting), kind="max", pid=pid)


SOURCE = Source(
    "jvm",
    "JVM flags and heap",
    "state",
    parser=OutputParser(
        matches=head_line_matches(rf"-XX:[+-]?\w+|{GENERATION.pattern}|{Z_HEAP.pattern}|Shenandoah Heap", lines=4),
        parse=_parse,
        event_names=frozenset({v.HEAP_SIZE, v.SETTING}),
    ),
)
