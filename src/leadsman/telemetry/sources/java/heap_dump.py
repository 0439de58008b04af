"""Java heap dumps (hprof): `jcmd PID GC.heap_dump`, `-XX:+HeapDumpOnOutOfMemoryError`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.hprof.histogram import PRODUCER_STATE
from leadsman.telemetry.hprof.layout import MAGIC
from leadsman.telemetry.hprof.reader import read_dump
from leadsman.telemetry.hprof.reference_paths import reference_paths
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.hprof.reader import HeapContents

MAX_RANK = 50
"""Classes that become events, largest first; those of producer state always do."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    contents = read_dump(blocks, PRODUCER_STATE)
    for name, value, labels in _events(contents, context.path):
        # A dump has no lines; the time is the one that it holds.
        columns = {key: (label,) for key, label in labels.items()}
        at, subjects = (contents.at,), (context.subject or context.file,)
        yield EventColumns(
            name=name, lines=(0,), texts=("",), values=(value,), labels=columns, at=at, subjects=subjects
        )


def _events(contents: HeapContents, path: str) -> Iterator[tuple[str, float, dict[str, str]]]:
    """Yield name, value and labels of each event."""
    rows = contents.histogram()
    total = (sum(row[0] for row in rows), sum(row[1] for row in rows), "total")
    for rank, (count, size, name) in enumerate([*rows, total]):
        if rank < MAX_RANK or name in {*PRODUCER_STATE, "total"}:
            yield v.HEAP_CLASS, float(size), {"class": name, "instances": str(count)}
        if name in PRODUCER_STATE:
            yield v.PRODUCERS_COUNTED, float(count), {"via": "heap_dump"}
            for holder, times in _holders(path, contents).items():
                yield (
                    v.HEAP_HOLDERS,
                    float(times),
                    {
                        "class": name,
                        "holder": holder,
                        "samples": str(len(contents.samples)),
                    },
                )


def _holders(path: str, contents: HeapContents) -> Counter[str]:
    """Find what refers to the samples, if the file can be read again: a compressed one cannot be searched."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path, or another process's name for one
            is_uncompressed = file.read(len(MAGIC)) == MAGIC
    except OSError:
        is_uncompressed = False
    return reference_paths(path, contents) if is_uncompressed else Counter()


SOURCE = Source(
    "heap_dump",
    "Java heap dump",
    "state",
    parser=OutputParser(
        matches=lambda head: head.startswith(MAGIC),
        parse=_parse,
        event_names=frozenset({v.HEAP_CLASS, v.HEAP_HOLDERS, v.PRODUCERS_COUNTED}),
        text=False,
    ),
)
