"""JSON lines: under which key a line carries its time, its message and its writer."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from leadsman.telemetry.formats.stamps import Stamp, iso_or_epoch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import tzinfo

TIME_KEYS = (
    "@timestamp", "timestamp", "time", "ts", "__REALTIME_TIMESTAMP", "date", "datetime", "eventTime", "asctime",
    "Timestamp", "@t", "timeMillis", "epochSecond", "t",
)  # fmt: skip
MESSAGE_KEYS = ("message", "msg", "log", "MESSAGE", "@message", "line", "event", "body", "text")
STACK_KEYS = ("stack_trace", "stacktrace", "error.stack_trace", "exception", "exc_info", "stack", "thrown")
LEVEL_KEYS = ("level", "log.level", "severity", "levelname", "lvl", "log_level")
# In the order in which they name a worker best. `fleet` keys are written by collectors, which see many workers.
FLEET_KEYS = (
    "logStream", "logStreamName", "log_stream", "@logStream",
    "kubernetes.pod.name", "kubernetes.pod_name", "container.id", "container.name", "kubernetes.container.name",
    "docker.container_id", "container_id", "container_name", "pod", "_SYSTEMD_UNIT", "log.file.path",
)  # fmt: skip
LOCAL_KEYS = (
    "host.name",
    "host.hostname",
    "agent.hostname",
    "hostname",
    "host",
    "HOSTNAME",
    "_HOSTNAME",
    "instance",
    "clientId",
    "client_id",
)
NO_LINE = re.compile(rb"(?!)")
SCAN = cast("Any", json.JSONDecoder()).scan_once
"""What `json.loads` calls in the end; a third of its time goes into the way there."""
SHAPES_KEPT = 1000
"""Sets of keys whose paths are remembered: a file has few, and trying every path costs 10 microseconds a record."""


@lru_cache(SHAPES_KEPT)
def _paths_among(keys: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in paths if path in keys or ("." in path and path.partition(".")[0] in keys))


def paths_in(record: Mapping[str, Any], paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the paths that can lead anywhere in this record, by its keys."""
    return _paths_among(tuple(record), paths)


def commonest_paths(records: Sequence[Mapping[str, Any]], paths: tuple[str, ...], share: float) -> Iterable[str]:
    """Return those of the paths, in their order, that can lead anywhere in such a share of the records."""
    shapes = Counter(map(tuple, records))
    there = Counter[str]()
    for keys, count in shapes.items():
        there.update(dict.fromkeys(_paths_among(keys, paths), count))
    return (path for path in paths if there[path] >= share * len(records))


def stamp(keys: tuple[bytes, ...], zone: tzinfo) -> Stamp:
    """Find the time of a JSON line, under keys that are spelled so."""
    read = iso_or_epoch(zone)
    indented = (b'{"log":"\\t', b'{"log": "\\t', b'{"log":"   ', b'{"log": "   ')

    def time_of(block: bytes, start: int, end: int) -> int | None:
        if block.startswith(indented, start):
            return None
        for key in keys:
            at = block.find(key, start, end)
            if at >= 0 and (found := read(block, at + len(key), end)) is not None:
                return found
        return None

    return time_of


SPELLING = re.compile(rb'"(' + b"|".join(re.escape(key.encode()) for key in TIME_KEYS) + rb')"\s{0,2}:\s{0,2}"?(?=\d)')
"""How a key is written that holds a time."""


def time_keys(sample: list[bytes]) -> tuple[bytes, ...]:
    """Return the three commonest spellings, such as `"ts": "`, of the keys that hold a time; usual ones without any."""
    spellings = Counter[bytes]()
    for line in sample:
        if line.lstrip(b"\xef\xbb\xbf \t")[:1] == b"{":
            found = {match[1].decode(): match[0] for match in SPELLING.finditer(line)}
            best = next((found[key] for key in TIME_KEYS if key in found), None)
            if best is not None:
                spellings[best] += 1
    commonest = tuple(key for key, _ in spellings.most_common(3))
    return commonest or tuple(f'"{key}":"'.encode() for key in TIME_KEYS[:3])


def at_path(record: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - JSON holds anything
    """`host.name` as one key, or as a key within a key."""
    if path in record:
        return record[path]
    if "." not in path:
        return None
    inner: Any = record
    for part in path.split("."):
        if not isinstance(inner, dict) or part not in inner:
            return None
        inner = inner[part]
    return inner


def text_at(record: Mapping[str, Any], paths: tuple[str, ...]) -> str | None:
    """Return the first of these that is there and is a text."""
    for path in paths_in(record, paths):
        value = record.get(path)
        if value is None:
            if "." not in path:
                continue
            value = at_path(record, path)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(part, int) for part in value):
            return bytes(part & 255 for part in value).decode(errors="replace")  # journald writes odd bytes so
    return None


def as_record(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object on a line; None where there is none."""
    if line.lstrip(b"\xef\xbb\xbf \t\x00")[:1] != b"{":
        return None
    text = line.lstrip(b"\xef\xbb\xbf\x00").decode(errors="replace")
    try:
        record, end = SCAN(text, 0) if text[:1] == "{" else (json.loads(text), len(text))
    except (StopIteration, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and not text[end:].strip(" \t\n\r") else None


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return the log record itself: Elasticsearch wraps it into `_source`, GCP into `jsonPayload`."""
    for wrapper in ("_source", "jsonPayload", "result"):
        inner = record.get(wrapper)
        if isinstance(inner, dict):
            return {**{key: value for key, value in record.items() if key != wrapper}, **inner}
    return record
