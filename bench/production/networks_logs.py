"""Writes logs of Kafka clients (Java, librdkafka) and brokers, with the failures of connections that faults cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from heapq import merge
from typing import TYPE_CHECKING

from bench.production.networks_faults import Failure
from bench.production.networks_fleet import JAVA
from bench.production.networks_tables import address_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from random import Random

    from bench.production.networks_faults import NetworkFaults
    from bench.production.networks_fleet import HostFleet, Node

Line = tuple["datetime", str]
NETWORK_CLIENT = "(org.apache.kafka.clients.NetworkClient)"
EXPIRING_SHARE = 0.3  # of failed attempts, about: a batch waits two minutes
SERVICE_TOPICS = ("ledger.writer.v2", "payment.router.v2", "card.events.v2", "fraud.scorer.v2", "__consumer_offsets")
LINE_BYTES = 150  # of a line of normal life, about
SLOW = (Failure.SYN_ACK_LOST, Failure.SYN_LOST, Failure.BACKLOG)


def log4j(moment: datetime) -> str:
    return f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}]"


def _python(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"


def _topic(host: Node) -> str:
    return f"{host.service.replace('-', '.')}.v2"


def client_log(fleet: HostFleet, host: Node, *, faults: NetworkFaults, random: Random, family: int) -> Iterator[str]:
    """A host's log in order of time, about as long as the fleet's share of bytes allows."""
    count = max(8, fleet.log_bytes // len(fleet.hosts) // LINE_BYTES)
    offline = all((host.name, broker.name) in faults.failing for broker in fleet.brokers)
    streams = [_normal_life(fleet, host, count=count, offline=offline, random=random)]
    for broker in fleet.brokers:
        failure = faults.failing.get((host.name, broker.name))
        if failure:
            shown = replace(broker, number=-broker.number) if offline else broker  # only bootstrap nodes are known
            streams.append(_failures(fleet, (host, shown), failure, faults=faults, random=random, family=family))
    for _, line in merge(*streams):
        yield line + "\n"


def _normal_life(fleet: HostFleet, host: Node, *, count: int, offline: bool, random: Random) -> Iterator[Line]:
    begin = max(fleet.log_start, host.launched + timedelta(seconds=20))
    step = (fleet.log_end - begin) / count
    if step <= timedelta(0):
        return
    for n in range(count):
        moment = begin + step * n + random.random() * step
        texts = (_java_life if host.client == JAVA else _python_life)(host, random)
        at = log4j(moment) if host.client == JAVA else _python(moment)
        yield moment, f"{at} {random.choice(texts[3:] if offline else texts)}"


def _java_life(host: Node, random: Random) -> tuple[str, ...]:
    """The first three are of a client that has connections."""
    package = f"com.acme.{host.service.split('-')[0]}"
    batch = f"of batch {random.randrange(10**7)} in {random.randint(4, 240)} ms ({package}.Writer)"
    wrote = f"INFO Wrote {random.randint(3, 400)} records {batch}"
    load = f"queue={random.randrange(90)} heapUsedMb={random.randint(200, 900)} gcMs={random.randrange(40)}"
    replica = f"replica pg-{random.randint(1, 4)}: {random.randint(900, 2900)} ms"
    return (
        wrote,
        wrote,
        f"INFO [Producer clientId={host.service}-{host.number}] Node -1 disconnected. {NETWORK_CLIENT}",
        f"INFO health: {load} (com.acme.platform.Health)",
        f"WARN Slow query on {replica} (com.acme.platform.Database)",
        f"INFO Feature flags reloaded: {random.randint(40, 48)} flags (com.acme.platform.Flags)",
    )


def _python_life(host: Node, random: Random) -> tuple[str, ...]:
    """As of Java."""
    name = host.service.replace("-", "_")
    delivered = f"{random.randint(3, 400)} messages to {_topic(host)} in {random.randint(4, 90)} ms"
    return (
        f"INFO {name}.worker delivered {delivered}",
        f"INFO {name}.worker delivered {delivered}",
        f"DEBUG {name}.worker committed offsets for {random.randint(1, 12)} partitions",
        f"WARNING {name}.cache miss ratio {random.random():.2f} over the last minute",
        f"INFO {name}.http GET /healthz 200 {random.randint(1, 9)}ms",
    )


def _window(fleet: HostFleet, host: Node, faults: NetworkFaults) -> tuple[datetime, datetime]:
    begin = max(moment for moment in (fleet.log_start, faults.since, host.launched + timedelta(seconds=25)) if moment)
    return begin, min(fleet.log_end, faults.until or fleet.log_end)


def _failures(
    fleet: HostFleet, pair: tuple[Node, Node], failure: Failure, *, faults: NetworkFaults, random: Random, family: int
) -> Iterator[Line]:
    host, broker = pair
    address = faults.strangers.get(broker.name, address_of(broker, family))
    begin, end = _window(fleet, host, faults)
    moment = begin + timedelta(seconds=random.random() * 8)
    attempt = 0 if moment < host.launched + timedelta(minutes=2) or faults.since == begin else 3
    while moment < end:
        wait = _attempt_seconds(host, failure, attempt=attempt, random=random)
        moment += timedelta(seconds=wait)
        attempt += 1
        if moment < end:
            wording = _java_failure if host.client == JAVA else _librdkafka_failure
            yield from wording(moment, (host, broker), failure, address=address, wait=wait, random=random)
        moment += timedelta(seconds=random.uniform(0.8, 1.2) if failure in SLOW else random.uniform(24, 36))


def _attempt_seconds(host: Node, failure: Failure, *, attempt: int, random: Random) -> float:
    """socket.connection.setup.timeout.ms: 10 s doubling to 30 s, +-20 %, in Java; 30 s in librdkafka."""
    if failure is Failure.SEGMENTS_LOST:
        return 30.0 if host.client == JAVA else 60.0
    if failure is Failure.UNREACHABLE:
        return 3.07
    if failure is Failure.REFUSED:
        return 0.001
    if host.client != JAVA:
        return 30.0 + random.random() * 0.9
    return min(30.0, 10.0 * float(2 ** min(attempt, 2))) * random.uniform(0.8, 1.2)


def _java_failure(
    moment: datetime, pair: tuple[Node, Node], failure: Failure, *, address: str, wait: float, random: Random
) -> Iterator[Line]:
    host, broker = pair
    producer = f"[Producer clientId={host.service}-{host.number}]"
    for level, text in _java_texts(broker, failure, address=address, wait=wait, random=random):
        yield moment, f"{log4j(moment)} {level} {producer} {text} {NETWORK_CLIENT}"
    if random.random() < EXPIRING_SHARE:
        yield moment + timedelta(milliseconds=1), _expired(moment, pair, random)


def _java_texts(
    broker: Node, failure: Failure, *, address: str, wait: float, random: Random
) -> Iterator[tuple[str, str]]:
    node = f"node {broker.number}"
    if failure in SLOW:
        limit = f"The timeout value is {int(wait * 1000)} ms."
        yield "INFO", f"Disconnecting from {node} due to socket connection setup timeout. {limit}"
        if broker.number < 0:
            name = f"{broker.name}.eu-west-1.compute.internal:9092"
            yield "WARN", f"Bootstrap broker {name} (id: {broker.number} rack: null) disconnected"
    elif failure is Failure.SEGMENTS_LOST:
        created, sent = random.randint(30_010, 30_090), random.randint(30_001, 30_009)
        elapsed = f"elapsed time since creation: {created}ms, elapsed time since send: {sent}ms"
        request = f"in-flight PRODUCE request with correlation id {random.randrange(9000)}"
        yield "INFO", f"Disconnecting from {node} due to request timeout."
        timing = f"{elapsed}, throttle time: 0ms, request timeout: 30000ms"
        yield "INFO", f"Cancelled {request} due to {node} being disconnected ({timing})"
    else:
        target = f"{broker.name}.eu-west-1.compute.internal/{address}:9092"
        yield "INFO", f"Node {broker.number} disconnected."
        yield "WARN", f"Connection to {node} ({target}) could not be established. Node may not be available."


def _expired(moment: datetime, pair: tuple[Node, Node], random: Random) -> str:
    host, broker = pair
    batch = f"{random.randint(1, 40)} record(s) for {_topic(host)}-{random.randrange(12)}"
    expiring = f"Expiring {batch}:{random.randint(120_000, 120_060)} ms has passed since batch creation"
    if broker.number < 0:
        expiring = f"Topic {_topic(host)} not present in metadata after 60000 ms."
    error = f"{log4j(moment)} ERROR Could not publish (com.acme.{host.service.split('-')[0]}.Writer)"
    return f"{error}\norg.apache.kafka.common.errors.TimeoutException: {expiring}"


def _librdkafka_failure(
    moment: datetime, pair: tuple[Node, Node], failure: Failure, *, address: str, wait: float, random: Random
) -> Iterator[Line]:
    host, broker = pair
    name = f"{broker.name}.eu-west-1.compute.internal:9092/{broker.number if broker.number > 0 else 'bootstrap'}"
    level = 3 if failure is Failure.REFUSED else 4
    text = _librdkafka_text(failure, address=address, wait=wait, random=random)
    yield moment, f"%{level}|{moment.timestamp():.3f}|FAIL|rdkafka#producer-1| [thrd:{name}]: {name}: {text}"
    if random.random() < EXPIRING_SHARE:
        service = host.service.replace("-", "_")
        later = moment + timedelta(milliseconds=2)
        error = 'KafkaError{code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"}'
        yield later, f"{_python(later)} ERROR {service}.worker delivery failed: {error}"


def _librdkafka_text(failure: Failure, *, address: str, wait: float, random: Random) -> str:
    version, target = (6, f"[{address}]:9092") if ":" in address else (4, f"{address}:9092")
    spent = int(wait * 1000)
    if failure is Failure.REFUSED:
        return f"Connect to ipv{version}#{target} failed: Connection refused (after 0ms in state CONNECT)"
    if failure is Failure.UNREACHABLE:
        return f"Connect to ipv{version}#{target} failed: No route to host (after {spent}ms in state CONNECT)"
    if failure is Failure.SEGMENTS_LOST:
        rtt, up = random.uniform(1, 9), random.randint(61_000, 99_000)
        return f"1 request(s) timed out: disconnect (average rtt {rtt:.3f}ms) (after {up}ms in state UP)"
    return f"Connection setup timed out in state CONNECT (after {spent}ms in state CONNECT)"


def broker_log(fleet: HostFleet, broker: Node, *, faults: NetworkFaults, random: Random) -> Iterator[str]:
    """A broker's server.log: healthy, or until a fault shuts it down."""
    moment, stopped = fleet.log_start, broker.name in faults.stopped
    end = faults.since if stopped and faults.since else fleet.log_end
    while moment < end:
        moment += timedelta(seconds=random.expovariate(1 / 40))
        if stopped and moment >= end:
            yield from _shutdown(end, broker)
            return
        yield f"{log4j(moment)} INFO {_broker_life(broker, random)}\n"


