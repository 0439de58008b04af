"""The request for a diagnosis, and its input. Imports neither Spark nor Arrow, which take seconds to load."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING

from leadsman.errors import CaptureError
from leadsman.pipeline.scope.streams import CaptureFiles, File, Stream, captures_below, is_url, list_files, utf_8_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    import pyarrow as pa

    from leadsman.catalogue import Mode
    from leadsman.pipeline.scope.clusters import ClusterScope

DRIVER_READ_BYTES = 16 << 20
"""Input up to this size is read in the driver, in 0.1 s, while a Python worker would take 1 s to start. Its events are
one partition, so that detectors run without a shuffle."""


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """The failure modes to diagnose, with which thresholds (`overrides`), and in which time.

    `points`: return the points that pages draw. `conditions`: find the conditions, too.
    """

    modes: Sequence[Mode]
    overrides: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    since: datetime | None = None
    until: datetime | None = None
    points: bool = False
    conditions: bool = True


@dataclass(frozen=True, slots=True)
class DiagnosisInput:
    """The input of a diagnosis: the streams of each capture, and their events where the driver has read them.

    `pipes` are the paths that can be read only once, each with the file that holds its content. `scopes` are the only
    ones to diagnose, where the driver has found them; `events` are then those of their files alone.
    """

    captures: Mapping[str, CaptureFiles]
    zone: tzinfo
    events: pa.Table | None = None
    pipes: Mapping[str, File] = field(default_factory=dict)
    scopes: Sequence[ClusterScope] | None = None

    @property
    def streams(self) -> list[Stream]:
        """All streams of all paths."""
        return [stream for each in self.captures.values() for stream in each.streams]

    @property
    def is_in_process(self) -> bool:
        """Whether all events are in the driver."""
        return self.events is not None and not any(
            is_url(path) and (not each.streams or any(stream.is_remote for stream in each.streams))
            for path, each in self.captures.items()
        )


def find_input(paths: Sequence[str], zone: tzinfo = UTC, pipes: Mapping[str, File] | None = None) -> DiagnosisInput:
    """List the files to read below the paths. Raises CaptureError where a path holds none. `pipes` are read already.

    A folder of captures, one for each cluster for example, gives each of them, and one more for its other files.
    """
    captures: dict[str, CaptureFiles] = {}
    for path in dict.fromkeys(paths):
        if pipes and path in pipes:
            captures[path] = CaptureFiles((Stream(path, pipes[path].name, (pipes[path],)),), ())
            continue
        captures |= {path: CaptureFiles((), ())} if is_url(path) else list_captures(path)
    _require_files(captures)
    return DiagnosisInput(captures, zone, pipes=pipes or {})


def list_captures(path: str, without: Sequence[str] = ()) -> dict[str, CaptureFiles]:
    """Return the files of each capture at a path; none in the folders `without`."""
    below = [each for each in captures_below(path) if not _is_below(each, without)]
    own = list_files(path, [*below, *without])
    captures = {path: own} if own.streams or not below else {}
    captures |= {each: list_files(each, without) for each in below}
    return {utf_8_name(each): files for each, files in captures.items()}


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(Path(path).absolute().is_relative_to(folder) for folder in folders)


def read_small_input(inputs: DiagnosisInput) -> DiagnosisInput:
    """Read a small input in the driver while Spark starts: starting a Python worker takes longer than the reading.

    Of files that are in a capture twice, one is read.
    """
    from leadsman.pipeline.scope.copies import LocalFileMeasures, drop_duplicate_files  # Arrow is loaded only now

    inputs = replace(
        inputs,
        captures=drop_duplicate_files(inputs.captures, LocalFileMeasures(inputs.zone)),
    )
    if sum(stream.bytes for stream in inputs.streams) > DRIVER_READ_BYTES:
        return inputs
    import pyarrow as pa  # only where the driver reads

    from leadsman.pipeline import events as table
    from leadsman.pipeline.read.stream import read

    rows = (each for stream in inputs.streams for each in read(stream, inputs.zone))
    return replace(inputs, events=pa.Table.from_batches(list(table.batches(rows)), schema=table.ARROW_SCHEMA))


def _require_files(captures: Mapping[str, CaptureFiles]) -> None:
    """Raise CaptureError for a path without files to read."""
    for path, each in captures.items():
        if not each.streams and not is_url(path):
            why = f" ({each.skipped[0].file}: {each.skipped[0].why})" if each.skipped else ""
            raise CaptureError(
                f"Nothing to read at {path}{why}. Looked for logs, settings and snapshots in any format. "
                "Give a capture, a folder of logs, or a log file.",
            )
