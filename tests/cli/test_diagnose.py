"""`leadsman diagnose` on real captures: exit codes, and what is printed. In this process, on the shared session."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pyspark.sql import SparkSession

from leadsman.catalogue import every_mode
from leadsman.report.json_documents.findings import findings_schema

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

FAILURE = "The server disconnected before a response was received"


@pytest.fixture
def excerpt(recorded: Callable[[str], Path], tmp_path: Path) -> Path:
    """One line, as people paste it into a message."""
    lines = (recorded("broken-java-2.7.2") / "clients" / "worker-3.log").read_text().splitlines()
    path = tmp_path / "excerpt.log"
    path.write_text(next(line for line in lines if FAILURE in line) + "\n")
    return path


def test_a_present_mode_is_1_and_shows_the_lines(call, recorded: Callable[[str], Path]) -> None:
    result = call("diagnose", recorded("broken-java-2.7.2"))

    assert result.code == 1
    assert "PRESENT" in result.out
    assert FAILURE in result.out
    assert "clients/worker-3.log:" in result.out
    assert result.err == ""


def test_nothing_found_is_0(call, recorded: Callable[[str], Path]) -> None:
    result = call("diagnose", recorded("healthy-java"), "--mode", "idle_disconnect")

    assert result.code == 0
    assert "ABSENT" in result.out


def test_a_failure_alone_is_3_and_names_what_would_decide_it(call, excerpt: Path) -> None:
    result = call("diagnose", excerpt)

    assert result.code == 3
    assert "UNKNOWN" in result.out
    assert "leadsman collect logs " in result.out


def test_the_worst_of_several_captures_is_the_exit_code(call, recorded: Callable[[str], Path], excerpt: Path) -> None:
    result = call("diagnose", recorded("healthy-java"), excerpt, recorded("broken-java"), "--format", "json")

    verdicts = [capture["verdicts"]["idle_disconnect"] for capture in json.loads(result.out)["captures"]]
    assert result.code == 1
    assert verdicts == ["ABSENT", "UNKNOWN", "PRESENT"]
    assert list(Draft202012Validator(findings_schema()).iter_errors(json.loads(result.out))) == []


def test_out_holds_the_page_the_findings_and_the_events(
    call, recorded: Callable[[str], Path], tmp_path: Path, spark: SparkSession
) -> None:
    result = call("diagnose", recorded("broken-java"), "--out", tmp_path / "report", "--format", "json")

    written = json.loads((tmp_path / "report" / "findings.json").read_text())
    events = spark.read.parquet(str(tmp_path / "report" / "events.parquet"))
    assert written == json.loads(result.out)
    assert events.where("name = 'connection.lost'").count() > 0
    assert (tmp_path / "report" / "report.html").stat().st_size < 2_000_000
    assert result.err.strip() == f"Report: {tmp_path / 'report' / 'report.html'}"


def test_only_the_requested_modes_are_judged(call, recorded: Callable[[str], Path]) -> None:
    (mode, *_) = every_mode()

    result = call("diagnose", recorded("healthy-java"), "--mode", mode.name, "--format", "json")

    assert list(json.loads(result.out)["captures"][0]["verdicts"]) == [mode.name]


def test_a_threshold_changes_what_is_concluded(call, recorded: Callable[[str], Path]) -> None:
    result = call("diagnose", recorded("broken-java"), "--set", "idle_disconnect.reset_seconds=0.000001")

    assert result.code in {0, 3}


@pytest.mark.parametrize("bound", [("--since", "2099-01-01"), ("--until", "1999-01-01")])
def test_a_time_outside_the_capture_is_unknown_and_its_times_are_named(
    call, recorded: Callable[[str], Path], bound: tuple[str, str]
) -> None:
    result = call("diagnose", recorded("broken-java"), *bound, "--format", "json")

    (capture,) = json.loads(result.out)["captures"]
    assert result.code == 3
    assert capture["verdicts"]["idle_disconnect"] == "UNKNOWN"
    assert any(bound[1] in note and capture["from"][:10] in note for note in capture["notes"])


def test_a_time_within_the_capture_is_not_reported_as_outside(call, recorded: Callable[[str], Path]) -> None:
    arguments = ("diagnose", recorded("healthy-java"), "--mode", "idle_disconnect", "--format", "json")
    whole = json.loads(call(*arguments).out)["captures"][0]

    result = call(*arguments, "--since", whole["from"])

    (capture,) = json.loads(result.out)["captures"]
    assert (result.code, capture["notes"]) == (0, whole["notes"])


def test_standard_input_is_diagnosed_as_the_file_that_it_holds(
    call, recorded: Callable[[str], Path], excerpt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = json.loads(call("diagnose", excerpt, "--format", "json").out)["captures"][0]
    before = os.dup(0)
    with excerpt.open() as lines:
        os.dup2(lines.fileno(), 0)
        result = call("diagnose", "-", "--format", "json")
        os.dup2(before, 0)

    (capture,) = json.loads(result.out)["captures"]
    assert (result.code, capture["path"], capture["verdicts"]) == (3, "-", expected["verdicts"])


def test_copies_and_names_with_times_are_reported(call, recorded: Callable[[str], Path], tmp_path: Path) -> None:
    worker = recorded("healthy-java") / "clients" / "worker-1.log"
    shutil.copy(worker, tmp_path / "worker-1.log")
    shutil.copy(worker, tmp_path / "again.log")
    (tmp_path / "metrics.20261121T075849Z.prom").write_text("# TYPE up gauge\nup 1\n")

    result = call("diagnose", tmp_path, "--format", "json")

    (capture,) = json.loads(result.out)["captures"]
    assert capture["files"] == 2
    assert any("worker-1.log (a copy of again.log)" in note for note in capture["notes"])
    assert any("in the files' names" in note for note in capture["notes"])


def test_the_zone_of_times_without_one_can_be_named(call, recorded: Callable[[str], Path]) -> None:
    path = recorded("broken-java") / "clients" / "worker-1.log"

    utc, tokyo = (
        json.loads(call("diagnose", path, "--timezone", zone, "--format", "json").out)["captures"][0]["from"]
        for zone in ("UTC", "Asia/Tokyo")
    )

    assert utc[11:13] != tokyo[11:13]
