"""`collect kafka` against a real broker: it says what Kafka's own tools say, and keeps no secret."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from kafka import KafkaConsumer, KafkaProducer

from leadsman.cli.commands.collect import command
from leadsman.collect.collector import NotCollected
from leadsman.collect.kafka.cluster_address import cluster_address, open_cluster
from leadsman.java import jars, runtime
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from leadsman.pipeline.events import EventRow

pytestmark = pytest.mark.lab

TOOLS = {
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
OURS_ALONE = {"epoch", "version", "broker"}
"""Labels that the tools do not print: the leader's epoch, a broker's version, of whom producers were asked."""

OF_THE_MOMENT = {"arrivals"}
"""Labels that differ with the time of asking: arrivals are by tenths of the time until then."""

EventKey = tuple[str, str, float | None]


def collected(*words: str) -> int:
    answer = CliRunner().invoke(command, ["kafka", *words], standalone_mode=False)
    assert answer.exception is None, answer.output
    return int(answer.return_value or 0)


def brokers_of(bootstrap: str) -> list[int]:
    with open_cluster(cluster_address(bootstrap, None)) as admin:
        return admin.brokers()


def events_named(rows: list[EventRow], *names: str) -> set[EventKey]:
    """What the events say, without who printed them and when."""
    apart = OURS_ALONE | OF_THE_MOMENT
    return {
        (row.name, str(sorted((key, text) for key, text in row.labels.items() if key not in apart)), row.value)
        for row in rows
        if row.name in names
    }


@pytest.fixture(scope="module")
def busy(cluster: Cluster) -> Cluster:
    """A cluster with a topic, five short-lived producers, and a group that has read it and is gone."""
    cluster.create_topic("orders-of-the-day", partitions=2)
    for number in range(5):
        producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, enable_idempotence=True)
        producer.send("orders-of-the-day", b"one", partition=number % 2).get(30)
        producer.close()
    where = {"bootstrap_servers": cluster.bootstrap, "auto_offset_reset": "earliest"}
    consumer = KafkaConsumer("orders-of-the-day", group_id="billing", **where)
    while not consumer.poll(1000):
        pass
    consumer.commit()
    consumer.close()
    return cluster


@pytest.fixture
def tools(busy: Cluster, tmp_path: Path) -> Path:
    """A folder with Kafka's tools, as an installation of Kafka has them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, main in TOOLS.items():
        program = runtime.java_command(main, jars.fetch_jars(f"kafka-{busy.plan.kafka}"), heap_mb=128)
        path = folder / f"{name}.sh"
        path.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.timeout(300)
