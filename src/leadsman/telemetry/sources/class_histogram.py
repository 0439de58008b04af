"""Class histograms of a JVM: `jcmd PID GC.class_histogram`, `jmap -histo PID`, and those made out of a heap dump."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.reading import About, Facts, Reading, decoded_lines, fact, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CLASS = re.compile(r" *(\d+): +(\d+) +(\d+)  ?(\S+)")
TOTAL = re.compile(r"Total +(\d+) +(\d+)")
PID = re.compile(r"(\d+):$")
HELD = re.compile(r"Held: (\d+) of (\d+) samples of (\S+) by (\S.*\S)")
"""Written by `leadsman.telemetry.hprof` below a histogram that it made of a dump."""

LARGEST = 50
LARGEST_OF_KAFKA = 300
"""Ranks up to which classes are told: the histogram is ordered by bytes, and behind these come crumbs."""

KAFKA = ("org.apache.kafka.", "kafka.")
PRODUCER_STATE = ("org.apache.kafka.storage.internals.log.ProducerStateEntry", "kafka.log.ProducerStateEntry")
"""One for each producer id of each partition on the broker, leader or follower; the second name up to 3.4."""


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    pid: str | None = None
    live = "false" if "-all" in about.command else None
    for number, line in decoded_lines(blocks):
        if found := CLASS.match(line):
            rank, instances, size, name = found.groups()
            if int(rank) <= (LARGEST_OF_KAFKA if name.startswith(KAFKA) else LARGEST):
                labels = {"class": name, "instances": instances, "pid": pid, "live": live}
                yield fact(v.HEAP_CLASS, number, line, float(size), **labels)
            if name in PRODUCER_STATE:
                yield fact(v.PRODUCERS_COUNTED, number, line, float(instances), via="histogram", pid=pid, live=live)
        elif found := TOTAL.match(line):
            labels = {"class": "total", "instances": found[1], "pid": pid, "live": live}
            yield fact(v.HEAP_CLASS, number, line, float(found[2]), **labels)
        elif found := HELD.match(line):
            labels = {"class": found[3], "samples": found[2], "holder": found[4]}
            yield fact(v.HEAP_HELD, number, line, float(found[1]), **labels)
        elif found := PID.match(line):
            pid = found[1]


SOURCE = Source(
    "class_histogram",
    "JVM class histogram",
    "state",
    reading=Reading(
        tells=told_by(r" *num +#instances +#bytes"),
        facts=_facts,
        reports=frozenset({v.HEAP_CLASS, v.HEAP_HELD, v.PRODUCERS_COUNTED}),
    ),
)
