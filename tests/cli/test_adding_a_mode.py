"""What is easily got wrong in a new mode and would otherwise show as a wrong verdict or as a sentence left out."""

import ast
import re
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import pytest
from pyspark.sql import DataFrame

from leadsman import vocabulary
from leadsman.catalogue import Mode, every_mode
from leadsman.model import EVERY_SUBJECT, Verdict
from leadsman.pipeline.detector_sql import EVIDENCE, EXPLAINS, OBSERVATION, POINT
from leadsman.pipeline.request import find_input, read_small_input
from leadsman.pipeline.spark.embedded import embedded_session
from leadsman.pipeline.spark.event_frames import event_frame
from leadsman.pipeline.verdict.decide import ALTERNATIVE_PREFIX
from leadsman.pipeline.verdict.run_detectors import read_events
from leadsman.telemetry.source import event_types

pytestmark = pytest.mark.spark

MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]
GIVEN_SOME_EVENTS = [pytest.param(mode, id=mode.name) for mode in every_mode() if mode.card.read_events]
EVENT_NAMES = tuple(event_types())
NAMED = re.compile(r"\b[A-Z][A-Z_]+\b")
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


def collected(mode: Mode, events: DataFrame) -> list[str]:
    """Return the observations and points of a mode's detector, which is given these events."""
    found = mode.detect(events)
    return sorted(str(row) for frame in (found.observations, found.points) for row in frame.collect())


def of_all_and_of_read_events(name: str) -> tuple[list[str], list[str]]:
    """Run a mode's detector over all recordings of all modes, and again over the events that its card names."""
    mode, folders = Mode(name), [str(folder) for each in every_mode() for folder in each.recordings()]
    inputs = read_small_input(find_input(folders))
    assert inputs.events is not None
    with embedded_session(inputs.events.nbytes) as session:
        events = event_frame(session, inputs)
        return collected(mode, events), collected(mode, read_events(events, mode.card))


def detector_code(mode: Mode, module: str = "detector", known: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the code of a module and of those that it imports from its mode, by module."""
    code = {module: (mode.folder / f"{module}.py").read_text(encoding="utf-8")}
    for imported in {*own_imports(mode, code[module])} - known - {module}:
        code |= detector_code(mode, imported, known | code.keys())
    return code


def own_imports(mode: Mode, code: str) -> Iterator[str]:
    """Yield the modules of the mode that its code imports."""
    package = f"leadsman.modes.{mode.name}"
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith(package):
            yield str(node.module).removeprefix(f"{package}.")


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


@pytest.mark.parametrize("mode", GIVEN_SOME_EVENTS)
def test_a_detector_needs_no_other_events_than_its_card_names(mode: Mode, engine: Executor) -> None:
    of_all, of_read = engine.submit(of_all_and_of_read_events, mode.name).result()

    assert of_all
    assert of_read == of_all


@pytest.mark.parametrize("mode", GIVEN_SOME_EVENTS)
def test_a_card_names_every_event_that_the_code_of_its_detector_names(mode: Mode) -> None:
    words = {word for text in detector_code(mode).values() for word in NAMED.findall(text)}
    named = {name for word, name in vars(vocabulary).items() if word in words and name in EVENT_NAMES}

    assert named == set(mode.card.read_events)


@pytest.mark.parametrize("mode", MODES)
def test_signs_are_events_that_a_broken_recording_holds(mode: Mode, broken: str) -> None:
    events = read_small_input(find_input([broken])).events
    assert events is not None

    assert not mode.card.trigger_events or {*events["name"].to_pylist()} & set(mode.card.trigger_events), mode.name
