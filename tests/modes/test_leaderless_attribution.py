"""Lines of brokers about the lost broker belong to the finding; lines about another broker or another time do not."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from leadsman.catalogue import MODES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.model import Diagnosis

pytestmark = pytest.mark.spark

KILLED = MODES / "leaderless_partition" / "recorded" / "broken-java-4.3.1"
LOST = re.compile(r"Connection to 127\.0\.0\.1:29996 \(id: 3 rack")
EXCEPTION_START = "java.io.IOException: Connection to 127.0.0.1:"
HEADER = "[{at}] WARN [ReplicaFetcher replicaId=1, leaderId=3, fetcherId=0] Error in response for fetch request\n"
EXCEPTION = "java.io.IOException: Connection to 127.0.0.1:29996 (id: 3 rack: null isFenced: false) failed.\n"


def about_another_broker(log: str) -> str:
    return LOST.sub("Connection to 127.0.0.1:29997 (id: 2 rack", log)


def before_the_outage(log: str) -> str:
    return HEADER.format(at="2026-11-21 14:50:00,000") + EXCEPTION * 3 + log


CASES: dict[str, Callable[[str], str]] = {
    "as recorded": str,
    "about another broker": about_another_broker,
    "before the outage": before_the_outage,
}


@pytest.fixture(scope="module")
def unexplained(
    diagnosed: Callable[..., list[Diagnosis]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """The examples of failed connections that no finding explains, by case."""
    folders = {name: tmp_path_factory.mktemp("attribution") for name in CASES}
    for name, folder in folders.items():
        _write(folder, CASES[name])
    diagnoses = diagnosed(list(folders.values()), ["leaderless_partition"])
    return {
        name: [each.example.text for each in one.unexplained if EXCEPTION_START in each.example.text]
        for name, one in zip(CASES, diagnoses, strict=True)
    }


def _write(folder: Path, change: Callable[[str], str]) -> None:
    shutil.copytree(KILLED, folder, dirs_exist_ok=True)
    log = folder / "brokers" / "1" / "server.log"
    log.write_text(change(log.read_text()))


def test_the_recording_has_such_lines():
    assert len(LOST.findall((KILLED / "brokers" / "1" / "server.log").read_text())) > 1


def test_a_line_that_names_the_lost_broker_during_the_outage_is_explained(unexplained):
    assert unexplained["as recorded"] == []


@pytest.mark.parametrize(
    ("case", "named"), [("about another broker", "id: 2 rack"), ("before the outage", "id: 3 rack")]
)
def test_a_line_about_another_broker_or_time_stays_unexplained(case, named, unexplained):
    assert [text for text in unexplained[case] if named in text]
