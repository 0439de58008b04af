"""Cases of production clusters: failures of one client alone, orderly upgrades, logs without the decisive lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leadsman.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from leadsman.model import Diagnosis, Finding

pytestmark = pytest.mark.spark

LOST = datetime(2026, 11, 20, 14, 0, tzinfo=UTC)
"""When broker 7 became unreachable."""

TIMED_OUT = 70
"""Seconds after the loss at which a commit timed out that had begun 10 s after the loss."""


def stamp(after: float) -> str:
    return f"{LOST + timedelta(seconds=after):%Y-%m-%d %H:%M:%S,%f}"[:-3]


def client(after: float, group: str, text: str, *, level: str = "INFO") -> str:
    name = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
    return f"{stamp(after)} {level} [main] {name} - [Consumer clientId=consumer-{group}-1, groupId={group}] {text}\n"


def coordinator(broker: int) -> str:
    return f"kafka-{broker}.prod:9092 (id: {2147483647 - broker} rack: null)"


def start(group: str, broker: int, at: float = -3600) -> str:
    return (
        client(at, group, f"Discovered group coordinator {coordinator(broker)}")
        + client(at + 3, group, "Successfully joined group with generation Generation{generationId=4, memberId='m'}")
        + "".join(f"{stamp(each)} INFO [main] com.acme.Orders - 120 orders done\n" for each in range(int(at), 0, 600))
    )


def cut_off(group: str, broker: int = 7, until: float = TIMED_OUT) -> str:
    """A consumer that looks up its coordinator and gets the same broker again and again."""
    rounds = (
        client(at, group, f"Group coordinator {coordinator(broker)} is unavailable or invalid due to cause: null.")
        + client(at + 1, group, f"Discovered group coordinator {coordinator(broker)}")
        for at in range(8, int(until), 8)
    )
    return "".join(rounds)


def dies(group: str, at: float = TIMED_OUT, timeout_ms: int = 60_000) -> str:
    why = f"org.apache.kafka.common.errors.TimeoutException: Timeout of {timeout_ms}ms expired before successfully "
    return (
        f"{stamp(at)} ERROR [main] com.acme.Orders - consumer ended\n"
        f"{why}committing offsets {{orders-0=OffsetAndMetadata{{offset=8711, leaderEpoch=3, metadata=''}}}}\n"
        f"{stamp(at + 0.1)} INFO [main] org.apache.kafka.common.utils.AppInfoParser - "
        f"App info kafka.consumer for consumer-{group}-1 unregistered\n"
    )


def lives_on(until: float = 7200) -> str:
    return "".join(f"{stamp(at)} INFO [main] com.acme.Orders - 120 orders done\n" for at in range(60, int(until), 600))


def heals(group: str, at: float = 130, broker: int = 2) -> str:
    return client(at, group, f"Discovered group coordinator {coordinator(broker)}") + lives_on()


def controller(*lines: tuple[float, str], until: float = 7200) -> str:
    quiet = [
        (float(at), "In the last 60000 ms period, 388 controller events were completed, which took 1.8 ms each.")
        for at in range(-7200, int(until), 600)
    ]
    events = sorted([*quiet, *lines])
    return "".join(f"[{stamp(at)}] INFO [QuorumController id=101] {text} (org.apache.kafka)\n" for at, text in events)


FENCED = (
    (118.0, "Fencing broker 7 at epoch 88 because its session has timed out."),
    (118.1, "handleBrokerFenced: changing 212 partition(s)"),
)


@dataclass(frozen=True)
class Case:
    """Files by name, and the verdict that an engineer would give on them."""

    verdict: Verdict
    files: Mapping[str, str] = field(default_factory=dict)


VICTIM = start("billing", 7) + cut_off("billing") + dies("billing")
SECOND = start("audit", 7) + cut_off("audit", until=125) + heals("audit")
WELL = {f"pods/mail-{number}.log": start(f"mail-{number}", 7) + lives_on() for number in range(3)}
OTHER_GROUP = {f"pods/stock-{number}.log": start(f"stock-{number}", number) + lives_on() for number in range(1, 5)}
OWN_ERROR = (
    f"{stamp(300)} ERROR [main] com.acme.Orders - consumer ended\n"
    "org.apache.kafka.common.errors.RecordDeserializationException: Error deserializing VALUE for partition orders-3\n"
    f"{stamp(300.1)} INFO [main] org.apache.kafka.common.utils.AppInfoParser - "
    "App info kafka.consumer for consumer-billing-1 unregistered\n"
)


def rolling() -> Iterator[tuple[float, str]]:
    """Nine brokers that are restarted in order, one every two minutes."""
    for broker in range(1, 10):
        at = broker * 120.0 - 600
        yield at, f"Unfenced broker {broker} has requested and been granted a controlled shutdown."
        yield at + 0.1, f"enterControlledShutdown[{broker}]: changing 212 partition(s)"
        yield at + 30, f"The request from broker {broker} to unfence has been granted because it has caught up."


FENCED_AGAIN = (900.0, "Fencing broker 7 at epoch 89 because its session has timed out.")
UNFENCED = (400.0, "The request from broker 7 to unfence has been granted because it has caught up.")


def topics(*leaders: int) -> str:
    rows = (
        f"\tTopic: orders\tPartition: {number}\tLeader: {leader}\tReplicas: 7,1,2\tIsr: 7,1,2\n"
        for number, leader in enumerate(leaders)
    )
    return f"Topic: orders\tPartitionCount: {len(leaders)}\tReplicationFactor: 3\tConfigs: \n" + "".join(rows)


def group(*lags: int, member: str = "-") -> str:
    head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    rows = (
        f"billing orders {number} 70 {70 + lag} {lag} {member} {member} {member}\n" for number, lag in enumerate(lags)
    )
    return head + "".join(rows)


def pause(at: float, seconds: float) -> str:
    when = LOST + timedelta(seconds=at)
    return (
        f"[{when:%Y-%m-%dT%H:%M:%S}.000+0000][9021.114s] GC(811) Pause Full (G1 Compaction Pause) 7622M->2743M(8192M) "
        f"{seconds * 1000:.3f}ms\n"
    )


def migration(host: str) -> str:
    """A live migration in Google's audit log."""
    payload = {
        "methodName": "compute.instances.migrateOnHostMaintenance",
        "resourceName": f"projects/p/instances/{host}",
    }
    return json.dumps([{"protoPayload": payload, "timestamp": (LOST - timedelta(seconds=1)).isoformat()}], indent=1)


