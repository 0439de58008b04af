"""Rounds: only what changed is diagnosed, only modes whose trigger events appeared; the findings are those of all."""

from __future__ import annotations

import random
import shutil
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leadsman import modes
from leadsman.catalogue import every_mode
from leadsman.model import Verdict
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.replay import ReplayListing
from leadsman.watch.rounds import ALL_MODES_EVERY_SECONDS, Rounds
from leadsman.watch.watch_query import replayed_input

from .in_process import InProcessWatch

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from leadsman.model import Diagnosis

MODES = Path(next(iter(modes.__path__)))
BROKEN = min(MODES.glob("idle_disconnect/recorded/broken*"))
NOW = datetime(2027, 1, 1, tzinfo=UTC)
RETENTION = timedelta(days=3)
ERROR = "ERROR no stock left"
LOST = "ERROR [main] Orders - Event 4 failed: org.apache.kafka.common.errors.NetworkException: Disconnected from node 1"
"""A trigger event of idle_disconnect."""
SEEDS = [0, pytest.param(1, marks=pytest.mark.long), pytest.param(2, marks=pytest.mark.long)]


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Background:
    """Rounds that end when a test says so, each over what it was given at its begin."""

    def __init__(self) -> None:
        self.running: list[tuple[Future[list[Diagnosis]], Callable[[], list[Diagnosis]]]] = []

    def __call__(self, work: Callable[[], list[Diagnosis]]) -> Future[list[Diagnosis]]:
        future: Future[list[Diagnosis]] = Future()
        self.running.append((future, work))
        return future

    def end(self) -> None:
        while self.running:
            future, work = self.running.pop()
            future.set_result(work())


@pytest.fixture
def watched(tmp_path: Path, embedded: SparkSession) -> InProcessWatch:
    for name in ("quiet", "busy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.log").write_text("2026-02-16 12:00:00.000 INFO started\n")
    watch = InProcessWatch(embedded, FolderListing([str(tmp_path / "quiet"), str(tmp_path / "busy")]), tmp_path / "s")
    watch.read()
    return watch


def append(folder: Path, line: str) -> None:
    with (folder / "app.log").open("a") as file:
        file.write(f"2026-02-16 12:00:01.000 {line}\n")


def test_nothing_is_diagnosed_where_nothing_changed(watched: InProcessWatch, clock: Clock):
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    watched.read()

    assert rounds.run(NOW) == []
    assert len(watched.modes) == 1


def test_only_the_capture_that_changed_is_diagnosed(watched: InProcessWatch, tmp_path: Path, clock: Clock):
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    append(tmp_path / "busy", LOST)
    append(tmp_path / "busy", "INFO still here")
    watched.read()

    assert [each.path for each in rounds.run(NOW)] == [str(tmp_path / "busy")]
    assert len(rounds.diagnoses) == 2


def test_lines_without_events_wait_for_the_round_of_all_modes(watched: InProcessWatch, tmp_path: Path, clock: Clock):
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    append(tmp_path / "busy", "INFO still here")
    watched.read()

    assert rounds.run(NOW) == []
    clock.seconds = ALL_MODES_EVERY_SECONDS
    assert [each.path for each in rounds.run(NOW)] == [str(tmp_path / "busy")]


def test_a_mode_without_new_trigger_events_waits_for_the_round_of_all_modes(
    watched: InProcessWatch, tmp_path: Path, clock: Clock
):
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    append(tmp_path / "busy", ERROR)
    append(tmp_path / "busy", "INFO still here")
    watched.read()
    assert rounds.run(NOW) == []
    append(tmp_path / "busy", LOST)
    watched.read()
    rounds.run(NOW)
    clock.seconds = ALL_MODES_EVERY_SECONDS

    rounds.run(NOW)

    names = sorted(mode.name for mode in every_mode())
    assert [sorted(each) for each in watched.modes] == [names, ["idle_disconnect"], names]


def test_the_round_of_all_modes_looks_at_what_changed_in_the_minute_before(
    watched: InProcessWatch, tmp_path: Path, clock: Clock
):
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    append(tmp_path / "quiet", ERROR)
    append(tmp_path / "quiet", "INFO still here")
    watched.read()
    rounds.run(NOW)
    clock.seconds = ALL_MODES_EVERY_SECONDS
    append(tmp_path / "busy", "INFO still here")
    watched.read()

    assert {each.path for each in rounds.run(NOW)} == {str(tmp_path / "quiet"), str(tmp_path / "busy")}


