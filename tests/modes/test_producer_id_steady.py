"""Many ids, or a full heap, and no leak: counts that fluctuate, bursts, ids that expire, heaps of other objects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from leadsman.model import Diagnosis

pytestmark = pytest.mark.spark

START = datetime(2026, 11, 18, tzinfo=UTC)
HOUR = 3600.0
SNAPSHOT = (
    "[{at:%Y-%m-%d %H:%M:%S},000] INFO [ProducerStateManager partition={topic}-{partition}] Wrote producer snapshot at "
    "offset {offset} with {ids} producer ids in 1 ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)\n"
)
OUT_OF_MEMORY = (
    "[2026-11-18 11:00:00,000] ERROR Uncaught exception in thread 'data-plane-kafka-request-handler-3': "
    "(org.apache.kafka.common.utils.KafkaThread)\njava.lang.OutOfMemoryError: Java heap space\n"
)
HISTOGRAM = (
    " num     #instances         #bytes  class name (module)\n"
    "-------------------------------------------------------\n"
    "   1:          {arrays}  {bytes}  [B (java.base@17.0.9)\n"
    "   2:          {ids}  {id_bytes}  org.apache.kafka.storage.internals.log.ProducerStateEntry\n"
    "Total  {all}  {total}\n"
)
FULL_COLLECTION = (
    "[2026-11-18T10:59:58.000+0000][info][gc] GC(900) Pause Full (G1 Compaction Pause) 4090M->3{hundreds}00M(4096M) "
    "4100.000ms\n"
)


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def hours(step: float, until: float) -> list[float]:
    return [step * number for number in range(1, int(until / step) + 1)]


def wobbling(count: float, share: float, random: Random) -> int:
    """A count that is off by up to this share of it."""
    return round(count * random.uniform(1 - share, 1 + share))


def gauge(folder: Path, counts: Iterable[tuple[float, float]], *, heap: float = 8e9) -> None:
    """The broker's own count of ids, and the limit of its heap."""
    metric = 'kafka_server_ReplicaManager_Value{name="ProducerIdCount",instance="b1"}'
    limit = 'jvm_memory_bytes_max{area="heap",instance="b1"}'
    times = [(ids, round(at(hour).timestamp() * 1000)) for hour, ids in counts]
    samples = "".join(f"{metric} {ids} {when}\n{limit} {heap} {when}\n" for ids, when in times)
    (folder / "scrapes.prom").write_text(f"# TYPE kafka_server_ReplicaManager_Value untyped\n{samples}")


def log(folder: Path, counts: Iterable[tuple[float, str, int, int]], *, records: int = 100) -> None:
    """A broker's log: hour, topic, partition and ids of each count; `records` were written for each hour and id."""
    lines = [
        SNAPSHOT.format(
            at=at(hour), topic=topic, partition=partition, ids=ids, offset=round(50_000 + records * (hour * 1000 + ids))
        )
        for hour, topic, partition, ids in sorted(counts)
    ]
    (folder / "server.log").write_text("".join(lines))


def full_heap(folder: Path, *, ids: int) -> None:
    """A class histogram just before an OutOfMemoryError."""
    total = 3_800_000_000
    (folder / "histogram.txt").write_text(
        HISTOGRAM.format(
            arrays=30_000, bytes=total - 72 * ids, ids=ids, id_bytes=72 * ids, all=30_000 + ids, total=total
        )
    )
    (folder / "gc.log").write_text("".join(FULL_COLLECTION.format(hundreds=number) for number in range(6, 9)))
    with (folder / "server.log").open("a") as file:
        file.write(OUT_OF_MEMORY)


def rolls(random: Random, until: float, number: int) -> list[float]:
    """The hours at which the segments of a partition rolled, at random: a log has a count at each."""
    return sorted(random.uniform(0, until) for _ in range(number))


def fleet(folder: Path, seed: int) -> None:
    random = Random(seed)
    gauge(folder, [(hour, random.uniform(238_000, 242_000)) for hour in hours(0.25, 12)])
    log(
        folder,
        [
            (hour, "orders", partition, wobbling(40_000, 0.025, random))
            for partition in range(6)
            for hour in rolls(random, 12, random.randint(8, 20))
        ],
    )


def burst(folder: Path, seed: int, *, until: float = 38) -> None:
    """A job of a quarter of an hour takes 38,000 ids. They expire a day later, or the capture ends before."""
    random = Random(seed)

    def count(hour: float) -> float:
        return 900 if hour < 3.2 or hour > 27 else 38_900

    gauge(folder, [(hour, wobbling(count(hour), 0.01, random)) for hour in hours(0.2, until)])
    steady = [(hour, "audit", number, random.randint(7, 40)) for number in range(6) for hour in rolls(random, until, 3)]
    log(
        folder,
        [
            (hour, "stock", partition, wobbling(count(hour), 0.03, random))
            for partition in range(6)
            for hour in rolls(random, until, 45)
        ]
        + steady,
    )


def step_at_the_end(folder: Path) -> None:
    gauge(folder, [(hour, 12_000 if hour < 70 else 24_000) for hour in hours(0.5, 72)])


