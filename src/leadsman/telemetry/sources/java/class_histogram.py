"""Class histograms of a JVM: `jcmd PID GC.class_histogram`, `jmap -histo PID`, and those made out of a heap dump."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import (
    EventColumns,
    OutputContext,
    OutputParser,
    head_line_matches,
    single_event,
)
from leadsman.telemetry.outputs.usual_lines import lines_by_block
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


SMALL_CLASS = (
    r" *(?:5[1-9]|[6-9]\d|[1-9]\d{2,8}): +\d{1,15} +\d{1,15}  ?"
    rf"(?!{'|'.join(map(re.escape, KAFKA_PACKAGES))})\S.*"
)
SMALL_KAFKA_CLASS = (
    r" *(?:30[1-9]|3[1-9]\d|[4-9]\d\d|[1-9]\d{3,8}): +\d{1,15} +\d{1,15}  ?"
    rf"(?!{'|'.join(map(re.escape, PRODUCER_STATE_CLASSES))})\S.*"
)
"""Lines of classes behind MAX_RANK and MAX_KAFKA_RANK, which are no events. Most lines are such."""
NOTABLE_LINES = re.compile(rf"^(?:{SMALL_CLASS}|{SMALL_KAFKA_CLASS}|(.*))$", re.MULTILINE).findall
"""Lines -> their texts, in their order, those of small classes empty."""


class ListedClass(NamedTuple):
    """A class, or the total, as it becomes an event. `size` is in bytes."""

    line: int
    text: str
    size: float
    name: str
    instances: str
    pid: str | None


class HistogramLines:
    """The lines of a histogram as they become events. `live`: whether it counts live objects alone; None: not known."""

    def __init__(self, live: str | None) -> None:
        self._live = live
        self._pid: str | None = None
        self._classes: list[ListedClass] = []
        self._others: list[EventColumns] = []

    def add(self, number: int, line: str) -> None:
        """Add one line."""
        if match := CLASS.match(line):
            self._add_class(number, line, match)
        elif match := TOTAL.match(line):
            self._classes.append(ListedClass(number, line, float(match[2]), "total", match[1], self._pid))
        elif match := HOLDER.match(line):
            labels = {"class": match[3], "samples": match[2], "holder": match[4]}
            self._others.append(single_event(v.HEAP_HOLDERS, number, line, float(match[1]), **labels))
        elif match := PID.match(line):
            self._pid = match[1]

    def _add_class(self, number: int, line: str, match: re.Match[str]) -> None:
        rank, instances, size, name = match.groups()
        if int(rank) <= (MAX_KAFKA_RANK if name.startswith(KAFKA_PACKAGES) else MAX_RANK):
            self._classes.append(ListedClass(number, line, float(size), name, instances, self._pid))
        if name in PRODUCER_STATE_CLASSES:
            labels = {"via": "histogram", "pid": self._pid, "live": self._live}
            self._others.append(single_event(v.PRODUCERS_COUNTED, number, line, float(instances), **labels))

    def take_events(self) -> Iterator[EventColumns]:
        """Yield the events of the lines that were added since the last call."""
        if self._classes:
            yield _heap_classes(self._classes, self._live)
        yield from self._others
        self._classes, self._others = [], []


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    histogram = HistogramLines("false" if "-all" in context.command else None)
    for lines in lines_by_block(blocks):
        for number, line in enumerate(NOTABLE_LINES("\n".join(lines.texts)), lines.first):
            if line:
                histogram.add(number, line)
        yield from histogram.take_events()


def _heap_classes(classes: Sequence[ListedClass], live: str | None) -> EventColumns:
    numbers, texts, sizes, names, instances, pids = zip(*classes, strict=True)
    labels: dict[str, str | Sequence[str | None]] = {"class": names, "instances": instances, "pid": pids}
    if live is not None:
        labels["live"] = live
    return EventColumns(name=v.HEAP_CLASS, lines=numbers, texts=texts, values=sizes, labels=labels)


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