LIBRDKAFKA = (
    f"{stamp(-600)} INFO [main] com.acme.Stock - 120 orders done\n"
    f"%5|{(LOST + timedelta(seconds=62)).timestamp():.3f}|REQTMOUT|stock#consumer-1| [thrd:GroupCoordinator]: "
    "GroupCoordinator/7: Timed out OffsetCommitRequest in flight (after 60730ms, timeout #0)\n"
    f"%3|{(LOST + timedelta(seconds=62)).timestamp():.3f}|FAIL|stock#consumer-1| [thrd:kafka-7.prod:9092/7]: "
    "kafka-7.prod:9092/7: 1 request(s) timed out: disconnect (average rtt 6.589ms) (after 4400349ms in state UP)\n"
    + lives_on()
)
KAFKA_PYTHON = (
    f"{stamp(-600)} INFO com.acme.clicks: 120 orders done\n"
    f"{stamp(45)} WARNING kafka.conn: <BrokerConnection node_id=coordinator-7 host=kafka-7.prod:9092 <connected> "
    "[IPv4 ('10.20.0.7', 9092)]> timed out after 40000 ms. Closing connection.\n"
    f"{stamp(45.1)} WARNING kafka.coordinator: Marking the coordinator dead (node coordinator-7) for group clicks: "
    "KafkaConnectionError: Closing Kafka connection.\n" + lives_on()
)