def plateau(folder: Path) -> None:
    """A service creates a producer for each record; ids expire after an hour, so their number does not grow."""
    random = Random(3)
    counts = [(hour, 1000 + 32_000 * min(hour, 1.0)) for hour in hours(0.15, 20)]
    gauge(folder, [(hour, wobbling(ids, 0.01, random)) for hour, ids in counts])
    (folder / "server.properties").write_text("broker.id=1\nlog.dirs=/data\nproducer.id.expiration.ms=3600000\n")


def leak_that_fluctuates(folder: Path) -> None:
    """500 ids an hour, and counts that are off by up to two percent."""
    random = Random(4)
    log(
        folder,
        [(hour, "orders", 0, wobbling(2000 + 500 * hour, 0.02, random)) for hour in hours(0.5, 71)],
        records=1,
    )


def few_ids(folder: Path) -> None:
    """Every partition is counted once or twice, with a dozen ids each time."""
    random = Random(5)
    partitions = [(topic, number) for topic in ("orders", "payments", "stock") for number in range(6)]
    log(folder, [(0.1 + 0.4 * n, *each, random.randint(7, 40)) for n, each in enumerate(partitions)])


def once_each(folder: Path, last: int) -> None:
    """Each partition is counted once, the later ones like the earlier ones but the last."""
    counts = [(0.5 * number, "orders", number, 300 + 7 * (number % 3)) for number in range(5)]
    log(folder, [*counts, (3.0, "orders", 5, last)])


def other_objects(folder: Path, ids: int = 400) -> None:
    log(folder, [(10.0 + number / 50, "clicks", number, ids // 6) for number in range(6)])
    full_heap(folder, ids=ids)


CASES: dict[str, tuple[Verdict, Callable[[Path], None]]] = {
    **{f"a fleet whose counts fluctuate, {seed}": (Verdict.ABSENT, partial(fleet, seed=seed)) for seed in (0, 1, 3)},
    **{f"a burst that expired, {seed}": (Verdict.ABSENT, partial(burst, seed=seed)) for seed in range(2)},
    "a step just before the end": (Verdict.UNKNOWN, step_at_the_end),
    "a burst whose ids remain": (Verdict.ABSENT, lambda folder: burst(folder, 5, until=18)),
    "ids that expire after an hour": (Verdict.ABSENT, plateau),
    "a leak whose counts fluctuate": (Verdict.PRESENT, leak_that_fluctuates),
    "a dozen ids on every partition for hours": (Verdict.ABSENT, few_ids),
    "each partition counted once, all alike": (Verdict.ABSENT, lambda folder: once_each(folder, last=305)),
    "each partition counted once, the last has more": (Verdict.UNKNOWN, lambda folder: once_each(folder, last=1500)),
    "other objects fill the heap": (Verdict.ABSENT, other_objects),
    "ids fill a good part of the heap": (Verdict.UNKNOWN, lambda folder: other_objects(folder, ids=4_000_000)),
}


@pytest.fixture(scope="module")
def diagnoses(diagnosed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Diagnosis]:
    """All cases in one Spark job: one by one each would take seconds."""
    root = tmp_path_factory.mktemp("steady")
    for name, (_, write) in CASES.items():
        (root / name).mkdir()
        write(root / name)
    return dict(zip(CASES, diagnosed([root / name for name in CASES], ["producer_id_leak"]), strict=True))


def reasons(diagnosis: Diagnosis) -> str:
    return " ".join(diagnosis.absent_reasons["producer_id_leak"])


@pytest.mark.parametrize("name", CASES)
def test_a_leak_needs_growth_or_a_heap_that_ids_fill(name: str, diagnoses: dict[str, Diagnosis]) -> None:
    expected, _ = CASES[name]

    assert diagnoses[name].verdicts["producer_id_leak"] is expected


def test_a_heap_full_of_other_objects_is_the_reason(diagnoses: dict[str, Diagnosis]) -> None:
    assert reasons(diagnoses["other objects fill the heap"]) == (
        "Other objects than producer ids fill the heap. 3.8 GB of 4.3 GB are in use, and only 105.0 kB of them by "
        "producer ids."
    )


def test_a_fleet_is_no_burst(diagnoses: dict[str, Diagnosis]) -> None:
    assert (
        reasons(diagnoses["a fleet whose counts fluctuate, 0"]) == "The number of ids did not grow in 12 h of counts."
    )


def test_a_burst_has_an_end(diagnoses: dict[str, Diagnosis]) -> None:
    reason = reasons(diagnoses["a burst whose ids remain"])

    assert reason.startswith("A burst that is over: a deployment, a batch job. The number of ids rose between 2026-")
    assert " and 2026-11-18 0" in reason
    assert reason.endswith(" UTC, and not after that.")


def test_a_number_that_rose_until_ids_expired_is_not_called_a_burst(diagnoses: dict[str, Diagnosis]) -> None:
    assert reasons(diagnoses["ids that expire after an hour"]).startswith("The number of ids rose between 2026-")


def test_the_rate_of_a_leak_is_right_although_counts_fluctuate(diagnoses: dict[str, Diagnosis]) -> None:
    (finding,) = diagnoses["a leak whose counts fluctuate"].findings

    assert finding.figures["per_hour"] == pytest.approx(500, rel=0.1)


def test_a_single_step_is_not_called_no_growth(diagnoses: dict[str, Diagnosis]) -> None:
    (finding,) = diagnoses["a step just before the end"].findings

    growing = next(link for link in finding.chain if link.link == "growing")
    assert growing.explanation.startswith("The count rose once, by 2026-11-20 2")
