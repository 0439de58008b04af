"""Class histograms of a JVM: `jcmd PID GC.class_histogram`, `jmap -histo PID`, and those made out of a heap dump."""

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

CLASS = re.compile(r" *(\d{1,9}): +(\d{1,15}) +(\d{1,15})  ?(\S+)")
TOTAL = re.compile(r"Total +(\d{1,15}) +(\d{1,15})")
"""Longer numbers are of no JVM: 10^15 bytes are a petabyte of heap."""

PID = re.compile(r"(\d+):$")
HOLDER = re.compile(r"Held: (\d+) of (\d+) samples of (\S+) by (\S.*\S)")
"""Written by `leadsman.telemetry.hprof.histogram` below the histogram of a heap dump."""

MAX_RANK = 50
MAX_KAFKA_RANK = 300
"""Ranks up to which classes become events: the histogram is ordered by bytes, and later classes are small."""

KAFKA_PACKAGES = ("org.apache.kafka.", "kafka.")
PRODUCER_STATE_CLASSES = ("org.apache.kafka.storage.internals.log.ProducerStateEntry", "kafka.log.ProducerStateEntry")
"""One for each producer id of each partition on the broker, leader or follower; the second name up to 3.4."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    pid: str | None = None
    live = "false" if "-all" in context.command else None
    for number, line in decoded_lines(blocks):
        if match := CLASS.match(line):
            rank, instances, size, name = match.groups()
            if int(rank) <= (MAX_KAFKA_RANK if name.startswith(KAFKA_PACKAGES) else MAX_RANK):
                labels = {"class": name, "instances": instances, "pid": pid, "live": live}
                yield single_event(v.HEAP_CLASS, number, line, float(size), **labels)
            if name in PRODUCER_STATE_CLASSES:
                yield single_event(
                    v.PRODUCERS_COUNTED, number, line, float(instances), via="histogram", pid=pid, live=live
                )
        elif match := TOTAL.match(line):
            labels = {"class": "total", "instances": match[1], "pid": pid, "live": live}
            yield single_event(v.HEAP_CLASS, number, line, float(match[2]), **labels)
        elif match := HOLDER.match(line):
            labels = {"class": match[3], "samples": match[2], "holder": match[4]}
            yield single_event(v.HEAP_HOLDERS, number, line, float(match[1]), **labels)
        elif match := PID.match(line):
            pid = match[1]


SOURCE = Source(
    "class_histogram",
    "JVM class histogram",
    "state",
    parser=OutputParser(
        matches=head_line_matches(r" *num +#instances +#bytes"),
        parse=_parse,
        event_names=frozenset({v.HEAP_CLASS, v.HEAP_HOLDERS, v.PRODUCERS_COUNTED}),
    ),
)
