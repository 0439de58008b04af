"""Writes log streams of workers as production hands them over: CloudWatch's JSON, its exports, Docker's JSON, text."""

from __future__ import annotations

import gzip
import heapq
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from itertools import islice
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

STREAMS_IN_A_FILE = 200
"""Streams that one merged file holds; a page of a console's answer is bounded too."""


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One event of a log stream: when it was logged, and its text, which may hold several lines."""

    at_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class WorkerLog:
    """A worker's log. `name` is CloudWatch's name of it."""

    name: str
    lines: Iterable[LogEvent]


def iso(at_ms: int, zone_minutes: int = 0, timespec: str = "milliseconds") -> str:
    """2026-11-17T08:15:30.123Z, or with an offset where the zone is not UTC."""
    zone = timezone(timedelta(minutes=zone_minutes))
    text = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone).isoformat(timespec=timespec)
    return text.replace("+00:00", "Z")


def plain(at_ms: int, point: str = ",") -> str:
    """2026-11-17 08:15:30,123 in UTC."""
    whole = datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{whole}{point}{at_ms % 1000:03d}"


def _batches(streams: Iterable[WorkerLog], size: int = STREAMS_IN_A_FILE) -> Iterator[list[WorkerLog]]:
    every = iter(streams)
    while batch := list(islice(every, size)):
        yield batch


def _file_name(stream: WorkerLog) -> str:
    return stream.name.replace("/", "-")


def filter_log_events(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """`aws logs filter-log-events`: one JSON document with the events of many streams by time."""
    for number, batch in enumerate(_batches(streams), start=1):
        with (folder / f"filter-log-events-{number}.json").open("w", encoding="utf-8") as out:
            _write_events(out, (_filtered(name, line, index) for index, (name, line) in enumerate(_merged_of(batch))))
            out.write('    "searchedLogStreams": []\n}\n')


def _merged_of(batch: list[WorkerLog]) -> Iterator[tuple[str, LogEvent]]:
    return heapq.merge(*map(_named, batch), key=lambda event: event[1].at_ms)


def _named(stream: WorkerLog) -> Iterator[tuple[str, LogEvent]]:
    for line in stream.lines:
        yield stream.name, line


def _filtered(name: str, line: LogEvent, index: int) -> dict[str, str | int]:
    identity = f"3{line.at_ms * 10**19 + index:055d}"
    return {
        "logStreamName": name,
        "timestamp": line.at_ms,
        "message": line.text + "\n",
        "ingestionTime": line.at_ms + 412 + index % 900,
        "eventId": identity,
    }


def _write_events(out: TextIO, events: Iterable[dict[str, str | int]]) -> None:
    out.write('{\n    "events": [')
    comma = ""
    for event in events:
        indented = json.dumps(event, indent=4).replace("\n", "\n        ")
        out.write(f"{comma}\n        {indented}")
        comma = ","
    out.write("\n    ],\n")


def get_log_events(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """`aws logs get-log-events`: one JSON document a stream."""
    for stream in streams:
        with (folder / f"{_file_name(stream)}.json").open("w", encoding="utf-8") as out:
            _write_events(out, map(_got, stream.lines))
            out.write('    "nextForwardToken": "f/38310000000000000000000000000000000000000000000000000001/s",\n')
            out.write('    "nextBackwardToken": "b/38309999999999999999999999999999999999999999999999999999/s"\n}\n')


def _got(line: LogEvent) -> dict[str, str | int]:
    return {"timestamp": line.at_ms, "message": line.text + "\n", "ingestionTime": line.at_ms + 634}


def logs_tail(folder: Path, streams: Iterable[WorkerLog], *, streams_in_a_file: int = STREAMS_IN_A_FILE) -> None:
    """`aws logs tail`: time, name of the stream, message."""
    for number, batch in enumerate(_batches(streams, streams_in_a_file), start=1):
        with (folder / f"tail-{number}.log").open("w", encoding="utf-8") as out:
            for name, line in _merged_of(batch):
                time = iso(line.at_ms, timespec="microseconds").replace("Z", "+00:00")
                out.write(f"{time} {name} {line.text}\n")


def s3_export(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """An export task's objects: a folder a stream, gzip files, each event beginning with its time."""
    task = folder / "exportedlogs" / "4d9c1f7e-0b5a-4f0e-9f53-2f3f0a6f1a77"
    for stream in streams:
        target = task / _file_name(stream)
        target.mkdir(parents=True)
        _write_gzip(target / "000000.gz", (f"{iso(line.at_ms)} {line.text}\n" for line in stream.lines))


def _write_gzip(path: Path, texts: Iterable[str]) -> None:
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out:
        for text in texts:
            out.write(text.encode())


def query_text(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """`get-log-events --query 'events[].[timestamp,message]' --output text`: milliseconds, tab, message."""
    for stream in streams:
        _write_text(folder / f"{_file_name(stream)}.txt", (f"{line.at_ms}\t{line.text}\n" for line in stream.lines))


def _write_text(path: Path, texts: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(texts)


def timed_text(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """One text file a stream, named as the console names it, each event with its time."""
    for stream in streams:
        name = stream.name.rsplit("/", 1)[-1]
        _write_text(folder / name, (f"{iso(line.at_ms)} {line.text}\n" for line in stream.lines))


def bare_text(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """One text file a worker with just what the worker printed."""
    for stream in streams:
        _write_text(folder / f"{_file_name(stream)}.log", (f"{line.text}\n" for line in stream.lines))


def docker_json(folder: Path, streams: Iterable[WorkerLog]) -> None:
    """Docker's json-file driver: one JSON object a line of output."""
    for stream in streams:
        _write_text(folder / f"{_file_name(stream)}-json.log", _docker_lines(stream))


def _docker_lines(stream: WorkerLog) -> Iterator[str]:
    for line in stream.lines:
        for index, text in enumerate(line.text.split("\n")):
            time = iso(line.at_ms).removesuffix("Z") + f"{(line.at_ms * 7919 + index) % 1_000_000:06d}Z"
            output = "stderr" if text.startswith("%") else "stdout"
            yield json.dumps({"log": text + "\n", "stream": output, "time": time}, separators=(",", ":")) + "\n"


FORMS: dict[str, Callable[[Path, Iterable[WorkerLog]], None]] = {
    "filter-log-events JSON": filter_log_events,
    "get-log-events JSON": get_log_events,
    "aws logs tail": logs_tail,
    "S3 export": s3_export,
    "get-log-events text": query_text,
    "text with times": timed_text,
    "text": bare_text,
    "Docker JSON": docker_json,
}
"""How logs are handed over, by the name that a case gives the form."""

WEIGHT = {"filter-log-events JSON": 3.3, "get-log-events JSON": 1.6, "aws logs tail": 1.5, "Docker JSON": 1.5}
"""Bytes written for each byte logged, about; a form that is not here writes about 1.2."""