def test_the_plain_commands_print_the_same(
    busy: Cluster, tools: Path, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    where = ("--bootstrap", busy.bootstrap, "--topic", "orders-of-the-day")
    assert collected(*where, "--out", str(tmp_path / "ours")) == 0
    script = CliRunner().invoke(command, ["kafka", *where, "--print-commands"]).output

    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
    pasted = subprocess.run(["sh"], input=script, env=environment, capture_output=True, text=True, check=True)
    (tmp_path / "pasted.txt").write_text(pasted.stdout)

    ours, theirs = rows(tmp_path / "ours"), rows(tmp_path / "pasted.txt")
    names = ("partition.state", "producers.counted", "group.lag", "group.state", "broker.seen", "setting", "log.size")
    growing = ("__consumer_offsets",)
    assert {each for each in events_named(ours, *names) if growing[0] not in each[1]} == {
        each for each in events_named(theirs, *names) if growing[0] not in each[1]
    }
    assert {row.name for row in ours} >= set(names)


def test_producers_are_counted_by_partition_with_those_of_one_batch(
    busy: Cluster, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    collected("--bootstrap", busy.bootstrap, "--topic", "orders-of-the-day", "--out", str(tmp_path / "c"))

    counted = {row.labels["partition"]: row for row in rows(tmp_path / "c") if row.name == "producers.counted"}

    assert {number: (row.value, row.labels["single"]) for number, row in counted.items()} == {
        "0": (3.0, "3"),
        "1": (2.0, "2"),
    }
    assert counted["0"].labels["broker"] == "1"
    assert counted["0"].labels["oldest"] < counted["0"].labels["newest"]


def test_a_topic_that_is_not_there_is_missing_and_the_rest_is_had(
    busy: Cluster, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    code = collected("--bootstrap", busy.bootstrap, "--topic", "no-such-topic", "--out", str(tmp_path / "c"))

    missing = {row.labels["what"] for row in rows(tmp_path / "c") if row.name == "item.not_collected"}
    assert code == 3
    assert missing == {"kafka/topics.txt", "kafka/producers.txt"}


def test_a_cluster_that_does_not_answer_is_missing_altogether(
    rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    code = collected("--bootstrap", "127.0.0.1:1", "--out", str(tmp_path / "c"))

    missing = [row for row in rows(tmp_path / "c") if row.name == "item.not_collected"]
    assert code == 2
    assert len(missing) == 8
    assert all("No connection to" in str(row.text) for row in missing)


def test_no_server_at_all_is_bad_usage() -> None:
    answer = CliRunner().invoke(command, ["kafka"], standalone_mode=False)

    assert "--bootstrap" in str(answer.exception)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key store and a trust store as Java makes them."""
    folder = tmp_path_factory.mktemp("keys")
    keytool = str(runtime.find_java().resolve().with_name("keytool"))
    store = ["-storepass", "hunter2store", "-storetype"]
    own = ["-keystore", str(folder / "own.jks"), "-alias", "broker"]
    names = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"]
    certificate = str(folder / "broker.crt")
    for call in (
        ["-genkeypair", "-keyalg", "RSA", *own, *store, "JKS", "-keypass", "hunter2store", *names],
        ["-exportcert", *own, *store, "JKS", "-file", certificate],
        ["-importcert", "-noprompt", "-keystore", str(folder / "trust.jks"), *store, "JKS", "-file", certificate],
    ):
        subprocess.run([keytool, *call], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def guarded(keys: Path) -> Iterator[Cluster]:
    """A broker that talks over TLS only, to whom it knows by a password."""
    user = 'username="admin" password="hunter2admin" user_admin="hunter2admin" user_reader="hunter2reader"'
    login = f"org.apache.kafka.common.security.plain.PlainLoginModule required {user};"
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": login,
        "ssl.keystore.location": str(keys / "own.jks"),
        "ssl.keystore.password": "hunter2store",
        "ssl.keystore.type": "JKS",
        "ssl.truststore.location": str(keys / "trust.jks"),
        "ssl.truststore.password": "hunter2store",
    }
    with Cluster(ClusterPlan(settings=settings)) as running:
        yield running


@pytest.fixture
def properties(keys: Path, tmp_path: Path) -> Path:
    """What the same person gives Kafka's own tools."""
    path = tmp_path / "client.properties"
    path.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        '    username="reader" password="hunter2reader";\n'
        f"ssl.truststore.location={keys / 'trust.jks'}\nssl.truststore.password=hunter2store\n"
    )
    return path


@pytest.mark.timeout(300)
def test_a_clients_properties_open_a_guarded_cluster_and_no_secret_is_kept(
    guarded: Cluster, properties: Path, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    capture = tmp_path / "c"

    code = collected("--bootstrap", guarded.bootstrap, "--command-config", str(properties), "--out", str(capture))

    settings = {row.labels["key"]: row.labels["value"] for row in rows(capture) if row.name == "setting"}
    assert code == 0
    assert settings["sasl.enabled.mechanisms"] == "PLAIN"
    assert [path for path in capture.rglob("*.*") if "hunter2" in path.read_text()] == []


@pytest.mark.timeout(300)
def test_a_wrong_password_is_the_reason_that_is_noted(
    guarded: Cluster, properties: Path, rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    properties.write_text(properties.read_text().replace("hunter2reader", "hunter2wrong"))

    where = ("--bootstrap", guarded.bootstrap, "--command-config", str(properties))
    code = collected(*where, "--out", str(tmp_path / "c"))

    missing = [str(row.text) for row in rows(tmp_path / "c") if row.name == "item.not_collected"]
    assert code == 2
    assert len(missing) == 8
    assert [text for text in missing if "hunter2" in text] == []


@pytest.mark.timeout(300)
def test_a_broker_that_was_killed_a_moment_ago_is_named_and_the_others_are_collected(
    rows: Callable[[Path], list[EventRow]], tmp_path: Path
) -> None:
    with Cluster(ClusterPlan(brokers=2)) as cluster:
        cluster.create_topic("orders", partitions=2, replicas=2)
        survivor, killed = cluster.brokers
        wait_for(
            lambda: len(list(cluster.folder.rglob("orders-[01]"))) == 2 * 2,
            timeout=timedelta(minutes=1),
            what="both brokers to make the logs of both partitions",
        )
        killed.kill()
        described = [brokers_of(survivor.bootstrap) for _ in range(20)]
        code = collected("--bootstrap", survivor.bootstrap, "--out", str(tmp_path / "c"))

    found = rows(tmp_path / "c")
    reasons = [str(row.text) for row in found if row.name == "item.not_collected"]
    settings = {row.labels["broker"] for row in found if row.name == "setting" and "broker" in row.labels}
    sizes = [row for row in found if row.name == "log.size"]
    assert all(survivor.id in each for each in described), "the dead broker was asked, and no other one"
    assert code == 3
    assert reasons
    assert all(f"broker {killed.id}: " in reason for reason in reasons if "brokers did not answer" in reason)
    assert settings == {str(survivor.id)}
    assert sizes


@pytest.mark.timeout(300)
def test_what_changes_a_cluster_is_sent_once() -> None:
    sent = 0

    def delete(admin: Any) -> object:
        nonlocal sent
        sent += 1
        return admin.delete_topics(["orders"])

    with Cluster(ClusterPlan()) as cluster, open_cluster(cluster_address(cluster.bootstrap, None)) as admin:
        admin.brokers()
        cluster.brokers[0].kill()
        with pytest.raises(NotCollected):
            admin.change(delete)

    assert sent == 1
