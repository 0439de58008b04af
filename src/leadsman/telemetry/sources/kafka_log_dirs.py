"""`kafka-log-dirs --describe`: how large each partition's log is on each broker's disks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.formats.json_stream import Broken, Walker, Where, decoded
from leadsman.telemetry.reading import LINES_TO_TELL_BY, About, Facts, Reading, fact, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BROKERS = Where(through=frozenset({()}), arrays=frozenset({("brokers",)}))
ROWS_TOLD_AT_ONCE = 50_000
"""Replicas that are told together: a folder of a million is told in pieces, so that memory does not follow its size."""


class Replica(NamedTuple):
    """One partition's log in a folder. Of a million such, as many dictionaries are three times as large."""

    partition: str
    size: int


def _tells(head: bytes) -> bool:
    (line,) = first_lines(head, 1)
    return line.startswith(b"{") and b'"logDirs":' in line


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    """Read the document broker by broker: it is one line, however long."""
    walker = Walker(decoded(blocks), BROKERS, DECODER)
    try:
        for element in walker.elements():
            broker = element.value
            for folder in broker.get("logDirs", []):
                yield from _folder(element.line, str(broker.get("broker")), folder)
    except Broken as error:
        if walker.is_inside or not walker.ended:  # what stands below a whole document is no part of it
            raise OSError(f"broken JSON of log directories: {error}") from error


def _object(told: dict[str, Any]) -> Any:  # noqa: ANN401 - what the JSON holds
    return Replica(str(told["partition"]), told["size"]) if "partition" in told and "size" in told else told


DECODER = json.JSONDecoder(object_hook=_object)


def _folder(line: int, broker: str, folder: dict[str, Any]) -> Iterator[Facts]:
    path = str(folder.get("logDir"))
    if folder.get("error"):
        text = f'"error":"{folder["error"]}","logDir":"{path}"'
        yield fact(v.ITEM_MISSING, line, text, None, command="kafka-log-dirs", what=path, broker=broker)
    replicas: list[Replica] = folder.get("partitions") or []
    for since in range(0, len(replicas), ROWS_TOLD_AT_ONCE):
        yield _sizes(line, broker, path, replicas[since : since + ROWS_TOLD_AT_ONCE])


def _sizes(line: int, broker: str, path: str, replicas: Sequence[Replica]) -> Facts:
    parted = [each.partition.rpartition("-") for each in replicas]
    count = len(replicas)
    return Facts(
        name=v.LOG_SIZE,
        lines=[line] * count,
        texts=[f'"partition":"{each.partition}","size":{each.size}' for each in replicas],
        values=[float(each.size) for each in replicas],
        labels={
            "topic": [topic for topic, _, _ in parted],
            "partition": [number for _, _, number in parted],
            "broker": [broker] * count,
            "dir": [path] * count,
        },
    )


SOURCE = Source(
    "kafka_log_dirs",
    "kafka-log-dirs",
    "state",
    reading=Reading(
        tells=_tells, facts=_facts, reports=frozenset({v.LOG_SIZE, v.ITEM_MISSING}), remarks=LINES_TO_TELL_BY
    ),
)
