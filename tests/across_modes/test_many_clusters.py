"""Several clusters in one folder: no event of one cluster counts for another."""

import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from leadsman.catalogue import Mode, every_mode
from leadsman.model import Diagnosis, Verdict
from leadsman.pipeline.diagnose import diagnose
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input

pytestmark = pytest.mark.spark

CLUSTER = re.compile(rb"Cluster ID: (\S{22})|with clusterId (\S{22})|^ClusterId: +(\S{22})|in cluster (\S{22}) is now")
MODES = {mode.name: mode for mode in every_mode()}


def _recording(mode: Mode) -> Path:
    return next(path for path in mode.recordings() if path.name.startswith("broken"))


def _cluster(recording: Path) -> str:
    """The cluster id in a recording, found without the reader."""
    texts = [file.read_bytes() for file in sorted(recording.rglob("*.log")) + sorted(recording.rglob("*.txt"))]
    cluster_ids: set[str] = {next(filter(None, found)).decode() for text in texts for found in CLUSTER.findall(text)}
    (cluster,) = sorted(cluster_ids)
    return cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One broken recording of each mode, each of its own cluster, and a log without a cluster id."""
    mixed = tmp_path_factory.mktemp("mixed")
    for mode in MODES.values():
        shutil.copytree(_recording(mode), mixed / mode.name, ignore=shutil.ignore_patterns("manifest.json"))
    (mixed / "billing.log").write_text("2026-11-21 12:00:00,000 ERROR billing: no such invoice\n")
    return mixed


@pytest.fixture(scope="module")
def captures() -> set[str]:
    """The captures that the event table of that folder names, as soon as the folder is diagnosed."""
    return set()


@pytest.fixture(scope="module")
def entries(spark: SparkSession, folder: Path, captures: set[str]) -> dict[str | None, Diagnosis]:
    """The diagnoses of that folder, by cluster."""
    found = diagnose(
        spark,
        read_small_input(find_input([str(folder)])),
        DiagnosisRequest(modes=every_mode()),
        write_events=lambda events: captures.update(
            row["capture"] for row in events.select("capture").distinct().collect()
        ),
    )
    assert [each.path for each in found] == [str(folder)] * len(found)
    return {each.cluster: each for each in found}


@pytest.fixture(scope="module")
def alone(diagnosed_recordings: dict[str, Diagnosis]) -> dict[str, Diagnosis]:
    """The diagnosis of each recording alone, by mode."""
    return {name: diagnosed_recordings[str(_recording(mode))] for name, mode in MODES.items()}


def test_each_cluster_is_an_entry_and_so_are_files_without_a_cluster(entries):
    clusters = sorted(map(_cluster, map(_recording, MODES.values())))

    assert list(entries) == [*clusters, None]


@pytest.mark.parametrize("name", MODES)
def test_a_cluster_among_others_is_diagnosed_as_if_alone(name, entries, alone):
    among = entries[_cluster(_recording(MODES[name]))]

    assert among.verdicts == alone[name].verdicts
    assert {each.mode: each.figures for each in among.findings} == {
        each.mode: each.figures for each in alone[name].findings
    }
    assert (among.files, among.lines) == (alone[name].files, alone[name].lines)


@pytest.mark.parametrize("name", MODES)
def test_a_recording_shows_its_own_cluster(name, alone):
    assert alone[name].cluster == _cluster(_recording(MODES[name]))


def test_files_without_a_cluster_are_diagnosed_with_the_reason(entries):
    rest = entries[None]

    assert [group.example.file for group in rest.unexplained] == ["billing.log"]
    assert rest.notes[0].startswith("The capture names 4 clusters: ")
    assert Verdict.PRESENT not in rest.verdicts.values()


def test_every_file_belongs_to_one_entry(entries, folder):
    files = [file for file in folder.rglob("*") if file.is_file()]

    assert sum(entry.files + len(entry.not_understood) for entry in entries.values()) == len(files)


@pytest.mark.parametrize(
    "as_path",
    [
        pytest.param(str, id="larger input, read by workers"),
        pytest.param(Path.as_uri, id="a URL", marks=pytest.mark.long),
    ],
)
def test_files_that_tasks_read_are_divided_in_the_same_way(as_path, spark, folder, entries):
    name = "idle_disconnect"

    found = diagnose(spark, find_input([as_path(folder)]), DiagnosisRequest(modes=[MODES[name]]))

    assert {each.cluster: each.verdicts[name] for each in found} == {
        cluster: entry.verdicts[name] for cluster, entry in entries.items()
    }


def test_the_event_table_names_the_cluster_behind_the_path(folder, entries, captures):
    assert captures == {
        f"{folder} (cluster {cluster})" if cluster else f"{folder} (no single cluster)" for cluster in entries
    }