STREAMS_DEATH = (
    f"{stamp(TIMED_OUT)} ERROR [s-StreamThread-2] o.a.k.streams - stream-thread [s-StreamThread-2] Failed to commit\n"
    "org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired before successfully committing "
    "offsets {orders-0=OffsetAndMetadata{offset=1}}\n"
    f"{stamp(TIMED_OUT + 1)} INFO [s-StreamThread-2] o.a.k.streams - stream-thread [s-StreamThread-2] State transition "
    "from PENDING_SHUTDOWN to DEAD\n"
    f"{stamp(TIMED_OUT + 9)} INFO [s-StreamThread-1] o.a.k.c - [Consumer clientId=s-StreamThread-1-consumer, "
    "groupId=s] Successfully joined group with generation Generation{generationId=9, memberId='x'}\n"
)
TOPICS = "Topic: __consumer_offsets\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
NO_LEADER = TOPICS + "\tTopic: __consumer_offsets\tPartition: 0\tLeader: none\tReplicas: 7,8,9\tIsr: 7\n"
OLD_LACK = (
    "Topic: scratch\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    "\tTopic: scratch\tPartition: 0\tLeader: none\tReplicas: 12\tIsr: 12\n"
)
LATER = start("billing", 2, at=4 * 3600)

CASES = {
    "fenced late by the controller": Case(
        Verdict.PRESENT, {"pods/1.log": VICTIM, "controller/controller.log": controller(*FENCED)}
    ),
    "a second client without any broker's log": Case(Verdict.PRESENT, {"pods/1.log": VICTIM, "pods/2.log": SECOND}),
    "a listing without a leader of the offsets": Case(Verdict.PRESENT, {"pods/1.log": VICTIM, "topics.txt": NO_LEADER}),
    "one client that was sent to another coordinator in the end": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": start("billing", 7)
            + cut_off("billing")
            + client(69, "billing", f"Discovered group coordinator {coordinator(2)}")
            + dies("billing")
        },
    ),
    "all of it": Case(
        Verdict.PRESENT,
        {"pods/1.log": VICTIM, "pods/2.log": SECOND, "controller.log": controller(*FENCED), **OTHER_GROUP},
    ),
    "restarted by hand hours later": Case(
        Verdict.PRESENT, {"pods/1.log": VICTIM + LATER, "controller.log": controller(*FENCED, until=5 * 3600)}
    ),
    "a harmless disconnect days before": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": client(-180_000, "billing", f"Group coordinator {coordinator(7)} is unavailable or invalid.")
            + VICTIM,
            "controller.log": controller(*FENCED),
        },
    ),
    "one thread of several that died": Case(
        Verdict.PRESENT,
        {"pods/1.log": start("s", 7) + cut_off("s") + STREAMS_DEATH, "controller.log": controller(*FENCED)},
    ),
    "one client alone, and nothing else": Case(Verdict.UNKNOWN, {"pods/1.log": VICTIM}),
    "one client alone, whose log shows warnings only": Case(
        Verdict.UNKNOWN, {"pods/1.log": f"{stamp(-9000)} WARN [main] com.acme.Orders - slow\n" + dies("billing")}
    ),
    "one client alone, beside a partition that lacks its leader for ever": Case(
        Verdict.UNKNOWN, {"pods/1.log": VICTIM, "topics.txt": OLD_LACK}
    ),
    "one client alone, and a controller's log of another day": Case(
        Verdict.UNKNOWN,
        {"pods/1.log": VICTIM, "controller.log": "".join(controller(*FENCED).replace("2026-11-20", "2026-11-17"))},
    ),
    "one client alone, and a controller that fenced a broker that it never named": Case(
        Verdict.ABSENT,
        {
            "pods/1.log": VICTIM,
            "controller.log": controller((118.0, "Fencing broker 3 at epoch 88 because its session has timed out.")),
        },
    ),
    "one client alone, and a controller that saw nothing": Case(
        Verdict.ABSENT, {"pods/1.log": VICTIM, "controller.log": controller(), **OTHER_GROUP}
    ),
    "one client alone, while others used the same broker": Case(Verdict.ABSENT, {"pods/1.log": VICTIM, **WELL}),
    "an upgrade in order beside a consumer that died of a record": Case(
        Verdict.ABSENT,
        {
            "pods/1.log": start("billing", 7) + OWN_ERROR,
            "pods/2.log": start("audit", 7) + cut_off("audit", until=20) + heals("audit", at=21),
            "controller.log": controller(*rolling()),
        },
    ),
    "a commit that timed out and was tried again, and then a bad record": Case(
        Verdict.ABSENT,
        {
            "pods/1.log": start("billing", 7)
            + cut_off("billing")
            + dies("billing").splitlines(keepends=True)[0].replace("ended", "tries again")
            + dies("billing").splitlines(keepends=True)[1]
            + client(125, "billing", f"Discovered group coordinator {coordinator(2)}")
            + OWN_ERROR,
            "pods/2.log": SECOND,
            "controller.log": controller(*FENCED),
        },
    ),
    "a broker that came back, and what stands beside it": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": VICTIM,
            "pods/2.log": SECOND,
            "pods/3.log": LIBRDKAFKA,
            "pods/4.log": KAFKA_PYTHON,
            "controller.log": controller(*FENCED, UNFENCED),
            "20261120T135000Z.kafka-topics-describe.txt": topics(7, 7, 1, 2),
            "20261120T141500Z.kafka-topics-describe.txt": topics(7, 7, 1, 2),
            "20261120T135000Z.kafka-consumer-groups-describe.txt": group(1, 2, 3, 4, member="m-1"),
            "20261120T141500Z.kafka-consumer-groups-describe.txt": group(100, 200, 300, 400),
            "cloud/events.json": migration("kafka-7-other"),
        },
    ),
    "a broker that was fenced again": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": VICTIM,
            "pods/2.log": SECOND,
            "controller.log": controller(*FENCED, UNFENCED, FENCED_AGAIN),
            "20261120T135000Z.kafka-topics-describe.txt": topics(7, 7, 1, 2),
            "20261120T140230Z.kafka-topics-describe.txt": topics(2, 2, 1, 2),
            "20261120T141000Z.kafka-topics-describe.txt": topics(7, 7, 1, 2),
        },
    ),
    "a broker that a garbage collection stopped": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": VICTIM,
            "pods/kafka-7-mirror/gc.log": pause(70, 69),
            "brokers/kafka-7/kafkaServer-gc.log": pause(-600, 0.02) + pause(100, 98),
            "controller.log": controller(*FENCED),
        },
    ),
    "a broker whose own host was migrated": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": VICTIM,
            "controller.log": controller(*FENCED),
            "cloud/events.json": migration("kafka-7-prod"),
        },
    ),
    "two clients that never found a leader again": Case(
        Verdict.PRESENT,
        {
            "pods/1.log": VICTIM,
            "pods/2.log": start("audit", 7) + cut_off("audit", until=65) + dies("audit", at=66),
        },
    ),
    "clients that waited long enough": Case(
        Verdict.ABSENT, {"pods/2.log": SECOND, "controller.log": controller(*FENCED)}
    ),
}


