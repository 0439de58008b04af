"""A detector runs again without the events that other findings explain only where it reads such an event."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from bench.production.case import SEED, CaptureSize
from bench.production.catalogue import cases
from tests.across_modes.merged import merge_recordings

from leadsman.catalogue import every_mode, modes_named
from leadsman.model import Verdict
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.timings import collected_timings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.spark


class DetectorRuns(NamedTuple):
    """How often each detector ran in a diagnosis, and the verdicts, by mode."""

    counts: Mapping[str, int]
    verdicts: Mapping[str, Verdict]


def detector_runs(folder: str, modes: Sequence[str]) -> DetectorRuns:
    """Diagnose a folder on the embedded engine, which plans its queries in milliseconds."""
    inputs = read_small_input(find_input([folder]))
    with embedded_session() as session, collected_timings() as timings:
        (diagnosis,) = diagnose_in_session(session, inputs, DiagnosisRequest(modes=modes_named(modes)))
    parts = Counter(line.partition(":")[0] for line in timings)
    return DetectorRuns({mode.name: parts[mode.name] for mode in every_mode()}, diagnosis.verdicts)


@pytest.fixture(scope="module")
def engine() -> Iterator[Executor]:
    """A process with the embedded engine: this one has Spark's own session."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def runs_in_merged(engine: Executor, tmp_path: Path) -> Callable[..., DetectorRuns]:
    """The runs in a capture that holds an incident of each of some modes."""

    def run(*modes: str) -> DetectorRuns:
        merge_recordings(modes_named(modes), tmp_path)
        return engine.submit(detector_runs, str(tmp_path), ()).result()

    return run


@pytest.fixture
def lost_broker(tmp_path: Path) -> Path:
    """Logs of services whose attempts to connect to a lost broker timed out, and whose commits did."""
    (case,) = [each for each in cases() if each.name == "clusters/migration-services-only"]
    case.write(tmp_path, Random(f"{SEED} {case.name}"), CaptureSize.TEST)
    return tmp_path


def test_a_detector_does_not_run_again_where_a_deeper_finding_explains_no_event(runs_in_merged) -> None:
    found = runs_in_merged("idle_disconnect", "producer_id_leak")

    assert found.verdicts["producer_id_leak"] is Verdict.PRESENT
    assert found.counts["idle_disconnect"] == 1


def test_a_detector_does_not_run_again_where_it_reads_none_of_the_explained_events(runs_in_merged) -> None:
    found = runs_in_merged("producer_id_leak", "stale_neighbour")

    assert found.verdicts["stale_neighbour"] is Verdict.PRESENT
    assert found.counts["producer_id_leak"] == 1


def test_a_detector_runs_again_where_a_deeper_finding_explains_events_that_it_reads(runs_in_merged) -> None:
    found = runs_in_merged("idle_disconnect", "leaderless_partition")

    assert found.verdicts["leaderless_partition"] is Verdict.PRESENT
    assert found.counts["idle_disconnect"] == 2


def test_without_the_explained_events_a_detector_has_another_verdict(engine: Executor, lost_broker: Path) -> None:
    alone, together = (
        engine.submit(detector_runs, str(lost_broker), modes).result() for modes in (("stale_neighbour",), ())
    )

    assert alone.verdicts["stale_neighbour"] is Verdict.UNKNOWN
    assert together.verdicts["stale_neighbour"] is Verdict.ABSENT
    assert together.counts["stale_neighbour"] == 2
