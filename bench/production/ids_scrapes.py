"""Prometheus's view of brokers: scrapes of jmx_exporter, one file each, and answers of `query_range`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from bench.production.ids_cluster import BrokerHistory, count, file_time, heap_used, moment, seen
from bench.production.ids_names import topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from random import Random

RULES, NO_RULES, CAMEL = "rules", "no rules", "camel"
"""How jmx_exporter names a gauge: by the example's rules in lower case, without rules, by rules that keep the case."""

BYTES_OF_TOPIC, BYTES_OF_BROKER = 260, 3100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrapes:
    """When each broker is scraped, and how its exporter is set up. `counted`: since 3.5 brokers count producer ids."""

    hours: tuple[float, ...]
    naming: str = RULES
    counted: bool = True
    folder_by_broker: bool = True
    prefix: str = "metrics"


def write_scrapes(
    folder: Path, random: Random, *, brokers: tuple[BrokerHistory, ...], scrapes: Scrapes, size: int
) -> None:
    """One file for each broker and time; more bytes mean more topics."""
    hours = _thinned(scrapes.hours, size // len(brokers))
    topics = max(1, (size // (len(brokers) * len(hours)) - BYTES_OF_BROKER) // BYTES_OF_TOPIC)
    for broker in brokers:
        broker_folder = folder / broker.host.partition(".")[0] if scrapes.folder_by_broker else folder
        broker_folder.mkdir(parents=True, exist_ok=True)
        for hour in hours:
            late = hour + random.uniform(0.5, 9) / 3600
            if seen(broker, hour):
                with (broker_folder / f"{scrapes.prefix}.{file_time(late)}.prom").open("w") as file:
                    file.writelines(_scrape(broker, late, random, scrapes=scrapes, topics=topics))


def _thinned(hours: tuple[float, ...], size: int) -> tuple[float, ...]:
    """Fewer scrapes where few bytes are asked for: a scrape has no less than a broker's own metrics."""
    return hours[:: max(1, round(len(hours) * BYTES_OF_BROKER / size))] if size else hours


def _scrape(broker: BrokerHistory, hour: float, random: Random, *, scrapes: Scrapes, topics: int) -> Iterator[str]:
    yield from _jvm(broker, hour, random)
    if scrapes.naming == NO_RULES:
        yield from _metric("kafka_server_ReplicaManager_Value", "Attribute exposed for management", "untyped")
    for name, value in _replica_manager(broker, hour, counted=scrapes.counted):
        yield from _gauge(name, value, naming=scrapes.naming)
    yield from _connections(broker, hour)
    yield from _topics(broker, hour, random, topics=topics)


def _jvm(broker: BrokerHistory, hour: float, random: Random) -> Iterator[str]:
    begun = max((at for at in broker.restarts if at <= hour), default=-900.0)
    used = heap_used(broker, hour, random)
    yield from _metric("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "gauge")
    yield f"process_start_time_seconds {moment(begun).timestamp():.3f}\n"
    yield from _metric("jvm_memory_bytes_used", "Used bytes of a given JVM memory area.", "gauge")
    yield f'jvm_memory_bytes_used{{area="heap",}} {java_double(used)}\n'
    yield f'jvm_memory_bytes_used{{area="nonheap",}} {java_double(1.21e8 + random.randrange(400_000))}\n'
    yield from _metric("jvm_memory_bytes_max", "Max (bytes) of a given JVM memory area.", "gauge")
    yield f'jvm_memory_bytes_max{{area="heap",}} {java_double(broker.heap_bytes)}\n'
    yield 'jvm_memory_bytes_max{area="nonheap",} -1.0\n'
    yield from _metric("jvm_gc_collection_seconds", "Time spent in a given JVM garbage collector.", "summary")
    yield f'jvm_gc_collection_seconds_count{{gc="G1 Young Generation",}} {int((hour - begun) * 190)}.0\n'
    yield f'jvm_gc_collection_seconds_sum{{gc="G1 Young Generation",}} {(hour - begun) * 190 * 0.011:.3f}\n'


def _replica_manager(broker: BrokerHistory, hour: float, *, counted: bool) -> Iterator[tuple[str, float]]:
    yield "PartitionCount", 1184.0
    yield "LeaderCount", 395.0
    yield "UnderReplicatedPartitions", 0.0
    yield "OfflineReplicaCount", 0.0
    if counted:
        yield "ProducerIdCount", float(count(broker, hour))


def _gauge(name: str, value: float, *, naming: str) -> Iterator[str]:
    if naming == NO_RULES:
        yield f'kafka_server_ReplicaManager_Value{{name="{name}",}} {java_double(value)}\n'
        return
    help_text = f"Attribute exposed for management kafka.server:name={name},type=ReplicaManager,attribute=Value"
    metric = f"kafka_server_ReplicaManager_{name}"
    metric = metric if naming == CAMEL else metric.lower()
    yield from _metric(metric, help_text, "gauge")
    yield f"{metric} {java_double(value)}\n"


def _connections(broker: BrokerHistory, hour: float) -> Iterator[str]:
    metric = "kafka_server_socket_server_metrics_connection_count"
    help_text = "The current number of active connections. kafka.server:name=null,type=socket-server-metrics"
    yield from _metric(metric, help_text, "untyped")
    for processor in range(3):
        yield (
            f'{metric}{{listener="SASL_SSL",networkprocessor="{processor}",}} '
            f"{java_double(round(broker.connections(hour) / 3 + processor))}\n"
        )


def _topics(broker: BrokerHistory, hour: float, random: Random, *, topics: int) -> Iterator[str]:
    for name in ("messagesin", "bytesin", "bytesout"):
        metric = f"kafka_server_brokertopicmetrics_{name}_total"
        yield from _metric(metric, f"Attribute exposed for {name}", "counter")
        for number in range(topics):
            value = (hour + 1000) * 3600 * (number % 17 + 1) * broker.number + random.randrange(1000)
            yield f'{metric}{{topic="{topic(number)}",}} {java_double(round(value))}\n'


def java_double(value: float) -> str:
    """A number as Java prints a double: from ten million on with an exponent."""
    if value < 10**7:
        return repr(float(value))
    _, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{digits[0]}.{rest}E{int(exponent) + len(digits) - 1}"


def _metric(name: str, help_text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {help_text}\n# TYPE {name} {kind}\n"


def write_ranges(folder: Path, random: Random, *, brokers: tuple[BrokerHistory, ...], hours: float, size: int) -> None:
    """Answers of `query_range` for ids, heap and connections; more bytes mean a smaller step."""
    step = max(15, int(hours * 3600 * 3 * len(brokers) * 26 / size))
    folder.mkdir(parents=True, exist_ok=True)
    looks = range(0, int(hours * 3600), step)
    for name in ("produceridcount", "heap", "connections"):
        with (folder / f"query_range_{name}.json").open("w") as file:
            file.write('{"status":"success","data":{"resultType":"matrix","result":[')
            for place, broker in enumerate(brokers):
                file.write("," if place else "")
                file.writelines(_result(name, broker, looks, random=random))
            file.write("]}}\n")


def _result(name: str, broker: BrokerHistory, looks: Iterable[int], *, random: Random) -> Iterator[str]:
    yield f'{{"metric":{json.dumps(_labels(name, broker), separators=(",", ":"))},"values":['
    comma = ""
    for second in looks:
        hour = second / 3600
        if seen(broker, hour):
            yield f'{comma}[{int(moment(hour).timestamp())},"{_value(name, broker, hour, random=random)}"]'
            comma = ","
    yield "]}"


def _labels(name: str, broker: BrokerHistory) -> dict[str, str]:
    where = {"instance": f"{broker.host}:7071", "job": "kafka"}
    if name == "produceridcount":
        return {"__name__": "kafka_server_replicamanager_produceridcount", **where}
    if name == "heap":
        return {"__name__": "jvm_memory_bytes_used", "area": "heap", **where}
    return where  # the sum over listeners and processors has no name


def _value(name: str, broker: BrokerHistory, hour: float, *, random: Random) -> int:
    if name == "produceridcount":
        return count(broker, hour)
    return heap_used(broker, hour, random) if name == "heap" else round(broker.connections(hour))
