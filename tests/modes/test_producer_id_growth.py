"""The verdicts of an expert on three days of counts, from any source and at any times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.model import State, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from leadsman.model import Diagnosis, Finding

pytestmark = pytest.mark.spark

START = datetime(2026, 11, 18, tzinfo=UTC)
HOUR = 3600.0
DAY = 24 * HOUR
SNAPSHOT = (
    "[{at:%Y-%m-%d %H:%M:%S},000] INFO [ProducerStateManager partition=orders-0] Wrote producer snapshot at offset "
    "{offset} with {ids} producer ids in 1 ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)\n"
)
HEADING = (
    "ProducerId\tProducerEpoch\tLatestCoordinatorEpoch\tLastSequence\tLastTimestamp\tCurrentTransactionStartOffset\n"
)
DESCRIBE = "kafka-transactions --bootstrap-server b:9092 describe-producers --topic orders --partition 0"
HISTOGRAM = "org.apache.kafka.storage.internals.log.ProducerStateEntry"
OUT_OF_MEMORY = (
    "[2026-11-18 09:00:00,000] INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)\n"
    "[2026-11-18 11:00:00,000] ERROR [KafkaApi-1] Unexpected error handling request (kafka.server.KafkaApis)\n"
    "java.lang.OutOfMemoryError: Java heap space\n"
)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def every(seconds: float, since: float, until: float) -> list[float]:
    return [since + seconds * number for number in range(int((until - since) / seconds))]


def log(folder: Path, counts: Iterable[tuple[float, int]], *, records: int = 1) -> None:
    """A broker's log: the time of each count in seconds; `records` were written for each id."""
    lines = (SNAPSHOT.format(at=at(when), ids=ids, offset=ids * records) for when, ids in counts)
    (folder / "server.log").write_text("".join(lines))


def describe(folder: Path, single: Iterable[float], looks: Iterable[float], *, expiry: float, fleet: int = 40) -> None:
    """Samples of ids that sent one record each at these times, beside a fleet that sends every minute."""
    born = list(single)
    text = ""
    for look in looks:
        rows = [(1000 + number, 0, when) for number, when in enumerate(born) if look - expiry < when <= look]
        rows += [(number, int(look / 60) + 4711, look - number) for number in range(fleet)]
        table = "".join(
            f"{each}\t0\t-1\t{last}\t{at(when).timestamp() * 1000:.0f}\tNone\n" for each, last, when in rows
        )
        head = f"### leadsman {at(look):%Y-%m-%dT%H:%M:%S}.000Z cluster kafka/producers.txt $ {DESCRIBE}\n"
        text += head + HEADING + table + "### leadsman exit 0\n"
    (folder / "producers.txt").write_text(text)


def histograms(folder: Path, counts: Iterable[tuple[float, int]]) -> None:
    text = ""
    for when, ids in counts:
        text += (
            f"### leadsman {at(when):%Y-%m-%dT%H:%M:%S}.000Z broker-1 histogram.txt $ jcmd 7 GC.class_histogram\n7:\n"
        )
        text += " num     #instances         #bytes  class name (module)\n"
        text += f"   1:  {ids}  {48 * ids}  {HISTOGRAM}\nTotal  {ids}  {263 * ids + 200_000_000}\n### leadsman exit 0\n"
    (folder / "histogram.txt").write_text(text)


def scrapes(folder: Path, counts: Iterable[tuple[float, int]], *, heap: float = 6e9) -> None:
    metric = 'kafka_server_ReplicaManager_Value{name="ProducerIdCount",instance="b1"}'
    limit = 'jvm_memory_bytes_max{area="heap",instance="b1"}'
    times = [(ids, round(at(when).timestamp() * 1000)) for when, ids in counts]
    samples = "".join(f"{metric} {ids} {when}\n{limit} {heap} {when}\n" for ids, when in times)
    (folder / "scrapes.prom").write_text(f"# TYPE kafka_server_ReplicaManager_Value untyped\n{samples}")


def office(seconds: float) -> list[float]:
    return [when for day in range(3) for when in every(seconds, day * DAY + 9 * HOUR, day * DAY + 18 * HOUR)]


def nightly(seconds: float) -> list[float]:
    return [when for day in range(3) for when in every(seconds, day * DAY + 2 * HOUR, day * DAY + 3 * HOUR)]


def out_of_memory(folder: Path, *, ids: int = 0) -> None:
    (folder / "server.log").write_text(OUT_OF_MEMORY)
    if ids:
        histograms(folder, [((11 + hour) * HOUR, ids) for hour in range(4)])


def fleet_then_growth(folder: Path) -> None:
    describe(folder, [], [6 * HOUR, 7 * HOUR, 8 * HOUR], expiry=7 * DAY)
    log(folder, [(hour * HOUR, 40 + max(0, 500 * (hour - 9))) for hour in range(6, 24)], records=100)


