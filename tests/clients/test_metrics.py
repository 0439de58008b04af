"""What an orchestrator, Prometheus and OpenTelemetry are told."""

from __future__ import annotations

import json
import urllib.request
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from leadsman.clients import ConsumerRunner, ExpiringProvider, PrometheusCollector, observe, probes
from leadsman.clients.measures import OF_CONSUMERS, OF_PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}


@pytest.fixture
def provider() -> Iterator[ExpiringProvider[list[str]]]:
    with ExpiringProvider(list[str], name="orders") as made:
        made.get()
        made.reset()
        made.get()
        yield made


@pytest.fixture
def runner() -> ConsumerRunner:
    return ConsumerRunner(NOBODY, ["orders"], lambda _: None, name="bookings")


def scraped(*watched: Any) -> dict[tuple[str, str], float]:
    registry = CollectorRegistry()
    registry.register(PrometheusCollector(*watched))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {(s.name, s.labels.get("reason", s.labels["name"])): s.value for f in families for s in f.samples}


def test_prometheus_is_told_what_a_provider_did(provider: ExpiringProvider[list[str]]) -> None:
    told = scraped(provider)

    assert told["leadsman_client_created_total", "orders"] == 2
    assert told["leadsman_client_expired_total", "reset"] == 1
    assert told["leadsman_client_live", "orders"] == 1
    assert told["leadsman_client_age_seconds", "orders"] >= 0
    assert len(told) == len(OF_PROVIDERS)


def test_prometheus_is_told_what_a_consumer_did(runner: ConsumerRunner) -> None:
    told = scraped(runner)

    assert told["leadsman_consumer_ready", "bookings"] == 0
    assert told["leadsman_consumer_processed_total", "bookings"] == 0
    assert len(told) == len(OF_CONSUMERS)


def test_several_are_told_apart_by_name(provider: ExpiringProvider[list[str]]) -> None:
    with ExpiringProvider(list[str], name="others") as other:
        told = scraped(provider, other)

    assert told["leadsman_client_created_total", "orders"] == 2
    assert told["leadsman_client_created_total", "others"] == 0


def test_opentelemetry_is_told_the_same(provider: ExpiringProvider[list[str]], runner: ConsumerRunner) -> None:
    reader = InMemoryMetricReader()
    observe(MeterProvider([reader]).get_meter("orders"), provider, runner)

    data: Any = reader.get_metrics_data()

    told = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    (expired,) = told["leadsman.client.expired"].data.data_points
    assert (expired.value, dict(expired.attributes)) == (1, {"name": "orders", "reason": "reset"})
    assert set(told) == {measure.name for measure in (*OF_PROVIDERS, *OF_CONSUMERS)}


def asked(port: int, page: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_an_orchestrator_hears_that_a_consumer_is_alive_and_not_ready(
    provider: ExpiringProvider[list[str]], runner: ConsumerRunner
) -> None:
    with probes(0, provider, runner, address="127.0.0.1") as port:
        live, ready, metrics, other = (asked(port, page) for page in ("live", "ready?x=1", "metrics", "etc/passwd"))

    assert live[0] == HTTPStatus.OK
    assert ready[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert json.loads(ready[1]) == {"bookings": {"well": False, "state": "starting", "because": ""}}
    assert "leadsman_client_created_total" in metrics[1]
    assert other[0] == HTTPStatus.NOT_FOUND


def test_a_consumer_that_failed_is_not_alive() -> None:
    runner = ConsumerRunner({"bootstrap.servers": "127.0.0.1:1"}, ["orders"], lambda _: None)
    with pytest.raises(Exception, match=r"group\.id"):
        runner.run()

    with probes(0, runner, address="127.0.0.1") as port:
        status, text = asked(port, "live")

    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "group.id" in text