@pytest.fixture(scope="module")
def found(diagnosed: Callable[..., list[Diagnosis]], tmp_path_factory) -> dict[str, Diagnosis]:
    """The diagnosis of every case, in one run."""
    folders = {name: tmp_path_factory.mktemp("case") for name in CASES}
    for name, folder in folders.items():
        for file, text in CASES[name].files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)
    named = {each.path: each for each in diagnosed(list(folders.values()), ["leaderless_partition"])}
    return {name: named[str(folder)] for name, folder in folders.items()}


def finding(diagnosis: Diagnosis) -> Finding:
    """The finding of the mode."""
    return next(each for each in diagnosis.findings if each.mode == "leaderless_partition")


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_an_engineer(name: str, found: dict[str, Diagnosis]) -> None:
    verdict = found[name].verdicts["leaderless_partition"]

    assert verdict is CASES[name].verdict


def test_a_disconnect_of_another_day_does_not_lengthen_the_outage(found: dict[str, Diagnosis]) -> None:
    failover_seconds = finding(found["a harmless disconnect days before"]).figures["failover_seconds"]

    assert failover_seconds == pytest.approx(110, abs=10)


def test_no_alternative_is_ruled_out_where_only_one_log_was_read(found: dict[str, Diagnosis]) -> None:
    ruled_out = [
        each.cause for each in finding(found["one client alone, and nothing else"]).alternatives if each.ruled_out_by
    ]

    assert ruled_out == ["The group was rebalancing continuously"]


