"""`leadsman diagnose --format sarif`: the lines of a repository that invite what is PRESENT."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from leadsman.catalogue import MODES, every_mode

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SCHEMA = Path(__file__).parents[1] / "gate" / "sarif-schema-2.1.0.json"
"""OASIS's schema of SARIF 2.1.0, as Microsoft's validator holds it."""

SPRING = """spring:
  kafka:
    bootstrap-servers: kafka:9092
    producer:
      acks: all
      retries: ${KAFKA_RETRIES:0}
"""
SAMPLES = [
    ("idle_disconnect", "broken-java", "lost_without_retry/broken.java"),
    ("leaderless_partition", "broken-java-4.3.1", "commit_timeout_below_failover/broken.kt"),
    ("producer_id_leak", "broken-java", "producer_per_record/broken.go"),
    ("stale_neighbour", "broken-java", "neighbours_never_deleted/broken.conf"),
]


def errors_of(document: str) -> list[str]:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return [each.message for each in Draft202012Validator(schema).iter_errors(json.loads(document))]


@pytest.fixture
def repository(tmp_path: Path, recorded) -> Path:
    """A repository with a service's settings and the capture of its incident."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "application.yml").write_text(SPRING, encoding="utf-8")
    shutil.copytree(recorded("broken-java"), tmp_path / "incident")
    return tmp_path


@pytest.fixture(scope="module")
def incidents(call_once, tmp_path_factory: pytest.TempPathFactory):
    """The answer on an incident of each mode, where the sources hold a file that invites each."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "src").mkdir()
    for mode, _, sample in SAMPLES:
        shutil.copy(MODES / mode / "samples" / sample, folder / place_of(sample))
    recordings = [MODES / mode / "recorded" / recording for mode, recording, _ in SAMPLES]
    return call_once("diagnose", *recordings, "--format", "sarif", "--source", "src", folder=folder)


def place_of(sample: str) -> str:
    return "src/" + Path(sample).name.replace("broken", "service")


def results_at(document: str) -> dict[str, list[tuple[str, str]]]:
    """The rule and the level of each result, by the file that it names."""
    (run,) = json.loads(document)["runs"]
    found: dict[str, list[tuple[str, str]]] = {}
    for each in run["results"]:
        file = each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        found.setdefault(file, []).append((each["ruleId"], each["level"]))
    return found


@pytest.mark.parametrize("sample", [sample for _, _, sample in SAMPLES])
def test_a_file_that_invites_the_diagnosed_mode_is_a_result(incidents, sample: str) -> None:
    found = results_at(incidents.out)[place_of(sample)]

    assert set(found) == {(sample.partition("/")[0], "error")}


def test_the_results_of_several_incidents_fit_the_schema_and_name_no_other_file(incidents) -> None:
    assert incidents.code == 1
    assert errors_of(incidents.out) == []
    assert results_at(incidents.out).keys() == {place_of(sample) for _, _, sample in SAMPLES}


def test_a_result_names_its_line_and_the_lines_that_prove_the_incident(call, repository: Path) -> None:
    result = call("diagnose", "incident", "--format", "sarif")

    (run,) = json.loads(result.out)["runs"]
    (found,) = run["results"]
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == 1 + SPRING.splitlines().index(
        "      retries: ${KAFKA_RETRIES:0}"
    )
    for each in found["relatedLocations"]:
        file = repository / each["physicalLocation"]["artifactLocation"]["uri"]
        line = file.read_text(encoding="utf-8").splitlines()[each["physicalLocation"]["region"]["startLine"] - 1]
        assert line[:20] == each["message"]["text"][:20]


def test_a_mode_that_no_line_invites_is_a_note(call, repository: Path) -> None:
    (repository / "src" / "application.yml").write_text(SPRING.replace(":0}", ":10}"), encoding="utf-8")

    result = call("diagnose", "incident", "--format", "sarif", "--source", "src")

    assert errors_of(result.out) == []
    (run,) = json.loads(result.out)["runs"]
    assert run["results"] == []
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "no line below src invites it" in note["message"]["text"]


def test_settings_in_the_capture_are_evidence_and_no_result(call, repository: Path) -> None:
    (repository / "src" / "application.yml").rename(repository / "incident" / "application.yml")

    (run,) = json.loads(call("diagnose", "incident", "--format", "sarif").out)["runs"]

    assert run["results"] == []


def test_a_healthy_capture_has_no_result(call, repository: Path, recorded) -> None:
    arguments = ("--mode", "idle_disconnect", "--format", "sarif", "--source", repository / "src")

    result = call("diagnose", recorded("healthy-java"), *arguments)

    assert result.code == 0
    assert json.loads(result.out)["runs"][0]["results"] == []


def test_sources_that_do_not_exist_are_exit_code_2(call, recorded) -> None:
    result = call("diagnose", recorded("healthy-java"), "--format", "sarif", "--source", "no-such-folder")

    assert result.code == 2
    assert "no-such-folder" in result.err


def test_findings_of_the_gate_in_all_samples_fit_the_schema(call) -> None:
    samples = [mode.folder / "samples" for mode in every_mode()]

    result = call("check", "program", "--format", "sarif", *samples)

    assert result.code == 1
    assert len(json.loads(result.out)["runs"][0]["results"]) > len(samples)
    assert errors_of(result.out) == []
