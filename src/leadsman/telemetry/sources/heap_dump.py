"""Java heap dumps (hprof): `jcmd PID GC.heap_dump`, `-XX:+HeapDumpOnOutOfMemoryError`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from leadsman import vocabulary as v
from leadsman.telemetry.hprof.histogram import PRODUCER_STATE
from leadsman.telemetry.hprof.holders import holders
from leadsman.telemetry.hprof.layout import MAGIC
from leadsman.telemetry.hprof.reading import read
from leadsman.telemetry.reading import About, Facts, Reading
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.hprof.reading import Contents

LARGEST = 50
"""Classes that are told, as of a histogram; those of producer state in any case."""


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    contents = read(blocks, PRODUCER_STATE)
    for name, value, labels in _told(contents, about.path):
        # It has no lines; its time is the dump's own.
        columns = {key: (each,) for key, each in labels.items()}
        at, subjects = (contents.at,), (about.subject or about.file,)
        yield Facts(name=name, lines=(0,), texts=("",), values=(value,), labels=columns, at=at, subjects=subjects)


def _told(contents: Contents, path: str) -> Iterator[tuple[str, float, dict[str, str]]]:
    """Yield name, value and labels of each event."""
    rows = contents.histogram()
    total = (sum(row[0] for row in rows), sum(row[1] for row in rows), "total")
    for rank, (count, size, name) in enumerate([*rows, total]):
        if rank < LARGEST or name in {*PRODUCER_STATE, "total"}:
            yield v.HEAP_CLASS, float(size), {"class": name, "instances": str(count)}
        if name in PRODUCER_STATE:
            yield v.PRODUCERS_COUNTED, float(count), {"via": "heap_dump"}
            for holder, times in _held(path, contents).items():
                yield (
                    v.HEAP_HELD,
                    float(times),
                    {
                        "class": name,
                        "holder": holder,
                        "samples": str(len(contents.samples)),
                    },
                )


def _held(path: str, contents: Contents) -> Counter[str]:
    """Follow the samples, where the file can be read again: a compressed one cannot be searched in its place."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path, or another process's name for one
            plain = file.read(len(MAGIC)) == MAGIC
    except OSError:
        plain = False
    return holders(path, contents) if plain else Counter()


SOURCE = Source(
    "heap_dump",
    "Java heap dump",
    "state",
    reading=Reading(
        tells=lambda head: head.startswith(MAGIC),
        facts=_facts,
        reports=frozenset({v.HEAP_CLASS, v.HEAP_HELD, v.PRODUCERS_COUNTED}),
        text=False,
    ),
)