def _shutdown(moment: datetime, broker: Node) -> Iterator[str]:
    server = f"[BrokerServer id={broker.number}]"
    signal = "Terminating process due to signal SIGTERM (org.apache.kafka.common.utils.LoggingSignalHandler)"
    texts = (
        signal,
        f"{server} Transition from STARTED to SHUTTING_DOWN (kafka.server.BrokerServer)",
        f"{server} shutting down (kafka.server.BrokerServer)",
        f"{server} shut down completed (kafka.server.BrokerServer)",
    )
    for n, text in enumerate(texts):
        yield f"{log4j(moment + timedelta(milliseconds=310 * n))} INFO {text}\n"


def _broker_life(broker: Node, random: Random) -> str:
    partition, offset = f"{random.choice(SERVICE_TOPICS)}-{random.randrange(12)}", random.randrange(10**9)
    took = f"{random.randint(1, 9)} ms."
    wrote = f"Wrote producer snapshot at offset {offset} with {random.randint(1, 40)} producer ids in {took}"
    created = f"Creating new KRaft snapshot file snapshot {offset:020d}-{random.randint(3, 9):010d}"
    generator = "org.apache.kafka.image.publisher.SnapshotGenerator"
    producers = "org.apache.kafka.storage.internals.log.ProducerStateManager"
    rolled = f"Rolled new log segment at offset {offset} in {took}"
    waited = "because we have waited at least 60 minute(s)."
    texts = (
        f"[LocalLog partition={partition}, dir=/data/kafka] {rolled} (kafka.log.LocalLog)",
        f"[ProducerStateManager partition={partition}] {wrote} ({producers})",
        f"[SnapshotGenerator id={broker.number}] {created} {waited} ({generator})",
    )
    return random.choice(texts)
