"""`kafka-log-dirs --describe`: how large each partition's log is on each broker's disks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.reading import About, Facts, Reading, fact, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST = 256 << 20
"""Bytes of JSON, about two million replicas: the document is one line, and is held whole."""


def _tells(head: bytes) -> bool:
    return any(line.startswith(b"{") and b'"logDirs":' in line for line in first_lines(head))


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:  # noqa: ARG001 - a reading's signature
    line, document = _document(blocks)
    for broker in document.get("brokers", []):
        for folder in broker.get("logDirs", []):
            yield from _folder(line, str(broker.get("broker")), folder)


def _document(blocks: Iterable[bytes]) -> tuple[int, dict[str, Any]]:
    whole = bytearray()
    for block in blocks:
        whole += block
        if len(whole) > LARGEST:
            raise OSError(f"log directories of more than {LARGEST >> 20} MiB; ask for them topic by topic")
    start = whole.find(b"{")
    try:
        document, _ = json.JSONDecoder().raw_decode(whole[start:].decode("utf-8", "replace"))
    except ValueError as error:
        raise OSError(f"broken JSON of log directories: {error}") from error
    return whole.count(b"\n", 0, start) + 1, document


def _folder(line: int, broker: str, folder: dict[str, Any]) -> Iterator[Facts]:
    path = str(folder.get("logDir"))
    if folder.get("error"):
        text = f'"error":"{folder["error"]}","logDir":"{path}"'
        yield fact(v.ITEM_MISSING, line, text, None, command="kafka-log-dirs", what=path, broker=broker)
    partitions = folder.get("partitions") or []
    if partitions:
        parted = [str(each["partition"]).rpartition("-") for each in partitions]
        count = len(partitions)
        yield Facts(
            name=v.LOG_SIZE,
            lines=[line] * count,
            texts=[f'"partition":"{each["partition"]}","size":{each["size"]}' for each in partitions],
            values=[float(each["size"]) for each in partitions],
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
    reading=Reading(tells=_tells, facts=_facts, reports=frozenset({v.LOG_SIZE, v.ITEM_MISSING})),
)
