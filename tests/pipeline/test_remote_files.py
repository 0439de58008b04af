"""A capture is read alike from any file system that Spark reads."""

from pathlib import Path

import pytest

from leadsman.catalogue import Mode
from leadsman.errors import CaptureError

BROKEN = Mode("idle_disconnect").folder / "recorded" / "broken-java-2.7.2"


@pytest.mark.spark
def test_a_url_finds_what_a_path_finds(diagnosed):
    here, elsewhere = diagnosed([BROKEN, BROKEN.as_uri()])

    assert elsewhere.verdicts == here.verdicts
    assert elsewhere.findings[0].figures == here.findings[0].figures
    assert (elsewhere.files, elsewhere.bytes, elsewhere.lines) == (here.files, here.bytes, here.lines)
    assert elsewhere.findings[0].chain[0].evidence[0].file == here.findings[0].chain[0].evidence[0].file


@pytest.mark.spark
def test_no_character_of_a_url_is_a_wildcard(diagnosed, tmp_path: Path):
    folder = tmp_path / "[$LATEST]8f3c" / "day {1}"
    folder.mkdir(parents=True)
    (folder / "worker*.log").write_text("2026-02-16 12:00:00,000 INFO orders: one\n")

    (diagnosis,) = diagnosed([f"file://{tmp_path}/[$LATEST]8f3c"])

    assert diagnosis.lines == 1


@pytest.mark.spark
def test_a_url_with_nothing_behind_it_is_said(diagnosed, tmp_path: Path):
    with pytest.raises(CaptureError, match="No capture at"):
        diagnosed([(tmp_path / "nothing").as_uri()])