def test_a_new_cluster_is_diagnosed_for_the_modes_that_are_due_and_within_a_minute_for_all(
    clusters: InProcessWatch, tmp_path: Path, clock: Clock
):
    rounds = Rounds(clusters, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    new = tmp_path / "capture" / "new.log"
    new.write_text(f"2026-02-16 12:00:00.000 INFO Cluster ID: {'C' * 22}\n2026-02-16 12:00:01.000 {LOST}\n")
    clusters.read()
    found = rounds.run(NOW)
    clock.seconds = ALL_MODES_EVERY_SECONDS

    of_new = {each.cluster: each for each in rounds.run(NOW)}["C" * 22]

    assert [(each.cluster, list(each.verdicts)) for each in found] == [("C" * 22, ["idle_disconnect"])]
    assert len(of_new.verdicts) == len(every_mode())


def test_a_symptom_does_not_wait_for_the_round_of_all_modes(watched: InProcessWatch, tmp_path: Path, clock: Clock):
    background = Background()
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock, background)
    rounds.run(NOW)
    append(tmp_path / "quiet", "INFO still here")
    watched.read()
    clock.seconds = ALL_MODES_EVERY_SECONDS
    assert rounds.run(NOW) == []
    append(tmp_path / "busy", LOST)
    append(tmp_path / "busy", "INFO still here")
    watched.read()

    assert [each.path for each in rounds.run(NOW)] == [str(tmp_path / "busy")]
    assert background.running
    background.end()
    assert [each.path for each in rounds.run(NOW)] == [str(tmp_path / "quiet")]


def test_a_round_of_all_modes_replaces_nothing_that_was_found_after_it_began(
    watched: InProcessWatch, tmp_path: Path, clock: Clock
):
    background = Background()
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock, background)
    rounds.run(NOW)
    append(tmp_path / "busy", "INFO still here")
    watched.read()
    clock.seconds = ALL_MODES_EVERY_SECONDS
    rounds.run(NOW)
    append(tmp_path / "busy", LOST)
    append(tmp_path / "busy", "INFO still here")
    watched.read()
    (newer,) = rounds.run(NOW)
    background.end()

    (after,) = rounds.run(NOW)

    found = [each for each in newer.findings if each.mode == "idle_disconnect"]
    assert any(each.chain for each in found), "it saw the symptom"
    assert [each for each in after.findings if each.mode == "idle_disconnect"] == found
    assert rounds.diagnoses.count(after) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_rounds_over_a_log_that_grows_end_in_the_findings_of_diagnose(
    seed: int, tmp_path: Path, embedded: SparkSession, clock: Clock
):
    chance = random.Random(seed)
    capture = tmp_path / "capture"
    shutil.copytree(BROKEN, capture)
    inputs = replayed_input([str(capture)], UTC)
    watch = InProcessWatch(
        embedded, ReplayListing(inputs.streams, UTC, None, chance.choice((8_000, 20_000))), tmp_path / "s"
    )
    watch.captures = inputs.captures
    rounds = run_to_the_end(watch, clock, chance)

    expected = diagnose_in_session(
        embedded, read_small_input(find_input([str(capture)])), DiagnosisRequest(every_mode())
    )

    assert len(watch.modes) > 3
    assert any(len(each) < len(every_mode()) for each in watch.modes), "some rounds left modes out"
    assert [each.verdicts for each in rounds.diagnoses] == [each.verdicts for each in expected]
    assert [each.title for one in rounds.diagnoses for each in one.findings if each.verdict is Verdict.PRESENT] == [
        each.title for one in expected for each in one.findings if each.verdict is Verdict.PRESENT
    ]


def run_to_the_end(watch: InProcessWatch, clock: Clock, chance: random.Random) -> Rounds:
    """Read all and diagnose after each batch; rounds of all modes end some batches after they began."""
    background = Background()
    rounds = Rounds(watch, DiagnosisRequest(every_mode()), timedelta(days=3650), clock, background)
    before = -1
    while watch.last_query_offset > before:
        before = watch.last_query_offset
        watch.read()
        clock.seconds += chance.choice((1, 1, 1, 100))
        if chance.random() < 0.4:
            background.end()
        rounds.run(NOW)
    for _ in range(3):  # the round that runs, and another one over what came after its begin
        background.end()
        clock.seconds += ALL_MODES_EVERY_SECONDS
        rounds.run(NOW)
    return rounds


EAST, WEST = "E" * 22, "W" * 22