RETURNED = "a broker that came back, and what stands beside it"
PAUSED = "a broker that a garbage collection stopped"
MIGRATED = "a broker whose own host was migrated"


def test_clients_of_every_language_that_lost_the_coordinator_are_counted(found: dict[str, Diagnosis]) -> None:
    figures = finding(found[RETURNED]).figures

    assert (figures["dead"], figures["consumers"], figures["recovered"], figures["continued"]) == (1, 4, 1, 2)


def test_partitions_are_those_that_the_broker_led_and_lag_is_of_the_whole_group(
    found: dict[str, Diagnosis],
) -> None:
    figures = finding(found[RETURNED]).figures

    assert (figures["partitions_moved"], figures["partitions_led"]) == (212, 2)
    assert (figures["groups_without_members"], figures["lag_records"]) == (1, 1000)


def test_no_step_removes_a_broker_that_is_back(found: dict[str, Diagnosis]) -> None:
    back = finding(found[RETURNED])

    assert (back.figures["returned_at"], "migrated" in back.figures) == ("2026-11-20T14:06:40Z", False)
    assert any("unfenced broker 7 at 14:06:40" in step for step in back.do_now)
    assert not any("terminate" in step for step in back.do_now)


def test_a_broker_that_was_fenced_again_is_not_reported_as_back(found: dict[str, Diagnosis]) -> None:
    again = finding(found["a broker that was fenced again"])

    assert not {"returned_at", "leading_again_at"} & again.figures.keys()
    assert any(step.startswith("Check whether broker 7 is back") for step in again.do_now)


def test_what_became_of_the_consumers_and_the_broker_is_reported_where_the_data_show_it(
    found: dict[str, Diagnosis], diagnosed_recordings
) -> None:
    (recording,) = [each for path, each in diagnosed_recordings.items() if path.endswith("/broken-java-4.3.1")]
    never_unfenced, unfenced = finding(recording).figures, finding(found[RETURNED]).figures

    assert (never_unfenced["timed_out"], never_unfenced["dead"], never_unfenced["timed_out_recovered"]) == (2, 1, 1)
    assert str(never_unfenced["fenced_since"]).startswith("2026-11-21T15:00:26")
    assert 0 < float(never_unfenced["watched_seconds"]) < 20
    assert "fenced_since" not in unfenced


def test_the_recommended_timeout_is_that_of_the_cure_and_above_the_failover(found: dict[str, Diagnosis]) -> None:
    figures = finding(found["a harmless disconnect days before"]).figures

    assert figures["recommended_timeout_ms"] == 300_000
    assert float(figures["failover_seconds"]) < 300


def test_a_host_with_another_name_is_not_the_brokers_host(found: dict[str, Diagnosis]) -> None:
    hosts = {name: finding(found[name]).figures.get("broker_host") for name in (RETURNED, MIGRATED)}

    assert hosts == {RETURNED: None, MIGRATED: "kafka-7-prod"}


def test_a_garbage_collection_is_a_cause_only_in_the_brokers_own_log(found: dict[str, Diagnosis]) -> None:
    stopped = finding(found[PAUSED])

    quoted = [line.file for line in stopped.chain[0].evidence if "Pause" in line.text]

    assert stopped.figures["gc_pause"] == pytest.approx(98)
    assert quoted == ["brokers/kafka-7/kafkaServer-gc.log"]


def test_no_time_out_is_recommended_where_the_end_of_the_failover_is_not_known(found: dict[str, Diagnosis]) -> None:
    lost = finding(found["two clients that never found a leader again"])

    assert "failover_seconds" not in lost.figures
    assert not any(step.startswith("Set ") for step in lost.do_now)
