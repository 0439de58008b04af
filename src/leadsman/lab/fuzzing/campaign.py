"""Reads damaged files one after the other, as a diagnosis reads a stream, and counts what must never happen."""

from __future__ import annotations

import resource
import signal
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from leadsman.lab.fuzzing.mutations import mutate
from leadsman.pipeline.events import batches
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import File, Stream
from leadsman.vocabulary import FILE_NOT_UNDERSTOOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BUDGET_SECONDS = 5.0
"""CPU time for one input of at most some 100 kB, which takes milliseconds. A busy machine is no fault."""

MAX_EVENTS_PER_BYTE = 2.0
"""More events than this come from expansion, not from the file. `wrap` and `splice` may lengthen an input."""

FREE_EVENTS = 2000
"""Events of any file: a settings dump of some bytes, compressed, holds hundreds."""

CHANGED = datetime(2026, 2, 16, 12, tzinfo=UTC)
PARSER_FAULT = ("is not what its beginning says", "its format was not recognised")
"""A parser raised an error that it should not raise, and the reader ended that file: isolated, and worth fixing."""


class TooSlow(BaseException):
    """One input exceeded its budget. No `except Exception` of a reader may catch it."""


@dataclass(slots=True)
class FuzzCounts:
    """What a campaign counted. `faults` are by kind, with the seed that makes the input again."""

    inputs: int = 0
    bytes: int = 0
    events: int = 0
    escaped: Counter[str] = field(default_factory=Counter)
    isolated: Counter[str] = field(default_factory=Counter)
    over_budget: Counter[str] = field(default_factory=Counter)
    slowest_seconds: float = 0.0
    slowest: str = ""
    examples: dict[str, str] = field(default_factory=dict)
    peak_mb: int = 0

    def note(self, counter: Counter[str], kind: str, example: str) -> None:
        """Count a fault, and keep its first example."""
        counter[kind] += 1
        self.examples.setdefault(kind, example)

    def merge(self, other: FuzzCounts) -> None:
        """Add what another process counted."""
        self.inputs += other.inputs
        self.bytes += other.bytes
        self.events += other.events
        for name in ("escaped", "isolated", "over_budget"):
            getattr(self, name).update(getattr(other, name))
        if other.slowest_seconds > self.slowest_seconds:
            self.slowest_seconds, self.slowest = other.slowest_seconds, other.slowest
        self.examples = other.examples | self.examples
        self.peak_mb = max(self.peak_mb, other.peak_mb)

    def document(self) -> dict[str, object]:
        """Return the counts for JSON; each kind of fault with its first example."""
        faults = {
            name: {kind: {"times": times, "example": self.examples[kind]} for kind, times in counter.most_common()}
            for name, counter in (
                ("escaped", self.escaped),
                ("over_budget", self.over_budget),
                ("isolated", self.isolated),
            )
        }
        return {
            "inputs": self.inputs,
            "bytes": self.bytes,
            "events": self.events,
            "slowest_seconds": round(self.slowest_seconds, 2),
            "slowest": self.slowest,
            "peak_mb": self.peak_mb,
            **faults,
        }


def run(corpus: Sequence[Path], folder: Path, *, seed: int, seconds: float) -> FuzzCounts:
    """Read damaged copies of the corpus for so long. The same seed makes the same inputs."""
    counts = FuzzCounts()
    contents = [path.read_bytes() for path in corpus]
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        random = Random(f"{seed}/{number}")  # noqa: S311 - inputs, no secrets
        index = random.randrange(len(contents))
        data = mutate(contents[index], random)
        path = folder / corpus[index].name
        path.write_bytes(data)
        read_one(path, len(data), counts, example=f"{corpus[index].name}, seed {seed}/{number}")
        path.unlink()
        number += 1
    counts.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return counts


def read_one(path: Path, size: int, counts: FuzzCounts, example: str) -> None:
    """Read one file, and count it."""
    stream = Stream("fuzz", path.name, (File(str(path), path.name, size, CHANGED),))
    counts.inputs += 1
    counts.bytes += size
    began = time.process_time()
    events = 0
    try:
        with budget(BUDGET_SECONDS):
            for batch in batches(read(stream, UTC)):
                events += batch.num_rows
                refused = batch.filter(pc.equal(batch["name"], pa.scalar(FILE_NOT_UNDERSTOOD)))
                for text in refused["text"].to_pylist():
                    if any(fault in str(text) for fault in PARSER_FAULT):
                        counts.note(counts.isolated, str(text)[:120], example)
    except TooSlow:
        counts.note(counts.over_budget, "time", example)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} in {where.filename.rpartition('/')[2]}:{where.lineno}"
        counts.note(counts.escaped, kind, example)
    if events > FREE_EVENTS + MAX_EVENTS_PER_BYTE * size:
        counts.note(counts.over_budget, "events", f"{example}: {events} events of {size} bytes")
    counts.events += events
    seconds = time.process_time() - began
    if seconds > counts.slowest_seconds:
        counts.slowest_seconds, counts.slowest = seconds, f"{example}: {size} bytes, {events} events"


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the block after so much CPU time."""

    def stop(_number: int, _frame: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