def one_of_many_partitions(folder: Path, *, ids_of_the_broker: int) -> None:
    """Samples of one partition that gets an id every four minutes, and of a broker with a thousand partitions."""
    describe(folder, every(240, -DAY, 3 * DAY), FEW_LOOKS, expiry=DAY)
    scrapes(folder, [(when, ids_of_the_broker) for when in HOURS])
    partitions = "".join(
        f'kafka_server_replicamanager_partitioncount{{instance="b1"}} 1000 {at(when).timestamp() * 1000:.0f}\n'
        for when in HOURS
    )
    with (folder / "scrapes.prom").open("a") as file:
        file.write(partitions)


def with_a_heap(folder: Path) -> None:
    log(folder, [(hour * HOUR, 500 * hour) for hour in range(1, 72)])
    scrapes(folder, [(hour * HOUR, 500 * hour) for hour in range(1, 72)], heap=1e9)


def killed_and_restarted(folder: Path) -> None:
    counts = [(hour * HOUR, 50_000 * hour if hour <= 10 else 0) for hour in range(1, 24)]
    log(folder, counts)
    histograms(folder, [(10 * HOUR, 2_000_000), (12 * HOUR, 0)])
    with (folder / "server.log").open("a") as file:
        file.write(OUT_OF_MEMORY)


def in_folders(folder: Path, leak_at: dict[str, bool]) -> None:
    """Samples of the same partition from several folders, some of them of a cluster with a leak."""
    for name, leaks in leak_at.items():
        (folder / name).mkdir()
        ids = every(60, 0, 3 * DAY) if leaks else []
        describe(folder / name, ids, [look + len(name) for look in LOOKS], expiry=7 * DAY)


HOURS = every(HOUR, HOUR, 72 * HOUR)
LOOKS = every(6 * HOUR, 6 * HOUR, 73 * HOUR)
FEW_LOOKS = every(12 * HOUR, 6 * HOUR, 73 * HOUR)
RESTARTS = [5 * HOUR, 20 * HOUR, 40 * HOUR, 66 * HOUR]
UNEVEN = [hour * HOUR for hour in (1, 1.1, 3, 19, 20, 21, 44, 45, 71)]

CASES: dict[str, tuple[Verdict, Callable[[Path], None]]] = {
    "growth between looks at uneven times": (
        Verdict.PRESENT,
        lambda folder: log(folder, [(when, round(when * 500 / HOUR)) for when in UNEVEN]),
    ),
    "growth, and an early look": (
        Verdict.PRESENT,
        lambda folder: log(folder, [(-30 * DAY, 0), *((h * HOUR, 50_000 + 1000 * h) for h in range(1, 6))]),
    ),
    "office hours, ids kept": (Verdict.PRESENT, lambda folder: describe(folder, office(6), LOOKS, expiry=7 * DAY)),
    "office hours, ids freed": (Verdict.PRESENT, lambda folder: describe(folder, office(6), LOOKS, expiry=DAY)),
    "a nightly job, ids kept": (
        Verdict.PRESENT,
        lambda folder: describe(folder, nightly(1.5), FEW_LOOKS, expiry=7 * DAY),
    ),
    "a nightly job, ids freed": (Verdict.PRESENT, lambda folder: describe(folder, nightly(1.5), FEW_LOOKS, expiry=DAY)),
    "held level by expiry": (
        Verdict.PRESENT,
        lambda folder: describe(folder, every(9, -DAY, 3 * DAY), FEW_LOOKS, expiry=DAY),
    ),
    "held level by expiry, on each of many partitions": (
        Verdict.PRESENT,
        lambda folder: one_of_many_partitions(folder, ids_of_the_broker=400_000),
    ),
    "a slow job on one of many partitions": (
        Verdict.ABSENT,
        lambda folder: one_of_many_partitions(folder, ids_of_the_broker=4_000),
    ),
    "mended, ids remain": (
        Verdict.UNKNOWN,
        lambda folder: describe(folder, every(9, 0, 2 * DAY), LOOKS, expiry=7 * DAY),
    ),
    "mended, ids freed": (
        Verdict.ABSENT,
        lambda folder: describe(folder, every(9, 0, 40 * HOUR), LOOKS, expiry=DAY),
    ),
    "a burst of minutes": (
        Verdict.ABSENT,
        lambda folder: describe(folder, every(0.3, 30 * HOUR, 30.2 * HOUR), LOOKS, expiry=7 * DAY),
    ),
    "a fleet, its broker restarted": (
        Verdict.ABSENT,
        lambda folder: scrapes(folder, [(when, 0 if when in RESTARTS else 2000) for when in HOURS]),
    ),
    "growth of nobody knows what": (
        Verdict.UNKNOWN,
        lambda folder: scrapes(folder, [(when, round(2000 + 500 * when / HOUR)) for when in HOURS]),
    ),
    "much traffic beside new ids": (
        Verdict.UNKNOWN,
        lambda folder: log(folder, [(when, round(500 * when / HOUR)) for when in HOURS], records=100),
    ),
    "a fleet, and growth after it was looked at": (Verdict.UNKNOWN, fleet_then_growth),
    "out of memory with a heap of ids": (Verdict.UNKNOWN, lambda folder: out_of_memory(folder, ids=2_000_000)),
    "out of memory by a leak, mended since": (Verdict.PRESENT, killed_and_restarted),
    "out of memory, ids not counted": (Verdict.UNKNOWN, out_of_memory),
    "a heap with room": (Verdict.PRESENT, with_a_heap),
    "a leak, and a test cluster with the same names": (
        Verdict.PRESENT,
        lambda folder: in_folders(folder, {"production": True, "test": False}),
    ),
    "a leak, asked of two replicas": (
        Verdict.PRESENT,
        lambda folder: in_folders(folder, {"one": True, "another": True}),
    ),
}


