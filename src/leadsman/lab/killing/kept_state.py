"""Compares what a watch kept with what was written: its events, its findings, their history, and its messages.

The files of the state are read here as docs/watch.md describes them, without the code that wrote them.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from leadsman.lab.killing.failing_clients import comparable
from leadsman.model import Life

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from leadsman.lab.killing.failing_clients import FailingClients

FINDINGS_AT_ONCE = re.compile(r"(\d+) findings at once")
QUOTED_CHARACTERS = 300
LOCK_TIMEOUT_SECONDS = 30.0
BOOKKEEPING = {"stream", "version", "number", "kind"}
"""Columns of the event table that are no part of an event."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a watch should keep: events of the files and of the topic, and the clusters of which clients fail."""

    files: list[str]
    topic: list[str]
    clusters: frozenset[str]

    @classmethod
    def of(cls, clients: FailingClients, clusters: Collection[str]) -> Expected:
        """Return what a reader finds in all that was written."""
        files, topic = clients.events()
        return cls(comparable(files, ""), comparable(topic, ""), frozenset(clusters))


def differences(
    state: Path, expected: Expected, *, topic: str, received: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Return what is wrong with a state, each kind with an example; nothing where all is as it should be.

    `received` are the documents that a webhook accepted: one that came twice has the same key.
    """
    found: dict[str, str] = {}
    rows = table_rows(state / "events")
    of_topic = [row for row in rows if str(row["capture"]).startswith("kafka:")]
    of_files = [row for row in rows if not str(row["capture"]).startswith("kafka:")]
    found |= _compare("events of files", comparable(of_files, ""), expected.files)
    found |= _compare("events of the topic", comparable(of_topic, f"{topic}/"), expected.topic)
    changes, waiting = _findings_file(state / "findings.sqlite")
    opened = Counter(str(each["cluster"]) for each in changes if each["life"] == Life.OPENED)
    found |= _compare("opened findings", sorted(opened.elements()), sorted(expected.clusters))
    if waiting:
        found["messages"] = f"{waiting} wait"
    found |= _compare("messages of opened findings", [str(_opened_count(received))], [str(opened.total())])
    kept = sorted((str(each["id"]), int(each["number"])) for each in changes)
    rows = delta_rows(state / "history")
    found |= _compare("history", sorted((str(each["id"]), int(each["number"])) for each in rows), kept)
    return found


def _compare(what: str, measured: Sequence[Any], expected: Sequence[Any]) -> dict[str, str]:
    """Return what is missing and what is too much, if anything."""
    missing, more = Counter(expected) - Counter(measured), Counter(measured) - Counter(expected)
    if not missing and not more:
        return {}
    example = str(next(iter(missing or more)))[:QUOTED_CHARACTERS]
    return {what: f"{missing.total()} of {len(expected)} missing, {more.total()} too many, such as {example}"}


def _opened_count(received: Sequence[Mapping[str, Any]]) -> int:
    """Return how many opened findings the messages tell of, each message counted once."""
    by_key = {str(each["key"]): each for each in received if each.get("life") == Life.OPENED}
    counts = (FINDINGS_AT_ONCE.search(str(each["title"])) for each in by_key.values())
    return sum(int(match[1]) if match else 1 for match in counts)


def _findings_file(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the changes of findings, and how many messages wait. Nothing where there is no file yet."""
    if not path.exists():
        return [], 0
    with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_SECONDS)) as file:
        changes = [json.loads(text) for (text,) in file.execute("SELECT change FROM changes ORDER BY seq")]
        ((waiting,),) = file.execute("SELECT count(*) FROM outbox WHERE state IN ('waiting', 'claimed')")
    return changes, int(waiting)


def table_rows(table: Path) -> list[dict[str, Any]]:
    """Return the current events of a watch's event table: of each stream those of its last version and last summary."""
    rows = delta_rows(table)
    version: dict[tuple[str, str], int] = {}
    number: dict[tuple[str, str], int] = {}
    for row in rows:
        stream = row["capture"], row["stream"]
        version[stream] = max(version.get(stream, 0), row["version"])
        number[stream] = max(number.get(stream, 0), row["number"])
    return [
        {name: value for name, value in row.items() if name not in BOOKKEEPING}
        for row in rows
        if row["version"] == version[row["capture"], row["stream"]]
        and (row["kind"] == "facts" or row["number"] == number[row["capture"], row["stream"]])
    ]


def delta_rows(table: Path) -> list[dict[str, Any]]:
    """Return all rows of a Delta table."""
    return [row for path in live_files(table) for row in pq.ParquetFile(path).read().to_pylist()]


def live_files(table: Path) -> Iterator[Path]:
    """Yield the data files of a Delta table, by the JSON of its log, which Delta keeps for longer than a run."""
    added: dict[str, bool] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                added[action["add"]["path"]] = True
            if "remove" in action:
                added.pop(action["remove"]["path"], None)
    yield from (table / each for each in added)
