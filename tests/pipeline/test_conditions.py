"""Conditions are reported whether or not a failure mode explains them, and only where events show them."""

from pathlib import Path

import pytest

from leadsman.catalogue import every_mode
from leadsman.model import Diagnosis
from leadsman.pipeline.conditions.brokers import brokers_text

pytestmark = pytest.mark.spark

HEALTHY = (
    "healthy-java",
    "healthy-confluent-kafka",
    "near-miss-benign-close-java",
    "near-miss-fleet-java",
    "near-miss-transactional-java",
)
BOOTSTRAP = "Bootstrap broker kafka-1.prod:9092 (id: -1 rack: null) disconnected"
RESOLVE = (
    "%3|{at}.123|FAIL|rdkafka#producer-1| [thrd:kafka-9.prod:9092/bootstrap]: kafka-9.prod:9092/bootstrap: Failed to "
    "resolve 'kafka-9.prod:9092': Name or service not known (after 12ms in state CONNECT)\n"
)
EXPIRED = """\
2026-11-21 12:22:41,100 ERROR [main] o.a.k.clients.NetworkClient - [Producer clientId=p-1] Connection to node -1 \
(b-1/10.0.0.1:9093) failed authentication due to: SSL handshake failed
org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed
Caused by: java.security.cert.CertificateExpiredException: NotAfter: Sat Feb 15 12:00:00 UTC 2021
"""
DISK = """\
[2026-11-21 12:22:41,100] ERROR Error while writing to checkpoint file /d1/x (kafka.server.LogDirFailureChannel)
java.io.IOException: No space left on device
"""
OOM = (
    "Nov 21 12:22:41 kafka-2 kernel: [123456.789] Out of memory: Killed process 4711 (java) total-vm:9876543kB, "
    "anon-rss:7654321kB\n"
)
HEADING = (
    "\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
    "CONSUMER-ID                                  HOST            CLIENT-ID\n"
)
WELL = ((0, "1", "1,2,3", "1,2,3"), (1, "2", "2,3,1", "2,3,1"))
DOWN = ((0, "1", "1,2,3", "1"), (1, "none", "2,3,1", ""))


def log(minute: int, second: int, message: str) -> str:
    return f"2026-11-21 12:{minute:02}:{second:02},000 WARN [main] o.a.k.c.NetworkClient - {message}\n"


def kafka(minute: int, second: int, message: str) -> str:
    return f"[2026-11-21 12:{minute:02}:{second:02},000] INFO {message}\n"


def look(minute: int, command: str, body: str) -> str:
    return f"### leadsman 2026-11-21T12:{minute:02}:00.000Z lab kafka/x $ {command}\n{body}\n### leadsman exit 0\n"


def topics(*rows: tuple[int, str, str, str]) -> str:
    head = "Topic: orders\tTopicId: rqS6_umGRQuzG0mat4WJ_g\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: "
    lines = [f"\tTopic: orders\tPartition: {p}\tLeader: {lead}\tReplicas: {r}\tIsr: {i}" for p, lead, r, i in rows]
    return "\n".join([f"{head}min.insync.replicas=2", *lines, ""])


def lag(group: str, *rows: tuple[int, int, int, bool]) -> str:
    lines = [
        f"{group:<15} {'orders':<15} {partition:<10} {at:<15} {end:<15} {end - at:<15} "
        f"{'consumer-1-abc' if member else '-':<44} {'/10.0.0.1' if member else '-':<15} {'c' if member else '-'}\n"
        for partition, at, end, member in rows
    ]
    return HEADING + "".join(lines)


