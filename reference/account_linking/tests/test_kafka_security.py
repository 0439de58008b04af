"""Workers, receiver and Spark reach a real broker by SCRAM over TLS, and by OAUTHBEARER; nothing shows the password."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import boto3
import httpx
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from account_linking import receiver
from account_linking.demo.deployment import create_topics
from account_linking.demo.sample_records import PURCHASE, raw_record
from account_linking.demo.simulator.server import serve
from account_linking.errors import InvalidSettings
from account_linking.kafka_security import _quoted, client_settings, iam_token, read_credentials, spark_options
from account_linking.requester.publishing import InvocationPublisher, lambda_producers
from account_linking.requester.worker import Outgoing
from account_linking.tables.__main__ import main
from account_linking.topics import TRANSACTIONS, WEBHOOKS
from leadsman.lab.brokers.cluster import ADDRESS, Cluster, ClusterPlan
from leadsman.lab.network.forwarder import Forwarder
from leadsman.lab.processes.ports import free_ports
from leadsman_clients import NotDelivered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from account_linking.tables.layout import Layout

USER, PASSWORD = "worker", 'a "planted" pass\\word; with=marks'
TIMEOUT = timedelta(seconds=60)
SERVER_LOGIN = "org.apache.kafka.common.security"


@dataclass(frozen=True, slots=True)
class SecureBroker:
    """A broker with a plain listener for the test, and a listener with TLS and SASL for the application."""

    cluster: Cluster
    address: str
    folder: Path

    @property
    def settings(self) -> dict[str, str]:
        return {
            "KAFKA_BOOTSTRAP": self.address,
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
            "KAFKA_SASL_USERNAME": USER,
            "KAFKA_SASL_PASSWORD_FILE": str(self.folder / "password"),
            "KAFKA_CA_FILE": str(self.folder / "ca.pem"),
        }


def write_certificates(folder: Path) -> None:
    """Write ca.pem, and broker.pem with key and certificate for 127.0.0.1."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in ("lab CA", "broker"))
    authority = x509.BasicConstraints(ca=True, path_length=None)
    ca = certificate(ca_name, ca_key.public_key(), authority).issuer_name(ca_name).sign(ca_key, hashes.SHA256())
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address(ADDRESS))])
    own = certificate(name, key.public_key(), address).issuer_name(ca_name).sign(ca_key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "ca.pem").write_bytes(ca.public_bytes(pem))
    (folder / "broker.pem").write_bytes(secret + own.public_bytes(pem) + ca.public_bytes(pem))


def certificate(subject: x509.Name, public: Any, extension: x509.ExtensionType) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).public_key(public)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(hours=1))
    return builder.not_valid_after(now + timedelta(days=1)).add_extension(extension, critical=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    folder = tmp_path_factory.mktemp("secure")
    write_certificates(folder)
    (folder / "password").write_text(PASSWORD + "\n")
    with Forwarder() as forwarder:
        plan = ClusterPlan(settings=broker_settings(folder), proxy_ports={1: forwarder.port})
        with Cluster(plan) as cluster:
            forwarder.target = (ADDRESS, cluster.brokers[0].ports["PROXY"])
            create_topics(cluster.bootstrap, 1)
            add_user(cluster.bootstrap)
            yield SecureBroker(cluster, f"{ADDRESS}:{forwarder.port}", folder)


def broker_settings(folder: Path) -> dict[str, str]:
    listener = "listener.name.proxy"
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXY:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,OAUTHBEARER",
        f"{listener}.ssl.keystore.type": "PEM",
        f"{listener}.ssl.keystore.location": str(folder / "broker.pem"),
        f"{listener}.scram-sha-512.sasl.jaas.config": f"{SERVER_LOGIN}.scram.ScramLoginModule required;",
        f"{listener}.oauthbearer.sasl.jaas.config": f"{SERVER_LOGIN}.oauthbearer.OAuthBearerLoginModule required "
        'unsecuredLoginStringClaim_sub="broker";',
    }


