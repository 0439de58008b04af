"""What every failure mode must prove. A new mode is covered the moment its folder exists."""

import re
import shutil
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from leadsman.catalogue import Mode, every_mode, every_rule
from leadsman.gate.check import check_file
from leadsman.model import Diagnosis, State, Template, Verdict
from leadsman.pipeline.events import EventRow
from leadsman.pipeline.listing import APPLICATION, visible_sources
from leadsman.pipeline.read.stream import read
from leadsman.pipeline.scope.streams import list_files
from leadsman.report.mode_page.excerpt import excerpt
from leadsman.telemetry.source import event_types, symptom_sources
from leadsman.vocabulary import FILE_READ
from leadsman.words import fill_template, placeholders

MODES = [pytest.param(mode, id=mode.name) for mode in every_mode()]
RECORDINGS = [
    pytest.param(mode, folder, id=f"{mode.name}-{folder.name}") for mode in every_mode() for folder in mode.recordings()
]


def broken_of(mode: Mode) -> list[Path]:
    return [folder for folder in mode.recordings() if folder.name.startswith("broken")]


BROKEN = [
    pytest.param(mode, folder, id=f"{mode.name}-{folder.name}") for mode in every_mode() for folder in broken_of(mode)
]
HEADINGS = [
    "What you see",
    "Why it happens",
    "How to be sure",
    "How to cure it",
    "The incident",
    "What this page does not cover",
]


@pytest.mark.parametrize("mode", MODES)
def test_the_card_speaks_the_vocabulary(mode: Mode):
    named = {*mode.card.explains, *mode.card.symptom_events, *(benign.name for benign in mode.card.benign)}

    assert named <= event_types().keys()
    assert symptom_sources(mode.card.symptom_events)


@pytest.mark.parametrize("mode", MODES)
def test_the_card_is_complete(mode: Mode):
    card = mode.card

    assert not card.title.endswith(".")
    assert card.harm
    assert card.alternatives
    assert card.cure
    assert len(card.story) == 5
    assert all(
        link.claim and link.observed and link.contradicted and link.not_visible and link.collect_command
        for link in card.chain
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_links_of_a_chain_have_names_of_their_own(mode: Mode):
    ids = [link.id for link in mode.card.chain]

    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("mode", MODES)
def test_every_template_of_the_card_can_be_filled(mode: Mode):
    templates = list(_templates(mode))

    filled = [fill_template(text, dict.fromkeys(placeholders(text), 1.0)) for text in templates]

    assert filled
    assert all(filled)


@pytest.mark.parametrize("mode", MODES)
def test_the_gate_stops_the_broken_program(mode: Mode):
    assert check_file(str(mode.folder / "broken.py"), mode.rules).violations


@pytest.mark.parametrize("mode", MODES)
def test_no_rule_of_any_mode_objects_to_the_healthy_program(mode: Mode):
    assert check_file(str(mode.folder / "healthy.py"), every_rule()).violations == []


@pytest.mark.parametrize("mode", MODES)
def test_every_rule_has_a_reason(mode: Mode):
    assert mode.rules
    assert all(each.rule.title and each.rule.why and each.rule.fix for each in mode.rules)


@pytest.mark.parametrize("mode", MODES)
def test_every_threshold_is_explained_where_it_is_set(mode: Mode):
    unexplained = [name for name in mode.parameters if f"{name}:" not in (mode.detect.__doc__ or "")]

    assert unexplained == []


@pytest.mark.parametrize("mode", MODES)
def test_the_page_answers_the_same_questions(mode: Mode):
    assert re.findall(r"^## (.+)$", mode.page, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("mode", MODES)
def test_the_page_lists_other_causes_as_such_after_the_criteria(mode: Mode):
    section = mode.page.partition("## How to be sure\n\n")[2].partition("\n## ")[0]

    criteria, lead_in, _ = section.partition("Other causes of the same symptoms:\n\n{{ alternatives }}\n")

    assert criteria.strip()
    assert lead_in


@pytest.mark.parametrize("mode", MODES)
def test_the_page_shows_the_incident_below_its_heading_and_the_harm_below_the_title(mode: Mode):
    assert mode.page.startswith("# {{ title }}\n\nHarm: {{ harm }}.\n")
    assert mode.page.count("{{ story }}") == mode.page.count("## The incident\n\n{{ story }}\n") == 1


@pytest.mark.parametrize("mode", MODES)
def test_the_lab_has_recorded_the_broken_the_healthy_and_a_near_miss(mode: Mode):
    kinds = {folder.name.split("-")[0] for folder in mode.recordings()}

    assert kinds >= {"broken", "healthy", "near"}


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "folder"), RECORDINGS)
def test_the_detector_distinguishes_broken_healthy_and_near_miss(mode: Mode, folder: Path, diagnosed_recordings):
    expected = Verdict.PRESENT if folder.name.startswith("broken") else Verdict.ABSENT

    assert diagnosed_recordings[str(folder)].verdicts[mode.name] is expected


REAL_CAUSES = {
    "near-miss-broker-restart-java": "A broker restarted",
    "near-miss-not-enough-replicas": "Too few in-sync replicas",
    "near-miss-burst-java": "A burst that is over",
    "near-miss-fleet-java": "A large but stable fleet",
    "near-miss-queue-full": "The server's accept queue is full",
    "near-miss-syn-ack-dropped": "A network ACL drops the server's answer",
    "near-miss-syn-dropped": "A firewall or security group drops",
    "near-miss-asymmetric-route": "The answer takes another route",
}
"""What the lab did in these near misses, in whose captures the symptom is seen."""


