"""What is easily got wrong in a new mode and would otherwise show as a wrong verdict or as a sentence left out."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import pytest

from leadsman.catalogue import Mode, every_mode
from leadsman.model import EVERY_SUBJECT, Verdict
from leadsman.pipeline.detector_sql import EVIDENCE, EXPLAINS, OBSERVATION, POINT
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.pipeline.spark.embedded import embedded_session
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
def broken(mode: Mode) -> str:
    """The path of the mode's first broken recording."""
    folders = [str(folder) for folder in mode.recordings() if folder.name.startswith("broken")]
    assert folders, "No recording named broken-*. Make it: python -m leadsman.lab.record_all MODE"
    return folders[0]


@dataclass(frozen=True, slots=True)
class Returned:
    """What a detector returned for a recording, and how many observations without the mode's trigger events."""

    observations: dict[str, str]
    points: dict[str, str]
    links: list[tuple[str, str]]
    without_trigger_events: int


def returned_by(name: str, folder: str) -> Returned:
    """Run a mode's detector on the embedded engine, which plans its queries in milliseconds."""
    mode, inputs = Mode(name), read_small_input(find_input([folder]))
    with embedded_session() as session:
        events = event_frame(session, inputs)
        found = mode.detect(events)
        rows = found.observations.select("subject", "link").distinct().collect()
        without = mode.detect(events.where(~events["name"].isin(*mode.card.trigger_events or ("no such event",))))
        return Returned(
            dict(found.observations.dtypes),
            dict(found.points.dtypes),
            [(row["subject"], row["link"]) for row in rows],
            without.observations.where(f"subject <> '{EVERY_SUBJECT}'").count(),
        )


@pytest.fixture(scope="module")
def engine() -> Iterator[Executor]:
    """A process with the embedded engine: this one has Spark's own session."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def known() -> dict[str, Returned]:
    """What detectors have returned, by mode."""
    return {}


@pytest.fixture
def returned(engine: Executor, mode: Mode, broken: str, known: dict[str, Returned]) -> Returned:
    """What the mode's detector returns for its broken recording."""
    if mode.name not in known:
        known[mode.name] = engine.submit(returned_by, mode.name, broken).result()
    return known[mode.name]


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_returns_the_columns_that_the_machine_reads(mode: Mode, returned: Returned) -> None:
    kinds = (*OBSERVED_AS, f"array<{EVIDENCE}>")

    assert returned.observations == dict(zip(OBSERVATION, kinds, strict=True)), mode.name
    assert returned.points == dict(zip(POINT, POINTS_AS, strict=True)), mode.name


@pytest.mark.parametrize("mode", MODES)
def test_a_detector_reports_the_links_and_alternatives_of_its_card(mode: Mode, returned: Returned) -> None:
    links = {link for subject, link in returned.links if subject != EVERY_SUBJECT} - {EXPLAINS}
    alternatives = {link for _, link in returned.links if link.startswith(ALTERNATIVE_PREFIX)}

    assert links == {link.id for link in mode.card.chain}
    assert alternatives == {f"{ALTERNATIVE_PREFIX}{alternative.id}" for alternative in mode.card.alternatives}


@pytest.mark.parametrize("mode", MODES)
def test_every_sentence_of_a_finding_finds_its_figures(mode: Mode, diagnosed_recordings, broken: str) -> None:
    """A sentence whose figures the detector does not report is left out: of a whole list, something must be left."""
    (finding,) = [each for each in diagnosed_recordings[broken].findings if each.mode == mode.name]

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
def test_a_detector_observes_nothing_without_its_trigger_events(mode: Mode, returned: Returned) -> None:
    assert returned.without_trigger_events == 0 or not mode.card.trigger_events, mode.name


@pytest.mark.parametrize("mode", MODES)
def test_signs_are_events_that_a_broken_recording_holds(mode: Mode, broken: str) -> None:
    events = read_small_input(find_input([broken])).events
    assert events is not None

    assert not mode.card.trigger_events or {*events["name"].to_pylist()} & set(mode.card.trigger_events), mode.name