DESCRIBE = "kafka-topics --describe"
GROUPS = "kafka-consumer-groups --describe --all-groups"
START = "[KafkaRaftServer nodeId=2] Kafka Server started (kafka.server.KafkaRaftServer)"
STARTING = "Registered `kafka:type=kafka.Log4jController` MBean (kafka.utils.Log4jControllerRegistration$)"
STOP = "[BrokerServer id=2] shutting down (kafka.server.BrokerServer)"
FENCE = "[QuorumController id=9] Fencing broker {} at epoch 12 because its session has timed out. (x.Y)"
UNFENCE = "[QuorumController id=9] The request from broker {} to unfence has been granted because it has (x.Y)"
MOVED = "[QuorumController id=9] handleBrokerFenced: changing 9 partition(s) (x.Y)"
LOST = (
    "[Consumer clientId={0}, groupId={0}] Group coordinator b-2:9092 (id: 2147483645 rack: null) is unavailable or "
    "invalid due to cause: coordinator unavailable. Rediscovery will be attempted."
)
REBALANCE = (
    "[GroupCoordinator 1]: Preparing to rebalance group billing in state PreparingRebalance with old generation {} "
    "(reason: Adding new member c) (kafka.coordinator.group.GroupCoordinator)"
)

UNREACHED = (
    "[Producer clientId=producer-1] Connection to node {0} (/172.17.0.{0}:9092) could not be established. Node may not "
    "be available."
)
PYTHON_REFUSED = (
    "Connect attempt to <BrokerConnection node_id=2 host=b-2:9092 <connecting> [IPv4 ('10.40.2.17', 9092)]> returned "
    "error 111. Disconnecting."
)
SASL = (
    "%3|{at}.123|FAIL|rdkafka#producer-1| [thrd:sasl_ssl://b-1.prod:9096/bootstrap]: sasl_ssl://b-1.prod:9096/bootstrap"
    ": SASL authentication error: Authentication failed (after 311ms in state AUTH_REQ)\n"
)
FENCED = (
    "[Producer clientId=producer-tx-1, transactionalId=tx-1] Transiting to fatal error state due to "
    "org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer."
)
DENIED = (
    "Principal = User:ledger is Denied operation = Write from host = 10.60.1.4 on resource = Topic:LITERAL:audit for "
    "request = Produce with resourceRefCount = 1 based on rule DefaultDeny (kafka.authorizer.logger)"
)
STARTING_KRAFT = "[BrokerServer id=2] Starting broker (kafka.server.BrokerServer)"

CHANGED = "[2026-11-21 12:00:{second:02},{ms}] INFO [Controller id=1 epoch=1] Changed partition orders-0 {what} (x.Y)\n"
GONE = CHANGED.format(second=0, ms="120", what="state from OnlinePartition to OfflinePartition")
LED = "from OfflinePartition to OnlinePartition with state LeaderAndIsr(leader=3, leaderEpoch=1)"
METRICS = """\
# TYPE kafka_controller_kafkacontroller_offlinepartitionscount_value gauge
kafka_controller_kafkacontroller_offlinepartitionscount_value 3.0
kafka_server_replicamanager_underreplicatedpartitions_value 12.0
kafka_server_replicamanager_underminisrpartitioncount_value 7.0
"""