@pytest.mark.spark
@pytest.mark.parametrize("name", REAL_CAUSES)
def test_a_near_miss_with_the_symptom_names_its_real_cause(name: str, diagnosed_recordings):
    ((mode, folder),) = [(mode, path) for mode in every_mode() for path in mode.recordings() if path.name == name]

    reasons = diagnosed_recordings[str(folder)].absent_reasons[mode.name]

    assert any(reason.startswith(REAL_CAUSES[name]) for reason in reasons)


@pytest.mark.spark
@pytest.mark.parametrize("mode", MODES)
def test_healthy_recordings_have_no_symptom_to_explain(mode: Mode, diagnosed_recordings):
    healthy = [folder for folder in mode.recordings() if folder.name.startswith("healthy")]

    reasons = [diagnosed_recordings[str(folder)].absent_reasons.get(mode.name, ()) for folder in healthy]

    assert reasons == [()] * len(healthy)


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "folder"), BROKEN)
def test_every_required_link_of_a_present_finding_is_observed_and_quoted(
    mode: Mode, folder: Path, diagnosed_recordings
):
    (finding,) = [each for each in diagnosed_recordings[str(folder)].findings if each.mode == mode.name]
    required = {link.id for link in mode.card.chain if link.required}

    assert {link.link for link in finding.chain if link.state is State.OBSERVED} >= required
    assert all(link.evidence for link in finding.chain if link.link in required)


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "folder"), BROKEN)
def test_every_line_of_evidence_stands_in_the_input(mode: Mode, folder: Path, diagnosed_recordings):
    (finding,) = [each for each in diagnosed_recordings[str(folder)].findings if each.mode == mode.name]
    quoted = [line for link in finding.chain for line in link.evidence]
    literal = [line.text in (folder / line.file).read_text().splitlines()[line.line - 1] for line in quoted]

    assert quoted
    assert all(literal)


@pytest.fixture(scope="module")
def excerpts(diagnosed_recordings, tmp_path_factory) -> dict[Path, Path]:
    """By broken recording, a folder with the lines of its first failure alone."""
    places = {folder: tmp_path_factory.mktemp("excerpt") for mode in every_mode() for folder in broken_of(mode)}
    for mode, folder in ((each, folder) for each in every_mode() for folder in broken_of(each)):
        lines = _symptoms_only(mode, diagnosed_recordings[str(folder)])
        (places[folder] / "excerpt.log").write_text("\n".join(lines) + "\n")
    return places


@pytest.fixture(scope="module")
def no_source(tmp_path_factory) -> dict[str, Path]:
    """By mode, a folder with the files of a broken recording that could not have shown its symptom."""
    places = {mode.name: tmp_path_factory.mktemp("blind") for mode in every_mode()}
    for mode in every_mode():
        _copy_what_shows_no_symptom(mode, broken_of(mode)[0], places[mode.name])
    return places


@pytest.fixture(scope="module")
def parts(diagnosed, excerpts, no_source) -> dict[str, Diagnosis]:
    """The diagnoses of all these folders by path, in one Spark job."""
    return {each.path: each for each in diagnosed([*excerpts.values(), *no_source.values()])}


@pytest.mark.spark
@pytest.mark.parametrize(("mode", "folder"), BROKEN)
def test_a_failure_with_nothing_before_it_is_unknown(mode: Mode, folder: Path, excerpts, *, parts):
    """What was quiet before is not in the capture: the symptom alone must not name the cause."""
    diagnosis = parts[str(excerpts[folder])]

    assert diagnosis.verdicts[mode.name] is Verdict.UNKNOWN
    assert diagnosis.findings[0].next


@pytest.mark.spark
@pytest.mark.parametrize("mode", MODES)
def test_a_capture_that_could_not_have_shown_the_symptom_is_unknown(mode: Mode, no_source, parts):
    assert parts[str(no_source[mode.name])].verdicts[mode.name] is Verdict.UNKNOWN


@pytest.mark.spark
@pytest.mark.parametrize("mode", MODES)
def test_the_page_shows_the_lines_that_the_detector_quoted(mode: Mode, diagnosed_recordings):
    quoted = excerpt(diagnosed_recordings[str(mode.page_recording)], mode.name)

    assert mode.excerpt().splitlines() == [line.text for line in quoted]


def _copy_what_shows_no_symptom(mode: Mode, capture: Path, to: Path) -> None:
    """Copy the files of a capture that no source could have written which reports the mode's symptom."""
    rows = [row for stream in list_files(str(capture)).streams for row in read(stream, UTC)]
    read_files = [row for row in rows if isinstance(row, EventRow) and row.name == FILE_READ]
    seen = {row.file: visible_sources([row.labels]) or {APPLICATION} for row in read_files}
    blind = [file for file, sources in seen.items() if not sources & symptom_sources(mode.card.symptom_events)]
    assert blind, f"every file of {capture} could have shown the symptom"
    for file in blind:
        (to / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(capture / file, to / file)


def _symptoms_only(mode: Mode, diagnosis: Diagnosis) -> list[str]:
    """The lines of the first failure of one subject, as people paste them into a message."""
    (finding,) = [each for each in diagnosis.findings if each.mode == mode.name]
    lines = finding.chain[-1].evidence
    return [line.text for line in lines if line.file == lines[0].file and line.time == lines[0].time]


def _templates(mode: Mode) -> Iterator[str]:
    """Every sentence of the card that can hold a figure."""
    card = mode.card
    links = [words for link in card.chain for words in (link.observed, link.contradicted, link.not_visible)]
    alternatives = [
        words
        for alternative in card.alternatives
        for words in (alternative.ruled_out, alternative.observed, alternative.not_visible)
    ]
    for words in (card.headline, card.summary, card.unknown, *links, *alternatives):
        yield from _flat(words)


def _flat(words: Template) -> Iterator[str]:
    return iter([words]) if isinstance(words, str) else (text for each in words for text in _flat(each))
