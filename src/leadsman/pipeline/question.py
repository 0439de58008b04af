"""What is asked of a diagnosis, and of which input. Ready before Spark and Arrow are: it loads neither."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC
from importlib import import_module
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.pipeline.streams import File, Found, Stream, captures_below, find, is_elsewhere

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    import pyarrow as pa

    from leadsman.catalogue import Mode

HERE_BYTES = 16 << 20
"""Up to this much input is read in this process, which takes 0.1 s, while a worker would take 1 s to start; its events
are one partition, so that detectors run without a single shuffle."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: which modes, with which thresholds, of which time."""

    modes: Sequence[Mode]
    overrides: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    points: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """What is to be diagnosed: the streams below each path, and their events where these are few enough to be here.

    `pipes` are those paths that could be read once only, with what they held.
    """

    found: Mapping[str, Found]
    zone: tzinfo
    events: pa.Table | None = None
    pipes: Mapping[str, File] = field(default_factory=dict)

    @property
    def streams(self) -> list[Stream]:
        """All streams of all paths."""
        return [stream for each in self.found.values() for stream in each.streams]

    @property
    def is_here(self) -> bool:
        """Whether the events are in this process, and none elsewhere."""
        return self.events is not None and not any(map(is_elsewhere, self.found))


def look(paths: Sequence[str], zone: tzinfo = UTC, pipes: Mapping[str, File] | None = None) -> Input:
    """List what there is to read. Raises CaptureError where a path holds nothing. `pipes` have been read already.

    A folder of captures, one a cluster for example, is each of them by itself, and what else lies there.
    """
    found: dict[str, Found] = {}
    for path in dict.fromkeys(paths):
        if pipes and path in pipes:
            found[path] = Found((Stream(path, pipes[path].name, (pipes[path],)),), ())
            continue
        found |= {path: Found((), ())} if is_elsewhere(path) else _captures(path)
    _refuse_nothing(found)
    return Input(found, zone, pipes=pipes or {})


def _captures(path: str) -> dict[str, Found]:
    """Return what there is to read of each capture at a path."""
    below = captures_below(path)
    own = find(path, below)
    return ({path: own} if own.streams or not below else {}) | {each: find(each) for each in below}


def read_small(source: Input) -> Input:
    """Read a small input here and now, while Spark starts: a Python worker takes longer to come up than the reading.

    Of files that stand in a capture twice, one is left.
    """
    from leadsman.pipeline.copies import OnDisk, without_copies  # noqa: PLC0415 - Arrow is loaded only now

    source = replace(source, found=without_copies(source.found, OnDisk(source.zone)))
    if sum(stream.bytes for stream in source.streams) > HERE_BYTES:
        with suppress(ImportError):  # while a session is built, it is kept away from PySpark (`lean.py`)
            import_module("pandas")  # PySpark wants it for tasks in Python: a second that passes while Spark starts
        return source
    import pyarrow as pa  # noqa: PLC0415 - in the worker's place, at the worker's time

    from leadsman.pipeline import events as table  # noqa: PLC0415
    from leadsman.pipeline.read import read  # noqa: PLC0415

    told = (each for stream in source.streams for each in read(stream, source.zone))
    return replace(source, events=pa.Table.from_batches(list(table.batches(told)), schema=table.ARROW))


def _refuse_nothing(found: Mapping[str, Found]) -> None:
    """Raise CaptureError for a path that holds nothing to read."""
    for path, each in found.items():
        if not each.streams and not is_elsewhere(path):
            why = f" ({each.refused[0].file}: {each.refused[0].why})" if each.refused else ""
            raise CaptureError(
                f"Nothing to read at {path}{why}. Looked for logs, settings and snapshots in any format. "
                "Give a capture, a folder of logs, or a log file.",
            )
