"""Verdicts from connections, sizes and single samples, where the records of the producer ids are not known."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leadsman.model import Diagnosis

pytestmark = pytest.mark.spark

START = datetime(2026, 11, 18, tzinfo=UTC)
HEADING = (
    "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\n"
)
HOURS = range(72)


def millis(hour: float) -> int:
    return round((START + timedelta(hours=hour)).timestamp() * 1000)


def scrapes(folder: Path, ids: Callable[[int], float], connections: Callable[[int], float] | None) -> None:
    text = "# TYPE kafka_server_replicamanager_produceridcount gauge\n"
    for hour in HOURS:
        text += f'kafka_server_replicamanager_produceridcount{{instance="b1"}} {ids(hour):.0f} {millis(hour)}\n'
        for processor in range(3) if connections else ():
            labels = f'instance="b1",listener="SSL",networkprocessor="{processor}"'
            each = connections(hour) / 3 if connections else 0
            text += f"kafka_server_socket_server_metrics_connection_count{{{labels}}} {each:.0f} {millis(hour)}\n"
    (folder / "scrapes.prom").write_text(text)


def answer(since: float, hour: float, *, per_hour: float) -> str:
    born = [since + number / per_hour for number in range(int((hour - since) * per_hour))]
    rows = [f"{1000 + number}\t0\t-1\t0\t{millis(when)}\tNone\n" for number, when in enumerate(born)]
    return HEADING + "".join(rows) + f"7\t0\t-1\t90000\t{millis(hour)}\tNone\n"


def traced(folder: Path) -> None:
    """A script's trace: two partitions, sampled four times."""
    text = ""
    for hour in (6, 12, 18, 23):
        for partition in range(2):
            command = f"kafka-transactions.sh describe-producers --topic orders --partition {partition}"
            when = START + timedelta(hours=hour)
            text += f"+ date -u +%FT%TZ\n{when:%Y-%m-%dT%H:%M:%SZ}\n+ {command}\n{answer(0, hour, per_hour=40)}"
    (folder / "producers.log").write_text(text)


def one_look(folder: Path, *, hours: float) -> None:
    (folder / "producers.orders-0.20261120T000000Z.txt").write_text(answer(48 - hours, 48, per_hour=300))


def heap_that_fills(folder: Path) -> None:
    text = "# TYPE jvm_memory_bytes_used gauge\n"
    for hour in HOURS:
        text += f'kafka_server_replicamanager_partitioncount{{instance="b1"}} 900 {millis(hour)}\n'
        text += f'jvm_memory_bytes_max{{area="heap",instance="b1"}} 1e9 {millis(hour)}\n'
        text += f'jvm_memory_bytes_used{{area="heap",instance="b1"}} {2e8 + 1e7 * hour} {millis(hour)}\n'
    (folder / "scrapes.prom").write_text(text)


CASES: dict[str, tuple[set[Verdict], Callable[[Path], None]]] = {
    "many ids beside steady connections": (
        {Verdict.PRESENT},
        lambda folder: scrapes(folder, lambda hour: 5000 + 5000 * hour, lambda hour: 160 + hour % 3),
    ),
    "ids and connections grow together": (
        {Verdict.ABSENT},
        lambda folder: scrapes(folder, lambda hour: 9000 + 500 * hour, lambda hour: 300 + 16 * hour),
    ),
    "a large fleet that is deployed each day": (
        {Verdict.UNKNOWN, Verdict.ABSENT},
        lambda folder: scrapes(folder, lambda hour: 150_000 * (1 + (hour + 12) // 24), lambda _: 5000),
    ),
    "the same, connections not counted": (
        {Verdict.UNKNOWN, Verdict.ABSENT},
        lambda folder: scrapes(folder, lambda hour: 150_000 * (1 + (hour + 12) // 24), None),
    ),
    "more ids than a fleet makes": (
        {Verdict.PRESENT},
        lambda folder: scrapes(folder, lambda hour: 5000 + 9000 * hour, None),
    ),
    "a script's trace": ({Verdict.PRESENT}, traced),
    "one look at two hours": ({Verdict.UNKNOWN}, lambda folder: one_look(folder, hours=2)),
    "one look at a day": ({Verdict.PRESENT}, lambda folder: one_look(folder, hours=24)),
    "a heap that fills, ids not counted": ({Verdict.UNKNOWN}, heap_that_fills),
}


@pytest.fixture(scope="module")
def diagnoses(diagnosed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Diagnosis]:
    root = tmp_path_factory.mktemp("connections")
    for name, (_, write) in CASES.items():
        (root / name).mkdir()
        write(root / name)
    return dict(zip(CASES, diagnosed([root / name for name in CASES], ["producer_id_leak"]), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_depends_on_what_live_producers_can_have(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    expected, _ = CASES[name]

    assert diagnoses[name].verdicts["producer_id_leak"] in expected


def test_connections_of_all_processors_count_together(diagnoses: dict[str, Diagnosis]) -> None:
    findings = diagnoses["many ids beside steady connections"].findings
    finding = next(each for each in findings if each.mode == "producer_id_leak")

    assert finding.figures["connections"] == pytest.approx(160, abs=3)


def test_a_files_name_shows_the_topic_of_its_ids(diagnoses: dict[str, Diagnosis]) -> None:
    finding = next(each for each in diagnoses["one look at a day"].findings if each.mode == "producer_id_leak")

    assert str(finding.figures["by_topic"]).startswith("orders (")


def test_each_response_in_a_trace_belongs_to_its_own_partition(diagnoses: dict[str, Diagnosis]) -> None:
    findings = diagnoses["a script's trace"].findings
    finding = next(each for each in findings if each.mode == "producer_id_leak")

    assert finding.figures["topics"] == 1
    assert finding.figures["ids"] == 2 * (23 * 40 + 1)
