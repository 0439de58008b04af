"""Which events are kept: a diagnosis of them is one with `--since`, and there are not more of them after many days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from leadsman import modes, vocabulary
from leadsman.catalogue import every_mode
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.events import ARROW_SCHEMA, EventRow, batches
from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest, find_input, read_small_input
from leadsman.watch.event_store import EventBatch, EventTable
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.retention import horizons, kept_rows
from leadsman.watch.rounds import Rounds
from leadsman.watch.stream_changes import FACTS

from .findings import at, diagnosed
from .in_process import InProcessWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from leadsman.model import Diagnosis

MODES = Path(next(iter(modes.__path__)))
CAPTURES = [
    min(MODES.glob(f"{mode}/recorded/broken*"))
    for mode in ("idle_disconnect", "leaderless_partition", "producer_id_leak", "stale_neighbour")
]
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    "share", [pytest.param(0.25, marks=pytest.mark.long), 0.5, pytest.param(0.9, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.parent.parent.name)
def test_kept_events_have_the_findings_of_a_diagnosis_since_the_horizon(
    capture: Path, share: float, embedded: SparkSession
):
    inputs = read_small_input(find_input([str(capture)]))
    assert inputs.events is not None
    times = [each for each in inputs.events.column("at").to_pylist() if each is not None]
    horizon = min(times) + (max(times) - min(times)) * share
    kept = DiagnosisInput(inputs.captures, UTC, events=kept_rows(inputs.events, horizon))

    of_kept = diagnose_in_session(embedded, kept, DiagnosisRequest(every_mode()))
    of_window = diagnose_in_session(embedded, inputs, DiagnosisRequest(every_mode(), since=horizon))

    assert kept.events is not None
    assert kept.events.num_rows < inputs.events.num_rows
    assert findings_with_symptom(of_kept) == findings_with_symptom(of_window)


def findings_with_symptom(diagnoses: list[Diagnosis]) -> list[tuple[object, ...]]:
    """With --since, a file that ended before is no source: what is ABSENT here is UNKNOWN there, without a symptom."""
    found = [each for one in diagnoses for each in one.findings if each.chain]
    return [(each.mode, each.verdict, each.title, each.since, each.until) for each in found]


def hourly_failures(folder: Path, day: int) -> None:
    """One day of a worker that fails each hour, restarts, and prints its settings."""
    (folder / "logs").mkdir(exist_ok=True)
    with (folder / "logs" / "worker.log").open("a") as file:
        for hour in range(24):
            time = datetime(2026, 1, 1, hour, tzinfo=UTC) + day * DAY
            file.write(f"{time:%Y-%m-%d %H:%M:%S},000 INFO ProducerConfig values:\n\tlinger.ms = 5\n\tacks = -1\n")
            error = "Disconnected from node 1 due to request timeout; RecordTooLargeException: too large"
            file.write(f"{time:%Y-%m-%d %H:%M:%S},500 ERROR {error}\n")
            file.write(f"{time:%Y-%m-%d %H:%M:%S},900 WARN Connection to node 1 terminated during authentication\n")


def test_failures_of_many_days_take_no_more_memory_than_the_retention(tmp_path: Path, embedded: SparkSession):
    watch = InProcessWatch(embedded, FolderListing([str(tmp_path / "logs")]), tmp_path / "streams")
    day = 0
    rounds = Rounds(watch, DiagnosisRequest(()), 3 * DAY, clock=lambda: day * DAY.total_seconds())
    counts = []
    for day in range(12):
        hourly_failures(tmp_path, day)
        watch.read()
        rounds.run(datetime(2026, 1, 2, tzinfo=UTC) + day * DAY)
        counts.append(watch.events.count())

    assert counts[2] > 2 * counts[0], "failures are events"
    assert max(counts[5:]) <= counts[5] * 1.05
    assert watch.table_expiries > 5


def event(name: str, minutes: float, **labels: str) -> EventRow:
    time = round(at(minutes).timestamp() * 1000)
    return EventRow("logs", time, "worker", None, name, "app.log", 1, None, None, labels)


def kept_names(*rows: EventRow, horizon: float) -> list[str]:
    table = pa.Table.from_batches(list(batches(rows)), schema=ARROW_SCHEMA)
    return [str(each) for each in kept_rows(table, at(horizon)).column("name").to_pylist()]


def test_what_ended_before_the_horizon_expires_and_what_ended_after_it_stays():
    over = event(vocabulary.ERROR, 0, until=at(4).isoformat())
    goes_on = event(vocabulary.SUBJECT_IDLE, 0, until=at(6).isoformat())
    later = event(vocabulary.CONNECTION_LOST, 5)

    assert sorted(kept_names(over, goes_on, later, horizon=5)) == sorted([goes_on.name, later.name])


def test_of_equal_settings_the_newest_is_kept_and_others_stay():
    rows = [event(vocabulary.SETTING, minute, key="acks", value="1") for minute in range(10)]
    other = event(vocabulary.SETTING, 0, key="linger.ms", value="5")

    assert kept_names(*rows, other, horizon=20) == [vocabulary.SETTING] * 2


def test_an_event_without_a_time_holds_at_any_time():
    timeless = event(vocabulary.BROKER_SEEN, 0)._replace(at=None)

    assert kept_names(timeless, event(vocabulary.BROKER_SEEN, 0), horizon=5) == [timeless.name]


def test_a_clock_that_jumped_expires_nothing():
    found = horizons([diagnosed(until=60 * 24 * 365)], 3 * DAY, {}, now=at(10))

    assert found == {"logs": at(10) - 3 * DAY}


def test_a_horizon_never_moves_back():
    assert horizons([diagnosed(until=5)], DAY, {"logs": at(0)}, now=at(10)) == {"logs": at(0)}


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.parent.parent.name)
def test_the_table_keeps_the_events_that_memory_keeps(capture: Path, tmp_path: Path):
    events = read_small_input(find_input([str(capture)])).events
    assert events is not None
    times = [each for each in events.column("at").to_pylist() if each is not None]
    horizon = min(times) + (max(times) - min(times)) / 2
    table = table_with(events, tmp_path)

    table.expire({str(capture): horizon})

    (kept,) = table.read()
    assert kept.events.num_rows < events.num_rows
    assert sorted(map(repr, kept.events.to_pylist())) == sorted(map(repr, kept_rows(events, horizon).to_pylist()))


def table_with(events: pa.Table, folder: Path) -> EventTable:
    table = EventTable(folder / "events")
    capture = events.column("capture")[0].as_py()
    table.append([EventBatch(capture, "app.log", 1, 1, FACTS, events)], query_id="watch", batch_id=1)
    return table


@pytest.mark.parametrize(("horizons_by_capture", "kept"), [({}, 1), ({"other": 9}, 1), ({"logs": 9}, 0)])
def test_a_capture_without_a_horizon_keeps_everything(tmp_path: Path, horizons_by_capture: dict[str, int], kept: int):
    events = pa.Table.from_batches(list(batches([event(vocabulary.ERROR, 0)])), schema=ARROW_SCHEMA)
    table = table_with(events, tmp_path)

    table.expire({path: at(minutes) for path, minutes in horizons_by_capture.items()})

    assert sum(each.events.num_rows for each in table.read()) == kept


def test_of_a_deleted_file_nothing_is_kept_when_its_last_line_has_expired(tmp_path: Path, embedded: SparkSession):
    watch = InProcessWatch(embedded, FolderListing([str(tmp_path / "logs")]), tmp_path / "streams")
    hourly_failures(tmp_path, 0)
    (tmp_path / "logs" / "worker.log").rename(tmp_path / "logs" / "pod-1.log")
    hourly_failures(tmp_path, 3)
    watch.read()
    pods = [key for key in watch.positions() if "pod-1" in key[1]]
    capture = str(tmp_path / "logs")

    before = watch.events.expire({capture: datetime(2026, 1, 1, 12, tzinfo=UTC)}, pods)
    after = watch.events.expire({capture: datetime(2026, 1, 3, tzinfo=UTC)}, pods)

    assert len(pods) == 1
    assert (before, after) == ([], pods)