CAPTURES: dict[str, tuple[dict[str, str], set[str]]] = {
    "a partition without a leader at the last look": (
        {"topics.txt": look(0, DESCRIBE, topics(*WELL)) + look(5, DESCRIBE, topics(*DOWN))},
        {"partition_without_leader", "under_replicated", "under_min_isr", "broker_missing"},
    ),
    "a look without a time": (
        {"topics.txt": topics(*DOWN)},
        {"partition_without_leader", "under_replicated", "under_min_isr", "broker_missing"},
    ),
    "a cluster that is well": ({"topics.txt": look(0, DESCRIBE, topics(*WELL))}, set()),
    "an election that took a moment": (
        {"state-change.log": GONE + CHANGED.format(second=0, ms="160", what=LED)},
        set(),
    ),
    "an election that took long": (
        {"state-change.log": GONE + CHANGED.format(second=49, ms="120", what=LED)},
        {"partition_without_leader"},
    ),
    "metrics of partitions in trouble": (
        {"metrics.prom": look(1, "curl -s b-1:7071/metrics", METRICS)},
        {"partition_without_leader", "under_replicated", "under_min_isr"},
    ),
    "a group without members and with lag": (
        {"groups.txt": look(0, GROUPS, lag("billing", (0, 10, 4000, False)) + lag("fine", (0, 10, 11, True)))},
        {"group_dead"},
    ),
    "a group that is empty for a moment": (
        {
            "groups.txt": look(0, GROUPS, lag("billing", (0, 10, 12, True)))
            + look(1, GROUPS, lag("billing", (0, 10, 40, False)))
        },
        set(),
    ),
    "lag that grows": (
        {"groups.txt": "".join(look(m, GROUPS, lag("b", (0, 100, 100 + 900 * m, True))) for m in range(4))},
        {"lag_growing"},
    ),
    "lag that swings": (
        {
            "groups.txt": "".join(
                look(m, GROUPS, lag("b", (0, 9000 * m, 9000 * m + behind, True)))
                for m, behind in enumerate((10, 400, 90, 700))
            )
        },
        set(),
    ),
    "lag at two looks": (
        {"groups.txt": "".join(look(m, GROUPS, lag("b", (0, 100, 100 + 900 * m, True))) for m in range(2))},
        set(),
    ),
    "a client that never connected": (
        {"app.log": "".join(log(m, s, BOOTSTRAP) for m in range(4) for s in range(0, 60, 5))},
        {"client_never_connected"},
    ),
    "a client that waited for its broker": (
        {
            "app.log": "".join(log(0, s, BOOTSTRAP) for s in range(0, 12, 3))
            + "".join(log(m, 0, "order stored") for m in range(1, 9))
        },
        set(),
    ),
    "a name that is not resolved": (
        {"app.log": "".join(RESOLVE.format(at=1795262400 + s) for s in range(0, 200, 30))},
        {"client_never_connected"},
    ),
    "sarama without brokers": (
        {"app.log": "2026/11/21 12:00:00 [sarama] kafka: client has run out of available brokers to talk to: EOF\n"},
        {"client_never_connected"},
    ),
    "a certificate that expired": ({"app.log": EXPIRED}, {"certificate", "client_never_connected"}),
    "a full disk": ({"server.log": DISK}, {"disk_full"}),
    "a process that the kernel killed": ({"kern.log": OOM}, {"oom_killed"}),
    "a Java heap that is full": (
        {"app.log": log(0, 0, "x") + "java.lang.OutOfMemoryError: Java heap space\n"},
        {"out_of_memory"},
    ),
    "a first start": ({"server.log": kafka(0, 0, STARTING) + kafka(0, 9, START)}, set()),
    "a restart in order": (
        {"server.log": kafka(0, 0, START) + kafka(9, 0, STOP) + kafka(9, 9, STARTING) + kafka(9, 20, START)},
        {"broker_restarted"},
    ),
    "a restart without goodbye": (
        {"server.log": kafka(0, 0, "rolled (x.Y)") + kafka(9, 9, STARTING) + kafka(9, 20, START)},
        {"broker_restarted"},
    ),
    "a broker that stayed down": (
        {"2.log": kafka(0, 0, START) + kafka(1, 0, STOP), "1.log": kafka(0, 0, "a (x.Y)") + kafka(9, 0, "b (x.Y)")},
        {"broker_missing"},
    ),
    "a broker that was fenced for a while": (
        {"controller.log": kafka(0, 0, FENCE.format(3)) + kafka(1, 0, UNFENCE.format(3))},
        {"broker_fenced"},
    ),
    "a broker that said goodbye and was fenced": (
        {
            "controller.log": kafka(0, 9, FENCE.format(2)) + kafka(0, 30, UNFENCE.format(2)),
            "2.log": kafka(0, 0, STOP) + kafka(0, 29, START),
        },
        {"broker_restarted"},
    ),
    "clients that find no usable leader": (
        {
            "controller.log": kafka(0, 49, FENCE.format(2)) + kafka(0, 49, MOVED),
            **{f"{name}.log": "".join(log(0, s, LOST.format(name)) for s in range(0, 49, 3)) for name in ("a", "b")},
        },
        {"partition_without_leader", "broker_fenced"},
    ),
    "one client without a coordinator": (
        {"a.log": "".join(log(0, s, LOST.format("a")) for s in range(0, 49, 3))},
        set(),
    ),
    "a group that rebalances without end": (
        {"server.log": "".join(kafka(m, 0, REBALANCE.format(m)) for m in range(12))},
        {"group_rebalancing"},
    ),
    "clients that reach no advertised address": (
        {"app.log": "".join(log(m, 7 * (m % 3), UNREACHED.format(m % 3)) for m in range(40))},
        {"client_never_connected"},
    ),
    "one advertised address that is not reached at times": (
        {
            "app.log": "".join(log(m, 7, UNREACHED.format(1)) for m in range(0, 40, 9))
            + "".join(log(m, s, "order stored") for m in range(40) for s in range(8, 60, 4))
        },
        set(),
    ),
    "kafka-python without one broker": (
        {"app.log": "".join(log(5, s, PYTHON_REFUSED) for s in range(0, 50, 5)) + log(9, 0, "order stored")},
        {"broker_unreachable"},
    ),
    "a password that is wrong over TLS": (
        {"app.log": "".join(SASL.format(at=1795262400 + s) for s in range(0, 200, 20))},
        {"authentication_failed", "client_never_connected"},
    ),
    "clients above their quota": (
        {"app.log": "".join(log(m, 0, "sent, produce-throttle-time-max is 2164") for m in range(4))},
        {"client_throttled"},
    ),
    "producers that fence each other": (
        {f"{name}.log": "".join(log(m, 0, FENCED) for m in range(4)) for name in ("a", "b")},
        {"producer_fenced"},
    ),
    "what an authorizer refuses": (
        {"kafka-authorizer.log": "".join(kafka(m, 0, DENIED) for m in range(4))},
        {"authorization_failed"},
    ),
    "a restart of which only the start is logged": (
        {"server.log": kafka(0, 0, "rolled (x.Y)") + kafka(9, 9, STARTING_KRAFT) + kafka(9, 20, START)},
        {"broker_restarted"},
    ),
    "a group that was deployed": (
        {"server.log": "".join(kafka(m, 0, REBALANCE.format(m)) for m in range(2))},
        set(),
    ),
}  # fmt: skip - a table


