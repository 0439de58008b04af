"""`kafka-log-dirs --describe`: how large each partition's log is on each broker's disks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.json_records.document_parser import ArrayPaths, BrokenDocument, DocumentParser, decode_blocks
from leadsman.telemetry.outputs.parser import (
    HEAD_LINES,
    EventColumns,
    OutputContext,
    OutputParser,
    first_lines,
    single_event,
)
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

BROKERS = ArrayPaths(entered=frozenset({()}), arrays=frozenset({("brokers",)}))
BATCH_ROWS = 50_000
"""Replicas that are yielded together: a million in one folder come in pieces, so that memory stays bounded."""


class Replica(NamedTuple):
    """The log of one partition in a folder. A million dictionaries would take three times the memory."""

    partition: str
    size: int


def _matches(head: bytes) -> bool:
    (line,) = first_lines(head, 1)
    return line.startswith(b"{") and b'"logDirs":' in line


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:  # noqa: ARG001 - a parser's signature
    """Read the document broker by broker: it is one line, however long."""
    parser = DocumentParser(decode_blocks(blocks), BROKERS, DECODER)
    try:
        for element in parser.elements():
            broker = element.value
            for folder in broker.get("logDirs", []):
                yield from _folder(element.line, str(broker.get("broker")), folder)
    except BrokenDocument as error:
        if parser.is_inside or not parser.completed:  # text below a complete document is no part of it
            raise OSError(f"broken JSON of log directories: {error}") from error


def _as_replica(item: dict[str, Any]) -> Any:  # noqa: ANN401 - what the JSON holds
    return Replica(str(item["partition"]), item["size"]) if "partition" in item and "size" in item else item


DECODER = json.JSONDecoder(object_hook=_as_replica)


def _folder(line: int, broker: str, folder: dict[str, Any]) -> Iterator[EventColumns]:
    path = str(folder.get("logDir"))
    if folder.get("error"):
        text = f'"error":"{folder["error"]}","logDir":"{path}"'
        yield single_event(v.ITEM_NOT_COLLECTED, line, text, None, command="kafka-log-dirs", what=path, broker=broker)
    replicas: list[Replica] = folder.get("partitions") or []
    for since in range(0, len(replicas), BATCH_ROWS):
        yield _sizes(line, broker, path, replicas[since : since + BATCH_ROWS])


def _sizes(line: int, broker: str, path: str, replicas: Sequence[Replica]) -> EventColumns:
    names = [each.partition.rpartition("-") for each in replicas]
    count = len(replicas)
    return EventColumns(
        name=v.LOG_SIZE,
        lines=[line] * count,
        texts=[f'"partition":"{each.partition}","size":{each.size}' for each in replicas],
        values=[float(each.size) for each in replicas],
        labels={
            "topic": [topic for topic, _, _ in names],
            "partition": [number for _, _, number in names],
            "broker": broker,
            "dir": path,
        },
    )


SOURCE = Source(
    "kafka_log_dirs",
    "kafka-log-dirs",
    "state",
    parser=OutputParser(
        matches=_matches,
        parse=_parse,
        event_names=frozenset({v.LOG_SIZE, v.ITEM_NOT_COLLECTED}),
        warning_lines=HEAD_LINES,
    ),
)
