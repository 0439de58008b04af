"""Parts that a capture of producer ids is made of: each fills a folder with one kind of telemetry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench.production.ids_cluster import BrokerHistory, every, file_time, moment
from bench.production.ids_heap import BYTES, DominantClass, write_histograms
from bench.production.ids_logs import MODERN, BrokerLog, write_broker_logs, write_collections
from bench.production.ids_names import LEAKY_TOPIC
from bench.production.ids_producers import Producers, write_cron_log, write_describe_producers, write_snapshot_dumps
from bench.production.ids_scrapes import RULES, Scrapes, write_ranges, write_scrapes
from bench.production.ids_settings import write_configs, write_listings, write_old_configs, write_topics
from bench.production.ids_settings import write_server_properties as _write_properties

if TYPE_CHECKING:
    from collections.abc import Iterable

BYTES_OF_TOPIC = 345
Part = Callable[[Path, Random, int], None]
Brokers = tuple[BrokerHistory, ...]

HALF_HOURS = every(0.5)
QUARTERS = every(0.25)


def write(*parts: Part) -> Part:
    """All parts into one folder, each with its share of the bytes."""

    def write_all(folder: Path, random: Random, size: int) -> None:
        for part in parts:
            part(folder, random, size // len(parts))

    return write_all


def beside(*small: Part, large: Part) -> Part:
    """Small parts beside one that takes all the bytes."""

    def write_all(folder: Path, random: Random, size: int) -> None:
        large(folder, random, size)
        for part in small:
            part(folder, random, 0)

    return write_all


def below(name: str, part: Part) -> Part:
    """A part in a folder of its own."""
    return lambda folder, random, size: part(folder / name, random, size)


def scraped(
    brokers: Brokers,
    hours: tuple[float, ...] = HALF_HOURS,
    *,
    naming: str = RULES,
    by_broker: bool = True,
    counted: bool = True,
) -> Part:
    """Scrapes of jmx_exporter."""

    def part(folder: Path, random: Random, size: int) -> None:
        for broker in brokers:
            prefix = "metrics" if by_broker else broker.host.partition(".")[0]
            scrapes = Scrapes(hours=hours, naming=naming, counted=counted, folder_by_broker=by_broker, prefix=prefix)
            write_scrapes(folder, random, brokers=(broker,), scrapes=scrapes, size=size // len(brokers))

    return part


def ranged(brokers: Brokers, hours: float = 72) -> Part:
    """Answers of `query_range`."""
    return lambda folder, random, size: write_ranges(folder, random, brokers=brokers, hours=hours, size=size)


def logged(brokers: Brokers, log: BrokerLog) -> Part:
    """`server.log` by the hour."""
    return lambda folder, random, size: write_broker_logs(folder, random, brokers=brokers, log=log, size=size)


def collected(broker: BrokerHistory, hours: float = 72) -> Part:
    """The log of the garbage collector."""
    host_name = broker.host.partition(".")[0]
    return lambda folder, random, size: write_collections(
        folder / host_name, random, broker=broker, hours=hours, size=size
    )


def histograms(
    brokers: Brokers, hours: tuple[float, ...], *, version: str = MODERN, dominant: DominantClass = BYTES
) -> Part:
    """Class histograms."""
    return lambda folder, random, size: write_histograms(
        folder, random, brokers=brokers, hours=hours, size=size, version=version, dominant=dominant
    )


def described(producers: Producers, hours: tuple[float, ...], name: str = LEAKY_TOPIC) -> Part:
    """`kafka-transactions.sh describe-producers` of partitions."""
    return lambda folder, random, size: write_describe_producers(
        folder, random, producers=producers, hours=hours, size=size, name=name
    )


def described_by_cron(producers: Producers, hours: tuple[float, ...], name: str = LEAKY_TOPIC) -> Part:
    """The same, appended to one file by a job that prints the time."""
    return lambda folder, _random, size: write_cron_log(
        folder / "producers.log", producers=producers, hours=hours, size=size, name=name
    )


def dumped(producers: Producers, hours: tuple[float, ...], name: str = LEAKY_TOPIC) -> Part:
    """`kafka-dump-log.sh` of snapshots."""
    return lambda folder, _random, size: write_snapshot_dumps(
        folder, producers=producers, hours=hours, size=size, name=name
    )


def configured(brokers: Brokers, set_to: int = 0) -> Part:
    """`kafka-configs --describe` since 3.4."""
    return lambda folder, _random, _size: write_configs(folder, brokers=brokers, set_to=set_to)


def configured_before(brokers: Brokers) -> Part:
    """`kafka-configs --describe` before 3.4."""
    return lambda folder, _random, _size: write_old_configs(folder, brokers=brokers)


def properties(broker: BrokerHistory, *lines: str) -> Part:
    """`server.properties`."""
    host_name = broker.host.partition(".")[0]
    return lambda folder, _random, _size: _write_properties(folder / host_name, broker=broker, lines=lines)


def topics(number: int = 40) -> Part:
    """`kafka-topics --describe`; more bytes mean more topics."""
    return lambda folder, _random, size: write_topics(folder, topics=max(number, size // BYTES_OF_TOPIC))


def listed(broker: BrokerHistory, hours: tuple[float, ...]) -> Part:
    """`ls -l` of snapshots."""
    return lambda folder, _random, _size: write_listings(folder, broker=broker, hours=hours)


def died(brokers: Iterable[BrokerHistory], hour: float) -> Part:
    """`kafkaServer.out` of brokers whose JVM ends itself when its heap is full."""

    def part(folder: Path, _random: Random, _size: int) -> None:
        for broker in brokers:
            broker_folder = folder / broker.host.partition(".")[0]
            broker_folder.mkdir(parents=True, exist_ok=True)
            stamp = moment(hour).strftime("%Y-%m-%d %H:%M:%S,512")
            text = f"[{stamp}] INFO [BrokerServer id={broker.number}] started (kafka.server.BrokerServer)\n"
            end = "Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
            (broker_folder / f"kafkaServer.out.{file_time(hour)}").write_text(text + end)

    return part