@pytest.fixture(scope="module")
def captures(diagnosed, tmp_path_factory) -> dict[str, tuple[Path, Diagnosis]]:
    """Every capture, diagnosed in one Spark job."""
    folders = {name: tmp_path_factory.mktemp("capture") for name in CAPTURES}
    for name, (files, _) in CAPTURES.items():
        for file, text in files.items():
            (folders[name] / file).write_text(text)
    return {name: (folders[name], each) for name, each in zip(folders, diagnosed(list(folders.values())), strict=True)}


@pytest.fixture(scope="module")
def recordings(diagnosed) -> dict[str, Diagnosis]:
    folders = [folder for mode in every_mode() for folder in mode.recordings() if folder.name in HEALTHY]
    return {each.path: each for each in diagnosed(folders)}


def kinds(diagnosis: Diagnosis) -> set[str]:
    return {condition.kind for condition in diagnosis.conditions}


@pytest.mark.parametrize("name", CAPTURES)
def test_each_capture_has_exactly_its_conditions(name, captures):
    _, expected = CAPTURES[name]

    assert kinds(captures[name][1]) == expected


@pytest.mark.parametrize("name", CAPTURES)
def test_every_quoted_line_is_in_the_input(name, captures):
    folder, diagnosis = captures[name]
    quoted = [line for condition in diagnosis.conditions for line in condition.evidence]

    literal = [line.text == (folder / line.file).read_text().splitlines()[line.line - 1] for line in quoted]

    assert all(literal)
    assert len(quoted) >= len(diagnosis.conditions)


def test_a_leader_that_does_not_respond_is_reported_with_its_duration(captures):
    _, diagnosis = captures["clients that find no usable leader"]

    (condition,) = [each for each in diagnosis.conditions if each.kind == "partition_without_leader"]

    assert condition.figures["longest"] == 49
    assert condition.figures["led_by_unresponsive"] == 9
    assert not condition.ongoing


def test_an_ongoing_condition_has_no_end(captures):
    _, diagnosis = captures["a partition without a leader at the last look"]

    assert {(each.ongoing, each.until) for each in diagnosis.conditions} == {(True, None)}
    assert diagnosis.conditions[0].subjects == ("orders-1",)


