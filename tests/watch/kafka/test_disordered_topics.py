"""Records that come late, out of order or twice change no verdict, and nobody is affected who was not.

Shippers deliver at least once: after an error they send the last records again, and several of their workers overtake
each other. The lines of a recording come so, several writers at once, while the topic is read.
"""

from __future__ import annotations

import random
import shutil
from datetime import UTC
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.catalogue import every_mode
from leadsman.model import Diagnosis, Verdict
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.request import DiagnosisInput, DiagnosisRequest, find_input, read_small_input
from leadsman.pipeline.scope.cluster_files import scopes_of_captures
from leadsman.pipeline.scope.streams import CaptureFiles

from .test_topics import CAPTURES, as_filebeat, log_lines, raw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from .conftest import MakeWatch, Produce, TopicWatch

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

Record = dict[str, Any]

MAX_OVERTAKEN = 30
"""Records that a record is late by, where they are out of order."""

MAX_REPEATED, MAX_REPEATED_LATER = 200, 300
"""Records that are sent again at once, and after how many others."""

LOOKS = 4
ALL_MODES = DiagnosisRequest(every_mode())


def side_by_side(capture: Path, records: Sequence[Record]) -> list[Record]:
    """The records of all writers as if these wrote at the same time."""
    writers = [name for name, _, _ in log_lines(capture)]
    placed: list[tuple[float, int, Record]] = []
    for number, (_, members) in enumerate(groupby(zip(writers, records, strict=True), key=lambda each: each[0])):
        own = [record for _, record in members]
        placed += [(place / len(own), number, record) for place, record in enumerate(own)]
    return [record for *_, record in sorted(placed, key=lambda each: each[:2])]


def disordered(records: Sequence[Record], chance: random.Random) -> list[Record]:
    """The records, some late, some twice, by the choices of a seed."""
    late = chance.choice((0, 0, MAX_OVERTAKEN))
    placed = [(place + chance.uniform(0, late), record) for place, record in enumerate(records)]
    for _ in range(chance.choice((1, 3, 10))):
        first = chance.randrange(len(records))
        later = late + chance.randint(1, MAX_REPEATED_LATER)
        last = min(len(records), first + chance.randint(1, MAX_REPEATED))
        placed += [(place + later, records[place]) for place in range(first, last)]
    return [record for _, record in sorted(placed, key=lambda each: each[0])]


def parts(records: Sequence[Record], chance: random.Random) -> Iterator[Sequence[Record]]:
    """The records in a few parts; the topic is read after each."""
    ends = sorted(chance.randrange(len(records)) for _ in range(LOOKS - 1))
    for begin, end in zip([0, *ends], [*ends, len(records)], strict=True):
        yield records[begin:end]


def diagnosed(spark: SparkSession, watch: TopicWatch) -> list[Diagnosis]:
    """Diagnose what a watch of topics has read."""
    events = watch.events.table()
    captures = {str(path): CaptureFiles((), ()) for path in events.column("capture").unique().to_pylist()}
    scopes = scopes_of_captures(captures, watch.events.hints())
    return diagnose_in_session(spark, DiagnosisInput(captures, UTC, events=events, scopes=scopes), ALL_MODES)


def verdicts(diagnoses: list[Diagnosis]) -> dict[str | None, dict[str, Verdict]]:
    return {each.cluster: dict(each.verdicts) for each in diagnoses}


def affected(diagnoses: list[Diagnosis], prefix: str = "") -> dict[tuple[str | None, str], set[str]]:
    """Who is affected, by cluster and mode, where a mode is PRESENT."""
    return {
        (each.cluster, finding.mode): {name.removeprefix(prefix) for name in names(finding.subjects["affected"])}
        for each in diagnoses
        for finding in each.findings
        if finding.verdict is Verdict.PRESENT
    }


def names(listed: object) -> list[str]:
    assert isinstance(listed, list)
    return [str(each) for each in listed]


@pytest.fixture
def check(
    topic: str, tmp_path: Path, *, watch_topics: MakeWatch, produce: Produce, embedded: SparkSession
) -> Callable[[str], None]:
    """Ship a recording by the choices of a seed, and compare what the topic and the files show."""

    def run(seed: str) -> None:
        chance, watch, folder = random.Random(seed), watch_topics(topic), tmp_path / "files"
        capture = chance.choice(CAPTURES)
        shipped = chance.choice((raw, as_filebeat))(capture)
        for part in parts(disordered(side_by_side(capture, shipped), chance), chance):
            produce(topic, part)
            watch.to_end()
        for name in {name for name, _, _ in log_lines(capture)}:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(capture / name, folder / name)
        inputs = read_small_input(find_input([str(folder)]))

        found, expected = diagnosed(embedded, watch), diagnose_in_session(embedded, inputs, ALL_MODES)

        assert verdicts(found) == verdicts(expected), capture
        assert affected(found, f"{topic}/") == affected(expected), capture

    return run


@pytest.mark.parametrize("seed", range(3))
def test_records_in_disorder_and_twice_change_no_verdict(seed: int, check: Callable[[str], None]) -> None:
    check(f"disorder {seed}")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_records_in_disorder_and_twice_change_no_verdict_of_100_topics(seed: int, check: Callable[[str], None]) -> None:
    check(f"long disorder {seed}")
