"""Producers of a partition as `kafka-transactions.sh describe-producers` prints them, and snapshots as dumped."""

from __future__ import annotations

import random as randoms
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.production.ids_cluster import DAY, EARLIEST_HOUR, file_time, milliseconds, moment
from bench.production.ids_names import LEAKY_TOPIC

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

HEADERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)
BYTES_OF_ROW = 106


@dataclass(frozen=True, slots=True, kw_only=True)
class Producer:
    """A producer's state on a partition, as its leader knows it."""

    producer_id: int
    epoch: int = 0
    coordinator_epoch: int = -1
    sequence: int
    hour: float
    transaction: str = "None"


Producers = Callable[[int, float], Iterator[Producer]]
"""The producers of a partition at an hour."""


def single_use(per_hour: float, expiration_hours: float = DAY, *, until: float = 1e9, since: float = -240) -> Producers:
    """Each id writes a record or three and never comes again."""

    def producers(partition: int, hour: float) -> Iterator[Producer]:
        first = max(hour - expiration_hours, since, EARLIEST_HOUR) - EARLIEST_HOUR
        for number in range(int(first * per_hour) + 1, int((min(hour, until) - EARLIEST_HOUR) * per_hour)):
            odd = (number * 2_654_435_761 + partition * 97) % 1000
            yield Producer(
                producer_id=4_120_000 + number * 37 + partition * 3 + odd % 29,
                sequence=odd % 3 if odd % 5 == 0 else 0,
                hour=EARLIEST_HOUR + (number + odd / 1000) / per_hour,
            )

    return producers


def fleet(number_at: Callable[[float], float], batches_per_hour: float = 400) -> Producers:
    """Live producers; each keeps its id and writes batch after batch."""

    def producers(partition: int, hour: float) -> Iterator[Producer]:
        chance = randoms.Random(f"{partition} {hour}")
        for number in range(round(number_at(hour))):
            yield Producer(
                producer_id=91_000 + number * 13,
                sequence=int((batches_per_hour * (number % 7 + 1)) * (hour + 300 - number % 40)) + partition,
                hour=hour - chance.expovariate(batches_per_hour / 4),
            )

    return producers


def transactional(number: int, restarts_per_day: float = 3) -> Producers:
    """Pools of transactional producers: ids come again with a higher epoch."""

    def producers(partition: int, hour: float) -> Iterator[Producer]:
        chance = randoms.Random(f"{partition} {hour}")
        for place in range(number):
            is_open = chance.random() < 0.1  # noqa: PLR2004 - one in ten is in a transaction
            yield Producer(
                producer_id=17_000 + place * 5,
                epoch=int((hour + 400) * restarts_per_day / 24) + place % 9,
                coordinator_epoch=41 + place % 3,
                sequence=chance.randrange(900) if is_open else -1,
                hour=hour - chance.expovariate(60),
                transaction=str(int(88_000_000 + hour * 9000) + place) if is_open else "None",
            )

    return producers


def restarted(number: int, at: float, expiration_hours: float = DAY) -> Producers:
    """A fleet that a deployment restarted: the old ids stay until they expire, and each new one is used on."""
    before, after = fleet(lambda _hour: number), fleet(lambda _hour: number)

    def producers(partition: int, hour: float) -> Iterator[Producer]:
        if hour < at + expiration_hours:
            yield from before(partition, min(hour, at))
        if hour >= at:
            for live in after(partition, hour):
                used = int((hour - at) * 400) + live.producer_id % 50
                yield Producer(producer_id=live.producer_id + 80_000, sequence=used, hour=live.hour)

    return producers


def deployments(number: int, hours: tuple[float, ...]) -> Producers:
    """A fleet deployed again and again: each set of ids is used until the next deployment and stays."""
    live = fleet(lambda _hour: number)

    def producers(partition: int, hour: float) -> Iterator[Producer]:
        for place, at in enumerate(hours):
            until = min(hour, *hours[place + 1 :], 1e9)
            for one in live(partition, until) if hour >= at else ():
                used = int((until - at) * 400) + one.producer_id % 50
                yield Producer(producer_id=one.producer_id + place * 80_000, sequence=used, hour=one.hour)

    return producers


