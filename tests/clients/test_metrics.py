"""Probes for an orchestrator, and metrics for Prometheus and OpenTelemetry."""

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

from leadsman_clients import ConsumerRunner, ExpiringProvider, PrometheusCollector, register_metrics, serve_probes
from leadsman_clients.observability.metrics import CONSUMER_METRICS, PROVIDER_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

UNREACHABLE = {"bootstrap.servers": "127.0.0.1:1", "group.id": "g", "log_level": 0}


@pytest.fixture
def provider() -> Iterator[ExpiringProvider[list[str]]]:
    with ExpiringProvider(list[str], name="orders") as made:
        made.get()
        made.reset()
        made.get()
        yield made


@pytest.fixture
def runner() -> ConsumerRunner:
    return ConsumerRunner(UNREACHABLE, ["orders"], lambda _: None, name="bookings")


def scraped(*sources: Any) -> dict[tuple[str, str], float]:
    registry = CollectorRegistry()
    registry.register(PrometheusCollector(*sources))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    return {(s.name, s.labels.get("reason", s.labels["name"])): s.value for f in families for s in f.samples}


def test_prometheus_gets_the_metrics_of_a_provider(provider: ExpiringProvider[list[str]]) -> None:
    values = scraped(provider)

    assert values["leadsman_client_created_total", "orders"] == 2
    assert values["leadsman_client_expired_total", "reset"] == 1
    assert values["leadsman_client_live", "orders"] == 1
    assert values["leadsman_client_age_seconds", "orders"] >= 0
    assert len(values) == len(PROVIDER_METRICS)


def test_prometheus_gets_the_metrics_of_a_consumer(runner: ConsumerRunner) -> None:
    values = scraped(runner)

    assert values["leadsman_consumer_ready", "bookings"] == 0
    assert values["leadsman_consumer_processed_total", "bookings"] == 0
    assert len(values) == len(CONSUMER_METRICS)


def test_each_source_has_its_name_as_a_label(provider: ExpiringProvider[list[str]]) -> None:
    with ExpiringProvider(list[str], name="others") as other:
        values = scraped(provider, other)

    assert values["leadsman_client_created_total", "orders"] == 2
    assert values["leadsman_client_created_total", "others"] == 0


def test_opentelemetry_gets_the_same_metrics(provider: ExpiringProvider[list[str]], runner: ConsumerRunner) -> None:
    reader = InMemoryMetricReader()
    register_metrics(MeterProvider([reader]).get_meter("orders"), provider, runner)

    data: Any = reader.get_metrics_data()

    values = {m.name: m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}
    (expired,) = values["leadsman.client.expired"].data.data_points
    assert (expired.value, dict(expired.attributes)) == (1, {"name": "orders", "reason": "reset"})
    assert set(values) == {metric.name for metric in (*PROVIDER_METRICS, *CONSUMER_METRICS)}


def get(port: int, page: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=10) as response:
            return response.status, response.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_probes_report_that_a_consumer_is_alive_and_not_ready(
    provider: ExpiringProvider[list[str]], runner: ConsumerRunner
) -> None:
    with serve_probes(0, provider, runner, address="127.0.0.1") as port:
        live, ready, metrics, other = (get(port, page) for page in ("live", "ready?x=1", "metrics", "etc/passwd"))

    assert live[0] == HTTPStatus.OK
    assert ready[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert json.loads(ready[1]) == {"bookings": {"ok": False, "state": "starting", "reason": ""}}
    assert "leadsman_client_created_total" in metrics[1]
    assert other[0] == HTTPStatus.NOT_FOUND


def test_a_consumer_that_failed_is_not_alive() -> None:
    runner = ConsumerRunner({"bootstrap.servers": "127.0.0.1:1"}, ["orders"], lambda _: None)
    with pytest.raises(Exception, match=r"group\.id"):
        runner.run()

    with serve_probes(0, runner, address="127.0.0.1") as port:
        status, text = get(port, "live")

    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert "group.id" in text
