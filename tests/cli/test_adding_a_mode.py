"""What is easily got wrong in a new mode and would otherwise show as a wrong verdict or as a sentence left out."""

import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode, every_mode
from leadsman.model import EVERY_SUBJECT, Verdict
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.inputs import events_of
from leadsman.pipeline.question import Question, look, read_small
from leadsman.pipeline.shapes import EVIDENCE, EXPLAINS, OBSERVATION, POINT, Detection
from leadsman.pipeline.verdicts import RIVAL

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


@pytest.fixture
def detection(spark: SparkSession, mode: Mode, broken: str) -> Detection:
    """What the mode's detector returns for it."""
    detection: Detection = mode.detect(events_of(spark, read_small(look([broken]))))
    return detection


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_returns_the_columns_that_the_machine_reads(mode: Mode, detection: Detection) -> None:
    observations, points = dict(detection.observations.dtypes), dict(detection.points.dtypes)

    assert observations == dict(zip(OBSERVATION, (*OBSERVED_AS, f"array<{EVIDENCE}>"), strict=True)), mode.name
    assert points == dict(zip(POINT, POINTS_AS, strict=True)), mode.name


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_speaks_of_the_links_and_rivals_of_its_card(mode: Mode, detection: Detection) -> None:
    rows = detection.observations.select("subject", "link").distinct().collect()
    links = {row["link"] for row in rows if row["subject"] != EVERY_SUBJECT} - {EXPLAINS}
    rivals = {row["link"] for row in rows if row["link"].startswith(RIVAL)}

    assert links == {link.id for link in mode.card.chain}
    assert rivals == {f"{RIVAL}{rival.id}" for rival in mode.card.rivals}


@pytest.mark.parametrize("mode", MODES)
def test_every_sentence_of_a_finding_finds_its_figures(mode: Mode, spark: SparkSession, broken: str) -> None:
    """A sentence whose figures the detector does not report is left out: of a whole list, something must be left."""
    (diagnosis,) = diagnose(spark, read_small(look([broken])), Question(modes=[mode], points=True))
    (finding,) = diagnosis.findings

    assert finding.verdict is Verdict.PRESENT
    assert finding.summary
    assert finding.points
    assert [link.link for link in finding.chain if not link.says] == []
    assert [rival.cause for rival in finding.rivals if not (rival.ruled_out_by or rival.says)] == []


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_has_nothing_to_say_of_anybody_without_its_signs(
    spark: SparkSession, mode: Mode, broken: str
) -> None:
    signs = mode.card.signs or ("no such event",)
    events = events_of(spark, read_small(look([broken])))

    without = mode.detect(events.where(~events["name"].isin(*signs)))

    said = without.observations.where(f"subject <> '{EVERY_SUBJECT}'").count()
    assert said == 0 or not mode.card.signs, mode.name


@pytest.mark.parametrize("mode", MODES)
def test_signs_are_events_that_a_broken_recording_holds(spark: SparkSession, mode: Mode, broken: str) -> None:
    held = {row["name"] for row in events_of(spark, read_small(look([broken]))).select("name").distinct().collect()}

    assert not mode.card.signs or held & set(mode.card.signs), mode.name
