"""The receiver behind API Gateway: AWS's own runtime client, frozen between two webhooks, stores both."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from account_linking.demo.deployment import create_topics
from account_linking.demo.emulator.environment import Environment, LambdaFunction
from account_linking.topics import WEBHOOKS
from leadsman.lab.processes.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leadsman.lab.brokers.cluster import Cluster

SECRET = "a-planted-secret-of-enough-characters"


@pytest.fixture
def environment(cluster: Cluster, tmp_path: Path) -> Iterator[Environment]:
    create_topics(cluster.bootstrap, 1)
    with Environment(function(cluster.bootstrap, tmp_path / "logs")) as running:
        yield running


def function(bootstrap: str, logs: Path) -> LambdaFunction:
    variables = {
        "KAFKA_BOOTSTRAP": bootstrap,
        "ACCOUNT_LINKING_STORE": str(logs.parent / "items.sqlite"),
        "FDX_WEBHOOK_SECRET": SECRET,
        "FDX_WEBHOOK_SOURCES": "192.0.2.0/24",
    }
    return LambdaFunction(
        name="receiver",
        handler="account_linking.receiver_lambda.handler",
        time_limit_seconds=20,
        variables=variables,
        logs=logs,
    )


def http_event(body: bytes, *, secret: str = SECRET, source: str = "192.0.2.7") -> dict[str, Any]:
    """An event of an HTTP API (payload format 2.0). The client has sent X-Forwarded-For itself."""
    path = f"/webhooks/fdx/{secret}"
    return {
        "version": "2.0",
        "routeKey": "POST /webhooks/{provider}/{secret}",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "x-forwarded-for": "192.0.2.1", "host": "api.example"},
        "requestContext": {
            "http": {"method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": source},
            "stage": "$default",
        },
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }


@pytest.mark.lab
def test_a_frozen_receiver_stores_webhooks_byte_for_byte(environment: Environment, cluster: Cluster) -> None:
    bodies = [json.dumps({"customerId": f"lambda-{number}", "note": "ü "}).encode() for number in range(2)]

    answers = [environment.invoke(http_event(body)) for body in bodies]

    assert [(each.error, each.response["statusCode"]) for each in answers] == [("", 200), ("", 200)]
    assert set(cluster.read_topic(WEBHOOKS)) >= {body.decode() for body in bodies}
    assert environment.cold_starts == 1


def test_no_log_of_the_function_has_the_secret_whatever_the_answer(tmp_path: Path) -> None:
    (closed_port,) = free_ports(1)
    events = [http_event(b"{}"), http_event(b"{}", source="198.51.100.1"), http_event(b"{}", secret=f"{SECRET}x")]

    with Environment(function(f"127.0.0.1:{closed_port}", tmp_path)) as environment:
        statuses = [environment.invoke(event).response["statusCode"] for event in events]

    log = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert statuses == [503, 401, 401]
    assert "refused a webhook" in log
    assert "planted" not in log


@pytest.mark.lab
def test_the_address_is_the_one_that_api_gateway_saw(environment: Environment, cluster: Cluster) -> None:
    body = b'{"customerId": "forged"}'
    forged, guessed = http_event(body, source="198.51.100.1"), http_event(body, secret="planted-guess")

    answers = [environment.invoke(event) for event in (forged, guessed)]

    log = "".join(path.read_text() for path in environment.function.logs.rglob("*") if path.is_file())
    assert [each.response["statusCode"] for each in answers] == [401, 401]
    assert body.decode() not in cluster.read_topic(WEBHOOKS)
    assert "planted" not in log
