"""`leadsman watch` of a real S3 server and real HDFS: each object is read once and whole, also through kills."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.catalogue import Mode
from leadsman.errors import LeadsmanError
from leadsman.java import jars
from leadsman.lab.killing.kept_state import table_rows
from leadsman.lab.spark.cluster import connect_server
from leadsman.lab.spark.storage import BUCKET, S3, hdfs, put_into_hdfs, put_into_s3, s3
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.waiting import wait_for
from leadsman.watch.objects.stored_objects import CATALOG

from .test_watch_goes_on import watching

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-java"
WAIT = timedelta(seconds=250)
PARTS = 3

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1500)]


def exported(folder: Path, part: int) -> Path:
    """A part of each client's log as objects of an export: dated names, every second part compressed."""
    for log in (BROKEN / "clients").glob("*.log"):
        lines = log.read_bytes().splitlines(keepends=True)
        bounds = [len(lines) * each // PARTS for each in (part, part + 1)]
        content = b"".join(lines[slice(*bounds)])
        target = folder / f"part-{part}" / f"{log.stem}-2026112{part}.log{'.gz' if part % 2 else ''}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(content) if part % 2 else content)
    return folder / f"part-{part}"


def facts(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    columns = ("name", "subject", "file", "line", "text", "value")
    return Counter((*(row[name] for name in columns), row["at"] and row["at"].replace(tzinfo=None)) for row in rows)


def on_disk(folder: Path) -> Counter[tuple[Any, ...]]:
    """The events of the same files on disk."""
    events = read_small_input(find_input([str(folder)])).events
    assert events is not None
    return facts(events.to_pylist())


def current(state: Path) -> Counter[tuple[Any, ...]]:
    """The current events in the table of a watch."""
    if not (state / "events" / "_delta_log").exists():
        return Counter()
    return facts(table_rows(state / "events"))


def has_events(state: Path, expected: Counter[tuple[Any, ...]]) -> bool:
    return current(state) == expected


def sources(state: Path) -> list[str]:
    """The objects that were read, once for each reading."""
    catalog = state / "objects" / CATALOG
    return [json.loads(line)["source"] for line in catalog.read_text().splitlines()] if catalog.exists() else []


@contextmanager
def logged(log: Path, *arguments: str, end: signal.Signals) -> Iterator[None]:
    """A watch whose output is in a file, and in what pytest shows of a failure."""
    with log.open("wb") as file:
        command = [sys.executable, "-m", "leadsman", "watch", *arguments]
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield
        assert process.poll() is None
    finally:
        sys.stdout.write(f"{log.name}, exit code {process.poll()}:\n{log.read_text()}")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, end)
        process.wait(120)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    wait_for(condition, timeout=WAIT, what=what, every=timedelta(seconds=1), error=LeadsmanError)


def of_s3(server: S3) -> list[str]:
    settings = {**server.settings, "spark.jars": ",".join(map(str, jars.fetch_jars("s3")))}
    return [word for key, value in settings.items() for word in ("--spark-conf", f"{key}={value}")]


@pytest.mark.long  # two kills, each with a start of Spark after it
def test_objects_that_appear_on_s3_are_read_once_through_kills(tmp_path: Path):
    state, together = tmp_path / "state", tmp_path / "together"
    together.mkdir()
    with s3(tmp_path) as server:
        arguments = (f"s3a://{BUCKET}/exports", "--to", str(state), *of_s3(server))
        for part in range(PARTS):
            folder = exported(tmp_path, part)
            for path in folder.iterdir():
                (together / path.name).write_bytes(path.read_bytes())
            put_into_s3(server, folder, "exports")
            end = signal.SIGINT if part == PARTS - 1 else signal.SIGKILL
            with logged(tmp_path / f"watch-{part}.log", *arguments, end=end):
                expected = on_disk(together)
                if part:
                    wait_until(partial(has_events, state, expected), "all events")
                else:
                    wait_until(lambda: bool(sources(state)), "the first copy")  # then it is killed

    assert current(state) == on_disk(together)
    assert sorted(sources(state)) == sorted(f"s3a://{BUCKET}/exports/{path.name}" for path in together.iterdir())


@pytest.mark.parametrize("query", ["local", pytest.param("connect", marks=pytest.mark.long)])
def test_objects_that_appear_on_hdfs_open_a_finding(query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    state = tmp_path / "state"
    if query == "connect":
        monkeypatch.delenv("LEADSMAN_WATCH_SPARK_CONF")  # of a JVM of the watch's own
    with ExitStack() as stack:
        root = stack.enter_context(hdfs(tmp_path))
        remote = ["--remote", stack.enter_context(connect_server(tmp_path))] if query == "connect" else []
        process = stack.enter_context(watching(f"{root}/logs", *remote, "--to", str(state)))
        assert process.stdout is not None
        messages = process.stdout.readline()
        put_into_hdfs(root, BROKEN, "/logs")
        opened = process.stdout.readline()
        while "OPENED" not in opened and opened:
            messages, opened = messages + opened, process.stdout.readline()
        assert opened, messages
        wait_until(lambda: current(state) == on_disk(BROKEN), "all events")

    assert "OPENED   idle_disconnect: Idle disconnect" in opened
    assert f"[{root}/logs" in opened
    assert "is tried again" in messages
