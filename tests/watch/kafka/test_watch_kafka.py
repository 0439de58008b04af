"""`leadsman watch --kafka` on real Spark, real Delta and a real broker, also after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from contextlib import closing
from datetime import UTC, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leadsman import modes
from leadsman.pipeline.events import ARROW_SCHEMA, batches
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.waiting import wait_for
from leadsman.watch.event_store import TABLE_SCHEMA, CurrentEvents, changes_in
from leadsman.watch.state.findings_file import FindingsFile, change_document

if TYPE_CHECKING:
    from collections.abc import Callable

    from leadsman.lab.brokers.cluster import Cluster

IDLE = Path(next(iter(modes.__path__))) / "idle_disconnect" / "recorded" / "broken-java"
TIMEOUT = timedelta(seconds=300)

pytestmark = [pytest.mark.lab, pytest.mark.spark, pytest.mark.timeout(900)]


def watch(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "leadsman", "watch", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def committed(state: Path) -> int:
    return len(list((state / "checkpoint" / "commits").glob("[0-9]*")))


def findings(state: Path) -> list[dict[str, Any]]:
    path = state / "findings.sqlite"
    if not path.exists():
        return []
    with closing(FindingsFile(path)) as file:
        return [change_document(each.change) for each in file.known().values()]


def is_read(state: Path, topic: str, records: int) -> bool:
    """Whether all records of the topic are planned, and a trigger after the last of them is committed."""
    lag = state / "sources" / "kafka.json"
    if not lag.exists():
        return False
    partitions = json.loads(lag.read_text())["topics"].get(topic, {}).get("partitions", {})
    offsets = [
        json.loads(path.read_text().splitlines()[-1])["number"] for path in last(state / "checkpoint" / "offsets")
    ]
    return (
        sum(each["offset"] for each in partitions.values()) == records
        and committed(state) >= len(list((state / "checkpoint" / "offsets").glob("[0-9]*")))
        and bool(offsets)
    )


def last(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*"), key=lambda path: int(path.name))[-1:]


def table_events(state: Path) -> list[dict[str, Any]]:
    """The current events of a Delta table, by the files that its log names."""
    log = [json.loads(line) for path in sorted((state / "events/_delta_log").glob("*.json")) for line in path.open()]
    files = [state / "events" / each["add"]["path"] for each in log if "add" in each]
    table = pa.concat_tables([pq.read_table(path).cast(TABLE_SCHEMA) for path in files])
    events = CurrentEvents()
    events.apply(changes_in(table))
    return events.table().to_pylist()


def comparable(rows: list[dict[str, Any]], prefix: str) -> list[str]:
    return sorted(str(_without(row, prefix)) for row in rows)


def _without(row: dict[str, Any], prefix: str) -> dict[str, Any]:
    labels = sorted((key, text.removeprefix(prefix)) for key, text in row["labels"] if key != "bytes")
    return {**row, "capture": "", "file": row["file"].removeprefix(prefix), "labels": labels}


@pytest.mark.long
def test_a_topic_that_is_read_through_a_kill_has_the_events_of_the_files_and_opens_the_finding(
    cluster: Cluster, produce: Callable[..., None], tmp_path: Path
):
    topic, state = f"logs-{uuid.uuid4().hex[:8]}", tmp_path / "state"
    cluster.create_topic(topic, partitions=3, config={"retention.ms": "-1"})
    lines = [
        {"key": path.relative_to(IDLE).as_posix(), "value": line}
        for path in sorted(IDLE.rglob("*.log"))
        for line in path.read_bytes().splitlines()
    ]
    arguments = ("--kafka", cluster.bootstrap, "--topic", topic, "--to", str(state), "--batch-bytes", "800000")
    produce(topic, lines[: len(lines) // 2])
    killed = watch(*arguments)
    wait_for(lambda: committed(state) or killed.poll() is not None, timeout=TIMEOUT, what="a first batch")
    produce(topic, lines[len(lines) // 2 :])
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()

    again = watch(*arguments)
    try:
        wait_for(
            lambda: (is_read(state, topic, len(lines)) and findings(state)) or again.poll() is not None,
            timeout=TIMEOUT,
            what="the finding",
        )
    finally:
        os.killpg(again.pid, signal.SIGINT)
        _, errors = again.communicate(timeout=60)

    streams = [each for each in list_files(str(IDLE)).streams if each.name.endswith(".log")]
    expected = [row for each in streams for batch in batches(read(each, UTC)) for row in batch.to_pylist()]
    assert "idle_disconnect" in {each["mode"] for each in findings(state)}, errors
    assert [each["path"] for each in findings(state)] == [f"kafka:{cluster.bootstrap}"] * len(findings(state))
    assert comparable(
        [{name: row[name] for name in ARROW_SCHEMA.names} for row in table_events(state)], f"{topic}/"
    ) == (comparable(expected, ""))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param((), "Nothing to watch", id="nothing"),
        pytest.param(("--kafka", "127.0.0.1:1"), "--topic", id="no topic"),
        pytest.param(("--topic", "logs"), "--kafka", id="no broker"),
        pytest.param(("--kafka", "127.0.0.1:1", "--topic", "logs", "--replay"), "--replay", id="a replay"),
        pytest.param(("--kafka", "127.0.0.1:1", "--topic", "logs", "--from", "noon"), "duration", id="a time"),
        pytest.param(("x", "--command-config", "nothing"), "--command-config", id="a config without a broker"),
        pytest.param(("x", "--from", "2h"), "--from is for --kafka", id="a start without a broker"),
        pytest.param(("--kafka", "127.0.0.1:1x", "--topic", "logs"), "'127.0.0.1:1x'", id="no port"),
        pytest.param((".", "--to", "."), "cannot read its own", id="its own state"),
    ],
)
def test_options_that_do_not_fit_are_refused_with_what_to_give(arguments: tuple[str, ...], words: str):
    process = watch(*arguments)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 2
    assert words in errors
    assert "Traceback" not in errors
