"""Keys under which JSON log records have their message, level and writer; and how to get at them."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MESSAGE_KEYS = ("message", "msg", "log", "MESSAGE", "@message", "line", "event", "body", "text")
STACK_KEYS = ("stack_trace", "stacktrace", "error.stack_trace", "exception", "exc_info", "stack", "thrown")
LEVEL_KEYS = ("level", "log.level", "severity", "levelname", "lvl", "log_level")
# The most precise names of a writer first. FLEET_KEYS are written by log collectors, which see many writers.
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
SCAN = cast("Any", json.JSONDecoder()).scan_once
"""The function that `json.loads` calls in the end: calling it directly saves a third of the time."""
CACHED_KEY_SETS = 1000
"""Sets of keys whose paths are cached: a file has few, and trying every path costs 10 microseconds per record."""


@lru_cache(CACHED_KEY_SETS)
def _matching_paths(keys: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(path for path in paths if path in keys or ("." in path and path.partition(".")[0] in keys))


def matching_paths(record: Mapping[str, Any], paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths whose first key this record has."""
    return _matching_paths(tuple(record), paths)


def common_paths(records: Sequence[Mapping[str, Any]], paths: tuple[str, ...], share: float) -> Iterable[str]:
    """Return the paths, in their order, whose first key this share of the records has."""
    key_sets = Counter(map(tuple, records))
    counts = Counter[str]()
    for keys, count in key_sets.items():
        counts.update(dict.fromkeys(_matching_paths(keys, paths), count))
    return (path for path in paths if counts[path] >= share * len(records))


def value_at(record: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - JSON holds anything
    """Return the value at `host.name`, as one key or as a key within a key; None where there is none."""
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
    """Return the first value at these paths that is a text."""
    for path in matching_paths(record, paths):
        value = record.get(path)
        if value is None:
            if "." not in path:
                continue
            value = value_at(record, path)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(part, int) for part in value):
            return bytes(part & 255 for part in value).decode(
                errors="replace"
            )  # how journald writes bytes that are no UTF-8
    return None


def parse_object(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object on a line; None where there is none."""
    if line.lstrip(b"\xef\xbb\xbf \t\x00")[:1] != b"{":
        return None
    text = line.lstrip(b"\xef\xbb\xbf\x00").decode(errors="replace")
    try:
        record, end = SCAN(text, 0) if text[:1] == "{" else (json.loads(text), len(text))
    except (StopIteration, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and not text[end:].strip(" \t\n\r") else None


def unwrap(record: dict[str, Any]) -> dict[str, Any]:
    """Return the log record without its wrapper: `_source` of Elasticsearch, `jsonPayload` of Google Cloud."""
    for wrapper in ("_source", "jsonPayload", "result"):
        inner = record.get(wrapper)
        if isinstance(inner, dict):
            return {**{key: value for key, value in record.items() if key != wrapper}, **inner}
    return record
