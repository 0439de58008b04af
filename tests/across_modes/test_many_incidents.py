"""Several incidents in one capture, and several clusters in one call: each finding has its own subjects."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from tests.across_modes.merged import broken_recording, merge_recordings

from leadsman.catalogue import every_mode
from leadsman.model import Diagnosis, Finding, Verdict
from leadsman.pipeline.severity import TITLES

pytestmark = pytest.mark.spark

FOUR = Path(__file__).parent / "recorded" / "four-at-once"
PAIRS = [pytest.param(pair, id="-".join(mode.name for mode in pair)) for pair in combinations(every_mode(), 2)]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> dict[tuple[str, ...], Path]:
    """One broken recording of each of two modes, in one folder, as if of one cluster."""
    folders: dict[tuple[str, ...], Path] = {}
    for first, second in combinations(every_mode(), 2):
        folder = folders[first.name, second.name] = tmp_path_factory.mktemp("merged")
        merge_recordings((first, second), folder)
    return folders


@pytest.fixture(scope="module")
def diagnoses(diagnosed: Callable[..., list[Diagnosis]], pairs) -> dict[str, Diagnosis]:
    """The diagnoses by path: in one Spark job they take as long as those of the four incidents alone."""
    paths = [FOUR, *pairs.values()]
    return dict(zip(map(str, paths), diagnosed(paths), strict=True))


@pytest.fixture(scope="module")
def four(diagnoses) -> Diagnosis:
    """All four incidents, recorded on one cluster."""
    found: Diagnosis = diagnoses[str(FOUR)]
    return found


def finding(diagnosis: Diagnosis, mode: str) -> Finding:
    (found,) = [each for each in diagnosis.findings if each.mode == mode]
    return found


def affected(diagnosis: Diagnosis, mode: str) -> set[str]:
    named = finding(diagnosis, mode).subjects["affected"]
    assert isinstance(named, list)
    return set(named)


def test_four_incidents_at_once_on_one_cluster_are_all_present(four):
    assert set(four.verdicts.values()) == {Verdict.PRESENT}


@pytest.mark.parametrize(
    ("mode", "subjects"),
    [
        ("idle_disconnect", {"clients/idle-1.log"}),
        ("leaderless_partition", {"clients/billing.log"}),
        ("producer_id_leak", {"topic clicks"}),
        ("stale_neighbour", {"worker-3 (10.20.4.57) -> broker-1 (10.20.4.11):9092"}),
    ],
)
def test_each_of_four_incidents_has_its_own_subjects(mode, subjects, four):
    assert affected(four, mode) == subjects


def test_symptoms_of_a_cause_are_not_listed_as_unexplained(four):
    known = {TITLES[name] for mode in every_mode() for name in mode.card.explains}

    storm = {each.name: each.count for each in finding(four, "leaderless_partition").attributed_events}

    assert storm["connection.refused"] > 10
    assert not [group for group in four.unexplained if group.kind in known]


def test_a_symptom_of_one_incident_is_no_failure_of_another(four):
    lost = finding(four, "idle_disconnect").figures["failures"]

    assert lost == 3


def test_clusters_given_together_keep_their_incidents_apart(diagnosed_recordings):
    found = [diagnosed_recordings[str(broken_recording(mode))] for mode in every_mode()]

    assert [[each.mode for each in one.findings if each.verdict is Verdict.PRESENT] for one in found] == [
        [mode.name] for mode in every_mode()
    ]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_incidents_of_any_two_modes_are_both_found_where_they_are_in_one_folder(pair, pairs, diagnoses):
    together = diagnoses[str(pairs[tuple(mode.name for mode in pair)])]

    present = {name for name, verdict in together.verdicts.items() if verdict is Verdict.PRESENT}

    assert present == {mode.name for mode in pair}
