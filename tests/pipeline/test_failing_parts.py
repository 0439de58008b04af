"""A detector or a condition that fails on one capture costs that verdict alone: every other answer is as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import Mode, every_mode
from leadsman.cli.commands.diagnose import exit_code, write_files
from leadsman.errors import ISSUES
from leadsman.model import DETECTOR_ERRORS, Verdict
from leadsman.pipeline import diagnose_in_session as session_module
from leadsman.pipeline.conditions.find import find_conditions
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from leadsman.model import Diagnosis

(MODE,) = (mode for mode in every_mode() if mode.name == "idle_disconnect")
FOLDERS = [str(MODE.folder / "recorded" / name) for name in ("broken-kafka-python", "broken-confluent-kafka")]
RULE = "IF(capture = '{capture}', CAST(raise_error('no such index') AS {kind}), {column}) AS {column}"


def spoil(events: DataFrame, capture: str, column: str = "value", kind: str = "DOUBLE") -> DataFrame:
    """The same events; a query that reads this column of this capture fails, as an index into an empty array does."""
    rule = RULE.format(capture=capture, column=column, kind=kind)
    return events.selectExpr(*(rule if each == column else each for each in events.columns))


def diagnose(spark: SparkSession) -> dict[str, Diagnosis]:
    found = diagnose_in_session(spark, read_small_input(find_input(FOLDERS)), DiagnosisRequest(modes=[MODE]))
    return {each.path: each for each in found}


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession) -> dict[str, Diagnosis]:
    return diagnose(spark)


def test_a_detector_that_fails_on_one_capture_costs_that_verdict_alone(
    spark: SparkSession, undisturbed: dict[str, Diagnosis], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    detect = MODE.detect
    on_spoilt = property(lambda _: lambda events, **options: detect(spoil(events, FOLDERS[0]), **options))
    monkeypatch.setattr(Mode, "detect", on_spoilt)
    found = diagnose(spark)
    write_files(list(found.values()), tmp_path)

    (failed,) = found[FOLDERS[0]].findings
    assert failed.verdict is Verdict.UNKNOWN
    assert "no such index" in failed.summary
    assert ISSUES in failed.summary
    assert "no such index" in (tmp_path / DETECTOR_ERRORS).read_text()
    assert found[FOLDERS[1]] == undisturbed[FOLDERS[1]]
    assert exit_code(list(found.values())) == 1


def test_a_detector_whose_python_fails_costs_its_verdicts(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mode, "detect", property(lambda _: lambda _events, **options: options["gap"]))
    found = diagnose(spark)

    assert [each.verdicts for each in found.values()] == [{MODE.name: Verdict.UNKNOWN}] * 2


def test_conditions_that_cannot_be_found_in_one_capture_are_found_in_the_other(
    spark: SparkSession, undisturbed: dict[str, Diagnosis], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_module,
        "find_conditions",
        lambda events, present, **options: find_conditions(
            spoil(events, FOLDERS[0], "name", "STRING"), present, **options
        ),
    )

    found = diagnose(spark)

    assert found[FOLDERS[1]] == undisturbed[FOLDERS[1]]
    assert "No conditions are listed" in found[FOLDERS[0]].notes[0]
    assert found[FOLDERS[0]].verdicts == undisturbed[FOLDERS[0]].verdicts