def test_brokers_in_sync_anywhere_are_not_missing(captures):
    _, diagnosis = captures["a look without a time"]

    (missing,) = [each for each in diagnosis.conditions if each.kind == "broker_missing"]

    assert set(missing.subjects) == {"broker 2", "broker 3"}


def test_a_condition_of_few_brokers_names_them_in_its_title(captures):
    _, never_unfenced = captures["clients that find no usable leader"]
    _, described = captures["a look without a time"]

    (fenced,) = [each for each in never_unfenced.conditions if each.kind == "broker_fenced"]
    (missing,) = [each for each in described.conditions if each.kind == "broker_missing"]

    assert fenced.title.count("broker 2") == 2
    assert "brokers 2 and 3" in missing.title


@pytest.mark.parametrize(
    ("ids", "text"),
    [([], ""), (["3", "3"], "broker 3"), (["10", "3"], "brokers 3 and 10"), (["1", "2", "3", "4"], "4 brokers")],
)
def test_more_than_three_brokers_are_counted(ids: list[str], text: str):
    assert brokers_text(ids) == text


def test_the_most_severe_ongoing_condition_comes_first(captures):
    _, diagnosis = captures["a partition without a leader at the last look"]

    places = [condition.severity for condition in diagnosis.conditions]

    assert places == sorted(places)


def test_a_second_file_with_the_same_lines_changes_no_condition(diagnosed, captures, tmp_path: Path):
    folder, _ = captures["a restart in order"]
    text = (folder / "server.log").read_text()
    (tmp_path / "server.log").write_text(text)
    (tmp_path / "other.log").write_text(text)

    (diagnosis,) = diagnosed([tmp_path])

    assert [(each.kind, each.figures.get("restarts")) for each in diagnosis.conditions] == [("broker_restarted", None)]


def test_clients_that_reach_no_broker_are_no_evidence_against_a_single_broker(captures):
    _, diagnosis = captures["clients that reach no advertised address"]

    (condition,) = diagnosis.conditions

    assert condition.ongoing
    assert condition.figures["advertised"] == 1
    assert "172.17.0.1" in str(condition.figures["what"])


def test_an_expired_certificate_is_named_with_its_date_and_does_not_end(captures):
    _, diagnosis = captures["a certificate that expired"]

    (certificate,) = [each for each in diagnosis.conditions if each.kind == "certificate"]

    assert certificate.ongoing
    assert "Sat Feb 15 12:00:00 UTC 2021" in str(certificate.figures["what"])


def test_one_subject_is_one_client(captures):
    _, diagnosis = captures["producers that fence each other"]

    (fenced,) = diagnosis.conditions

    assert fenced.figures["processes"] == 2
    assert fenced.figures["ids"] == "tx-1"


def test_errors_of_a_condition_are_not_listed_as_unexplained(captures):
    covered = (
        "a certificate that expired",
        "a full disk",
        "a process that the kernel killed",
        "clients above their quota",
    )

    left = [each.kind for name in covered for each in captures[name][1].unexplained]

    assert left == []


def test_healthy_recordings_show_no_condition(recordings):
    shown = {path: kinds(each) for path, each in recordings.items() if each.conditions}

    assert {Path(path).parent.parent.name for path in shown} <= {"leaderless_partition"}  # a broker was killed there


def test_many_events_give_the_same_conditions_as_few(diagnosed, captures, monkeypatch: pytest.MonkeyPatch):
    """Of very many events only the things that were ever unhealthy are sampled, and Spark ranks their episodes."""
    monkeypatch.setattr("leadsman.pipeline.diagnose.MAX_TASK_EVENTS", 0)  # leaves every capture to Spark SQL
    monkeypatch.setattr("leadsman.pipeline.conditions.samples.SEPARATE_FRAME_EVENTS", 3)  # some names are common
    monkeypatch.setattr("leadsman.pipeline.diagnose_in_session.SEPARATE_FRAME_EVENTS", 0)
    folders = {str(folder): diagnosis for folder, diagnosis in captures.values()}

    again = {each.path: each.conditions for each in diagnosed(list(folders))}

    assert again == {path: diagnosis.conditions for path, diagnosis in folders.items()}
