"""A cluster that is reached by TLS and password alone is read with the properties file of Kafka's own tools."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from leadsman.java import runtime
from leadsman.lab.brokers.cluster import Cluster, ClusterPlan
from leadsman.watch.kafka.client_settings import admin_settings, write_settings
from leadsman.watch.kafka.cluster_offsets import ClusterOffsets, ClusterUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LINE = "2026-02-16 12:00:00.000 ERROR first failed"

pytestmark = [pytest.mark.lab, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key store and a trust store as Java makes them."""
    folder = tmp_path_factory.mktemp("keys")
    keytool = str(runtime.find_java().resolve().with_name("keytool"))
    store = ["-storepass", "hunter2store", "-storetype", "JKS"]
    own = ["-keystore", str(folder / "own.jks"), "-alias", "broker", *store]
    names = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"]
    certificate = str(folder / "broker.crt")
    for call in (
        ["-genkeypair", "-keyalg", "RSA", *own, "-keypass", "hunter2store", *names],
        ["-exportcert", *own, "-file", certificate],
        ["-importcert", "-noprompt", "-keystore", str(folder / "trust.jks"), *store, "-file", certificate],
    ):
        subprocess.run([keytool, *call], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def guarded(keys: Path) -> Iterator[Cluster]:
    user = 'username="admin" password="hunter2admin" user_admin="hunter2admin" user_reader="hunter2reader"'
    settings = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": (
            f"org.apache.kafka.common.security.plain.PlainLoginModule required {user};"
        ),
        "ssl.keystore.location": str(keys / "own.jks"),
        "ssl.keystore.password": "hunter2store",
        "ssl.keystore.type": "JKS",
        "ssl.truststore.location": str(keys / "trust.jks"),
        "ssl.truststore.password": "hunter2store",
    }
    with Cluster(ClusterPlan(settings=settings)) as running:
        yield running


def settings_of(keys: Path, folder: Path, password: str) -> str:
    config = folder / "client.properties"
    config.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        f'    username="reader" password="{password}";\n'
        f"ssl.truststore.location={keys / 'trust.jks'}\nssl.truststore.password=hunter2store\n"
    )
    return write_settings(config, folder)


def test_a_guarded_topic_is_read(guarded: Cluster, keys: Path, tmp_path: Path, watch_topics: Callable[..., Any]):
    settings = settings_of(keys, tmp_path, "hunter2reader")
    write_line(guarded.bootstrap, settings)
    watch = watch_topics("logs")
    object.__setattr__(watch.request, "bootstrap", guarded.bootstrap)
    object.__setattr__(watch.request, "settings_file", settings)

    rows = watch.to_end().to_pylist()

    assert [row["text"] for row in rows if row["name"] == "error"] == [LINE]


def write_line(bootstrap: str, settings: str) -> None:
    """Create the topic, which brokers of tests do not do by themselves, and write one record to it."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]  # its own

    client = admin_settings(bootstrap, settings)
    admin, producer = AdminClient(client), Producer(client)
    admin.create_topics([NewTopic("logs", 1)])["logs"].result(60)
    errors: list[object] = []
    producer.produce("logs", key="app", value=LINE, on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(60) == 0
    assert errors == [None]


def test_a_wrong_password_is_reported_with_the_broker_s_own_reason(guarded: Cluster, keys: Path, tmp_path: Path):
    offsets = ClusterOffsets(guarded.bootstrap, settings_of(keys, tmp_path, "hunter2wrong"))

    with pytest.raises(ClusterUnavailable, match="uthenticat"):
        offsets.topics(["logs"])
