"""What is easily got wrong in a new mode and would otherwise show as a wrong verdict or as a sentence left out."""

import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode, every_mode
from leadsman.model import EVERY_SUBJECT, Verdict
from leadsman.pipeline.detector_sql import EVIDENCE, EXPLAINS, OBSERVATION, POINT, Detection
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.spark.event_frames import event_frame
from leadsman.pipeline.verdict.decide import ALTERNATIVE_PREFIX

pytestmark = pytest.mark.spark

MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]
OBSERVED_AS = (
    "string",
    "string",
    "string",
    "string",
    "timestamp",
    "timestamp",
    "map<string,double>",
    "map<string,string>",
)
POINTS_AS = ("string", "string", "string", "timestamp", "timestamp", "double")


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> str:
    """The path of the mode's first broken recording."""
    folders = [
        str(folder) for folder in request.getfixturevalue("mode").recordings() if folder.name.startswith("broken")
    ]
    assert folders, "No recording named broken-*. Make it: python -m leadsman.lab.record_all MODE"
    return folders[0]


@pytest.fixture(scope="module")
def detections() -> dict[str, Detection]:
    """What detectors have returned, by mode."""
    return {}


@pytest.fixture
def detection(spark: SparkSession, mode: Mode, broken: str, detections: dict[str, Detection]) -> Detection:
    """What the mode's detector returns for its broken recording."""
    if mode.name not in detections:
        detections[mode.name] = mode.detect(event_frame(spark, read_small_input(find_input([broken]))))
    return detections[mode.name]


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_returns_the_columns_that_the_machine_reads(mode: Mode, detection: Detection) -> None:
    observations, points = dict(detection.observations.dtypes), dict(detection.points.dtypes)

    assert observations == dict(zip(OBSERVATION, (*OBSERVED_AS, f"array<{EVIDENCE}>"), strict=True)), mode.name
    assert points == dict(zip(POINT, POINTS_AS, strict=True)), mode.name


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_reports_the_links_and_alternatives_of_its_card(mode: Mode, detection: Detection) -> None:
    rows = detection.observations.select("subject", "link").distinct().collect()
    links = {row["link"] for row in rows if row["subject"] != EVERY_SUBJECT} - {EXPLAINS}
    alternatives = {row["link"] for row in rows if row["link"].startswith(ALTERNATIVE_PREFIX)}

    assert links == {link.id for link in mode.card.chain}
    assert alternatives == {f"{ALTERNATIVE_PREFIX}{alternative.id}" for alternative in mode.card.alternatives}


@pytest.mark.parametrize("mode", MODES)
def test_every_sentence_of_a_finding_finds_its_figures(mode: Mode, spark: SparkSession, broken: str) -> None:
    """A sentence whose figures the detector does not report is left out: of a whole list, something must be left."""
    (diagnosis,) = diagnose(spark, read_small_input(find_input([broken])), DiagnosisRequest(modes=[mode], points=True))
    (finding,) = diagnosis.findings

    assert finding.verdict is Verdict.PRESENT
    assert finding.summary
    assert finding.points
    assert [link.link for link in finding.chain if not link.explanation] == []
    assert [
        alternative.cause
        for alternative in finding.alternatives
        if not (alternative.ruled_out_by or alternative.explanation)
    ] == []


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_observes_nothing_without_its_trigger_events(spark: SparkSession, mode: Mode, broken: str) -> None:
    signs = mode.card.trigger_events or ("no such event",)
    events = event_frame(spark, read_small_input(find_input([broken])))

    without = mode.detect(events.where(~events["name"].isin(*signs)))

    observation_count = without.observations.where(f"subject <> '{EVERY_SUBJECT}'").count()
    assert observation_count == 0 or not mode.card.trigger_events, mode.name


@pytest.mark.parametrize("mode", MODES)
def test_signs_are_events_that_a_broken_recording_holds(spark: SparkSession, mode: Mode, broken: str) -> None:
    names_in_recording = {
        row["name"]
        for row in event_frame(spark, read_small_input(find_input([broken]))).select("name").distinct().collect()
    }

    assert not mode.card.trigger_events or names_in_recording & set(mode.card.trigger_events), mode.name