def together(*several: Producers) -> Producers:
    """Several kinds of producers write to the same partition."""

    def producers(partition: int, hour: float) -> Iterator[Producer]:
        for one in several:
            yield from one(partition, hour)

    return producers


def write_describe_producers(
    folder: Path, random: Random, *, producers: Producers, hours: tuple[float, ...], size: int, name: str = LEAKY_TOPIC
) -> None:
    """One file for each partition and look; more bytes mean more partitions."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sum(1 for hour in hours for _ in producers(0, hour))
    for hour in hours:
        for partition in range(max(1, size // (rows * BYTES_OF_ROW + 1))):
            late = hour + (partition * 2.1 + random.uniform(1, 2)) / 3600
            path = folder / f"describe-producers.{name}-{partition}.{file_time(late)}.txt"
            with path.open("w") as file:
                file.writelines(describe_producers(producers(partition, late)))


def write_cron_log(
    path: Path, *, producers: Producers, hours: tuple[float, ...], size: int, name: str = LEAKY_TOPIC
) -> None:
    """The output of a cron job that describes partitions again and again into one file, each under its command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = sum(1 for hour in hours for _ in producers(0, hour))
    with path.open("w") as file:
        for hour in hours:
            for partition in range(max(1, size // (rows * BYTES_OF_ROW + 1))):
                when = moment(hour + partition * 2.2 / 3600).strftime("%Y-%m-%dT%H:%M:%SZ")
                command = f"describe-producers --topic {name} --partition {partition}"
                file.write(
                    f"+ date -u +%FT%TZ\n{when}\n+ kafka-transactions.sh --bootstrap-server kafka-1:9092 {command}\n"
                )
                file.writelines(describe_producers(producers(partition, hour)))


def describe_producers(rows: Iterator[Producer]) -> Iterator[str]:
    """The table: columns padded to the widest, a tab after each."""
    widths = (10, 13, 22, 12, 13, 29)
    yield "".join(f"{header.ljust(width)}\t" for header, width in zip(HEADERS, widths, strict=True)) + "\n"
    for row in rows:
        cells = (
            row.producer_id,
            row.epoch,
            row.coordinator_epoch,
            row.sequence,
            milliseconds(row.hour),
            row.transaction,
        )
        yield "".join(f"{str(cell).ljust(width)}\t" for cell, width in zip(cells, widths, strict=True)) + "\n"


def write_snapshot_dumps(
    folder: Path, *, producers: Producers, hours: tuple[float, ...], size: int, name: str = LEAKY_TOPIC
) -> None:
    """Snapshots of producer state as `kafka-dump-log.sh` prints them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sum(1 for hour in hours for _ in producers(0, hour))
    for hour in hours:
        for partition in range(max(1, size // (rows * 260 + 1))):
            offset = 20_000_000 + int(hour * 41_000) + partition * 1000
            with (folder / f"dump-log.{name}-{partition}.{file_time(hour)}.txt").open("w") as file:
                file.write(f"Dumping /var/lib/kafka/data/{name}-{partition}/{offset:020d}.snapshot\n")
                file.writelines(_dumped(row, offset) for row in producers(partition, hour))


def _dumped(row: Producer, offset: int) -> str:
    time = milliseconds(row.hour)
    return (
        f"producerId: {row.producer_id} producerEpoch: {row.epoch} coordinatorEpoch: {row.coordinator_epoch} "
        f"currentTxnFirstOffset: OptionalLong.empty lastTimestamp: {time} firstSequence: {row.sequence} "
        f"lastSequence: {row.sequence} lastOffset: {offset - row.producer_id % 40_000} "
        f"offsetDelta: 0 timestamp: {time}\n"
    )