@pytest.fixture
def clusters(tmp_path: Path, embedded: SparkSession) -> InProcessWatch:
    """One capture of two clusters, and of a file that is of neither."""
    for name, line in (("east", f"Cluster ID: {EAST}"), ("west", f"Cluster ID: {WEST}"), ("other", "started")):
        (tmp_path / "capture" / name).mkdir(parents=True)
        (tmp_path / "capture" / name / "app.log").write_text(
            f"2026-02-16 12:00:00.000 INFO [Producer clientId=p] {line} (org.apache.kafka.clients.Metadata)\n"
        )
    watch = InProcessWatch(embedded, FolderListing([str(tmp_path / "capture")]), tmp_path / "s")
    watch.read()
    return watch


def test_only_the_cluster_that_changed_is_diagnosed(clusters: InProcessWatch, tmp_path: Path, clock: Clock):
    rounds = Rounds(clusters, DiagnosisRequest(every_mode()), RETENTION, clock)
    assert {each.cluster for each in rounds.run(NOW)} == {EAST, WEST, None}
    append(tmp_path / "capture" / "west", LOST)
    append(tmp_path / "capture" / "west", "INFO still here")
    append(tmp_path / "capture" / "east", ERROR)  # no mode waits for it
    append(tmp_path / "capture" / "east", "INFO still here")
    clusters.read()

    assert [each.cluster for each in rounds.run(NOW)] == [WEST]
    clock.seconds = ALL_MODES_EVERY_SECONDS
    assert {each.cluster for each in rounds.run(NOW)} == {EAST, WEST}
    assert {each.cluster for each in rounds.diagnoses} == {EAST, WEST, None}


def test_the_round_of_all_modes_looks_at_the_clusters_whose_lines_brought_no_event(
    clusters: InProcessWatch, tmp_path: Path, clock: Clock
):
    rounds = Rounds(clusters, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    append(tmp_path / "capture" / "east", "INFO still here")
    clusters.read()
    assert rounds.run(NOW) == []
    clock.seconds = ALL_MODES_EVERY_SECONDS

    assert [each.cluster for each in rounds.run(NOW)] == [EAST]


def test_a_file_that_turns_out_to_be_of_a_cluster_moves_there_and_all_modes_run(
    clusters: InProcessWatch, tmp_path: Path, clock: Clock
):
    rounds = Rounds(clusters, DiagnosisRequest(every_mode()), RETENTION, clock)
    append(tmp_path / "capture" / "other", ERROR)
    clusters.read()
    rounds.run(NOW)
    append(tmp_path / "capture" / "other", f"INFO [Producer clientId=p] Cluster ID: {WEST}")
    append(tmp_path / "capture" / "other", "INFO still here")
    clusters.read()

    assert [each.cluster for each in rounds.run(NOW)] == [WEST]
    assert len(clusters.modes[-1]) == len(every_mode())
    assert {each.cluster for each in rounds.diagnoses} == {EAST, WEST}


def test_errors_of_a_summary_that_did_not_change_start_no_round(watched: InProcessWatch, tmp_path: Path, clock: Clock):
    append(tmp_path / "busy", LOST)
    append(tmp_path / "busy", "INFO still here")
    watched.read()
    rounds = Rounds(watched, DiagnosisRequest(every_mode()), RETENTION, clock)
    rounds.run(NOW)
    append(tmp_path / "busy", "INFO still here")
    watched.read()

    assert rounds.run(NOW) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_rounds_over_clusters_that_grow_end_in_the_findings_of_diagnose(
    seed: int, tmp_path: Path, embedded: SparkSession, clock: Clock
):
    chance = random.Random(seed)
    capture = tmp_path / "capture"
    names = chance.sample(sorted(each.name for each in BROKEN.parent.glob("*") if each.is_dir()), 3)
    for name in (*names, BROKEN.name):
        shutil.copytree(BROKEN.parent / name, capture / name, dirs_exist_ok=True)
    (capture / "app.log").write_text("2026-02-16 12:00:00.000 ERROR no stock left\n")
    inputs = replayed_input([str(capture)], UTC)
    watch = InProcessWatch(embedded, ReplayListing(inputs.streams, UTC, None, 60_000), tmp_path / "s")
    watch.captures = inputs.captures
    rounds = run_to_the_end(watch, clock, chance)

    expected = diagnose_in_session(embedded, read_small_input(inputs), DiagnosisRequest(every_mode()))

    assert len(expected) > 2
    assert {(each.path, each.cluster): verdicts_and_notes(each) for each in rounds.diagnoses} == {
        (each.path, each.cluster): verdicts_and_notes(each) for each in expected
    }


def verdicts_and_notes(diagnosis):
    present = [each.title for each in diagnosis.findings if each.verdict is Verdict.PRESENT]
    return diagnosis.verdicts, sorted(present), diagnosis.notes