@pytest.fixture(scope="module")
def diagnoses(diagnosed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Diagnosis]:
    """All cases in one Spark job: one by one each would take seconds."""
    root = tmp_path_factory.mktemp("growth")
    for name, (_, write) in CASES.items():
        (root / name).mkdir()
        write(root / name)
    return dict(zip(CASES, diagnosed([root / name for name in CASES], ["producer_id_leak"]), strict=True))


@pytest.fixture
def finding_of(diagnoses: dict[str, Diagnosis]) -> Callable[[str], Finding]:
    def find(name: str) -> Finding:
        return next(each for each in diagnoses[name].findings if each.mode == "producer_id_leak")

    return find


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_an_expert(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    expected, _ = CASES[name]

    assert diagnoses[name].verdicts["producer_id_leak"] is expected


def test_the_rate_does_not_depend_on_the_times_of_the_samples(finding_of) -> None:
    assert finding_of("growth between looks at uneven times").figures["per_hour"] == pytest.approx(500, rel=0.1)


def test_two_folders_are_two_partitions_unless_they_hold_replicas(finding_of) -> None:
    assert finding_of("a leak, and a test cluster with the same names").subjects["affected"] == [
        "topic orders in production"
    ]
    assert finding_of("a leak, asked of two replicas").subjects["affected"] == ["topic orders"]


def test_a_leak_that_expiry_keeps_level_fills_no_heap(finding_of) -> None:
    figures = finding_of("held level by expiry").figures

    assert "level_ids" in figures
    assert "until_full_low" not in figures


def test_ids_and_bytes_are_those_of_one_broker(finding_of) -> None:
    figures = finding_of("held level by expiry, on each of many partitions").figures

    assert (figures["fullest"], figures["broker_ids"], figures["level_leak_ids"]) == ("b1", 400_000, 400_000)
    assert figures["id_heap_bytes"] == pytest.approx(400_000 * 262.6)


def test_a_daily_leak_has_a_rate_per_day(finding_of) -> None:
    assert finding_of("office hours, ids kept").figures["per_day"] == pytest.approx(5400, rel=0.05)


def test_a_leak_that_was_fixed_shows_when(finding_of) -> None:
    assert str(finding_of("mended, ids remain").figures["stopped_at"]).startswith("2026-11-20T0")


def test_partitions_that_were_not_sampled_rule_nothing_out(finding_of) -> None:
    finding = finding_of("growth of nobody knows what")

    assert {link.link: link.state for link in finding.chain}["growing"] is State.OBSERVED
    assert all(
        each.ruled_out_by is None for each in finding.alternatives if each.cause.startswith(("A large", "Trans"))
    )


def test_an_out_of_memory_broker_with_many_ids_comes_before_unknown_growth(diagnoses: dict[str, Diagnosis]) -> None:
    first = diagnoses["out of memory with a heap of ids"].findings[0]

    assert first.mode == "producer_id_leak"
    assert first.figures["suspected_ids"] == 2_000_000


def test_a_leak_whose_ids_expire_before_the_heap_is_full_shows_the_assumed_expiry(finding_of) -> None:
    finding = finding_of("a heap with room")

    assert "time_to_full" not in finding.figures
    assert finding.figures["assumed"] == 7 * DAY, "a day's ids are fewer than are held"
    assert finding.figures["assumed_plateau"] < 0.1 * 1e9
    assert {link.link: link.state for link in finding.chain}["heap"] is State.CONTRADICTED


def test_evidence_is_a_row_of_the_table_and_not_its_heading(finding_of) -> None:
    quoted = [line.text for link in finding_of("office hours, ids kept").chain for line in link.evidence]

    assert quoted
    assert not any(text.startswith("ProducerId") for text in quoted)