def add_user(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    user = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
    for future in admin.alter_user_scram_credentials([user]).values():
        future.result(timeout=60)


def publish(settings: Mapping[str, str], records: list[Outgoing], *, timeout: timedelta = TIMEOUT) -> None:
    producers = lambda_producers(settings, timeout=timeout)
    try:
        InvocationPublisher(producers)(records, timeout=timeout)
    finally:
        producers.close()


@pytest.mark.lab
def test_the_worker_publishes_by_scram_over_tls(broker: SecureBroker) -> None:
    publish(broker.settings, [Outgoing(topic="item.state", key="k", value=b"by scram")])

    assert "by scram" in broker.cluster.read_topic("item.state")


@pytest.mark.lab
@pytest.mark.parametrize("change", ["password", "authority"])
def test_a_wrong_password_and_a_foreign_certificate_deliver_nothing(
    broker: SecureBroker, change: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_certificates(tmp_path)
    (tmp_path / "password").write_text("planted, and wrong")
    wrong = {
        "password": {"KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "password")},
        "authority": {"KAFKA_CA_FILE": str(tmp_path / "ca.pem")},
    }

    with pytest.raises(NotDelivered) as refused:
        publish(
            {**broker.settings, **wrong[change]},
            [Outgoing(topic="item.state", key="k", value=f"wrong {change}".encode())],
            timeout=timedelta(seconds=8),
        )

    assert f"wrong {change}" not in broker.cluster.read_topic("item.state")
    assert "planted" not in str(refused.value) + caplog.text


@pytest.mark.lab
def test_the_receiver_stores_webhooks_by_scram_over_tls(broker: SecureBroker, tmp_path: Path) -> None:
    secret = "a-secret-of-enough-characters"
    settings = {**broker.settings, "FDX_WEBHOOK_SECRET": secret, "FDX_WEBHOOK_SOURCES": "127.0.0.0/8"}
    settings["ACCOUNT_LINKING_STORE"] = str(tmp_path / "items.sqlite")
    body = b'{"notificationType": "TRANSACTIONS_UPDATED", "customerId": "by scram"}'

    with serve(receiver.app(settings), free_ports(1)[0]) as url:
        answer = httpx.post(f"{url}/webhooks/fdx/{secret}", content=body, timeout=20)

    assert answer.status_code == 200
    assert body.decode() in broker.cluster.read_topic(WEBHOOKS)


@pytest.fixture
def variables(broker: SecureBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in broker.settings.items():
        monkeypatch.setenv(name, value)


@pytest.mark.lab
@pytest.mark.spark
@pytest.mark.usefixtures("variables")
def test_spark_reads_and_writes_by_scram_over_tls_and_shows_no_password(
    broker: SecureBroker, spark: SparkSession, layout: Layout, capfd: pytest.CaptureFixture[str]
) -> None:
    publish(broker.settings, [raw_record({**PURCHASE, "transaction_id": name}) for name in ("t1", "t2")])

    main(["stream", "--once", "--tables", layout.root, "--bootstrap", broker.address], spark)

    written = "".join(capfd.readouterr())
    for path in Path(layout.root).rglob("*"):
        written += path.read_bytes().decode(errors="replace") if path.is_file() else ""
    changes = [json.loads(each) for each in broker.cluster.read_topic(TRANSACTIONS)]
    assert sorted(each["provider_transaction_id"] for each in changes) == ["t1", "t2"]
    assert "planted" not in written


def unsecured_token(_config: str) -> tuple[str, float]:
    """A token that the lab's broker accepts, for AWS's token, which only MSK accepts."""
    expires = time.time() + 3600
    parts = ({"alg": "none"}, {"sub": "worker", "iat": time.time(), "exp": expires})
    texts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join([*texts, ""]), expires


@pytest.mark.lab
def test_the_worker_publishes_with_a_token_that_it_makes_itself(
    broker: SecureBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("account_linking.kafka_security.iam_token", lambda _settings: unsecured_token)
    settings = {**broker.settings, "KAFKA_SASL_MECHANISM": "AWS_MSK_IAM"}

    publish(settings, [Outgoing(topic="item.state", key="k", value=b"by token")])

    assert "by token" in broker.cluster.read_topic("item.state")


def test_the_token_for_msk_is_a_signed_request_to_connect_in_the_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted")

    token, expires = iam_token({"AWS_REGION": "eu-central-1"})("")

    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    query = parse_qs(url.query)
    assert url.hostname == "kafka.eu-central-1.amazonaws.com"
    assert query["Action"] == ["kafka-cluster:Connect"]
    assert len(query["X-Amz-Signature"][0]) == 64
    assert 0 < expires - time.time() <= 900
    assert "planted" not in url.query


@pytest.mark.usefixtures("aws_variables")
def test_credentials_come_from_a_secret_as_msk_uses_it() -> None:
    client = boto3.client("secretsmanager")
    text = json.dumps({"username": USER, "password": PASSWORD})
    good = client.create_secret(Name="AmazonMSK_worker", SecretString=text)["ARN"]
    bad = client.create_secret(Name="AmazonMSK_bad", SecretString='"planted"')["ARN"]

    user = read_credentials({"KAFKA_SASL_SECRET_ARN": good})

    assert (user.username, user.password) == (USER, PASSWORD)
    assert "planted" not in repr(user)
    with pytest.raises(InvalidSettings, match="no JSON object") as refused:
        read_credentials({"KAFKA_SASL_SECRET_ARN": bad})
    assert "planted" not in str(refused.value)


def test_a_new_password_is_read_for_the_next_producer(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("old")
    settings = {
        "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "KAFKA_SASL_MECHANISM": "SCRAM-SHA-256",
        "KAFKA_SASL_USERNAME": USER,
        "KAFKA_SASL_PASSWORD_FILE": str(tmp_path / "password"),
    }
    before = client_settings(settings)

    (tmp_path / "password").write_text("new")

    assert (before["sasl.password"], client_settings(settings)["sasl.password"]) == ("old", "new")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"KAFKA_SECURITY_PROTOCOL": "sasl_ssl"}, "must be one of: PLAINTEXT, SSL, SASL_SSL"),
        ({"KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT"}, "must be one of"),
        ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL"}, "KAFKA_SASL_MECHANISM is 'not set'"),
        ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "PLAIN"}, "must be one of"),
        ({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512"}, "SCRAM needs"),
        ({"KAFKA_SECURITY_PROTOCOL": "SSL", "KAFKA_CA_FILE": "/does/not/exist"}, "There is no file"),
    ],
)
def test_incomplete_settings_are_refused(settings: dict[str, str], sentence: str) -> None:
    for make in (client_settings, spark_options):
        with pytest.raises(InvalidSettings, match=sentence):
            make(settings)


def test_without_settings_the_clients_are_as_before() -> None:
    assert client_settings({}) == {"security.protocol": "PLAINTEXT"}
    assert spark_options({}) == {"kafka.security.protocol": "PLAINTEXT"}


def test_iam_without_a_region_is_refused_by_the_worker() -> None:
    with pytest.raises(InvalidSettings, match="AWS_REGION"):
        client_settings({"KAFKA_SECURITY_PROTOCOL": "SASL_SSL", "KAFKA_SASL_MECHANISM": "AWS_MSK_IAM"})


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20))
def test_any_password_is_one_value_of_the_login(password: str) -> None:
    quoted = _quoted(password)

    assert json.loads(quoted) == password  # JAAS escapes a quote and a backslash as JSON does
