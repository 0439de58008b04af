"""Exports the metrics of providers and consumers to Prometheus and OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman_clients.errors import MissingLibrary
from leadsman_clients.observability.metrics import CONSUMER_METRICS, PROVIDER_METRICS, Metric, read_metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman_clients.observability.metrics import MetricSource


class PrometheusCollector:
    """Register it: `prometheus_client.REGISTRY.register(PrometheusCollector(producers, runner))`."""

    def __init__(self, *sources: MetricSource) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Any]:
        """Return the metric families with their current values; called at each scrape."""
        try:
            from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
        except ImportError as error:
            raise MissingLibrary(
                "prometheus-client is not installed. Install it: pip install 'leadsman-clients[prometheus]'"
            ) from error
        families: dict[str, Any] = {}
        for metric, name, values in read_metrics(self._sources):
            make = CounterMetricFamily if metric.is_counter else GaugeMetricFamily
            labels = ["name", metric.label] if metric.label else ["name"]
            prometheus_name = metric.prometheus_name
            family = families.setdefault(prometheus_name, make(prometheus_name, metric.description, labels=labels))
            for label, value in values.items():
                family.add_metric([name, label] if metric.label else [name], value)
        yield from families.values()


def register_metrics(meter: Any, *sources: MetricSource) -> None:  # noqa: ANN401 - an opentelemetry.metrics.Meter
    """Register an observable instrument of an OpenTelemetry meter for each metric."""
    try:
        from opentelemetry.metrics import Observation
    except ImportError as error:
        raise MissingLibrary(
            "opentelemetry-api is not installed. Install it: pip install 'leadsman-clients[opentelemetry]'"
        ) from error
    for metric in (*PROVIDER_METRICS, *CONSUMER_METRICS):
        make = meter.create_observable_counter if metric.is_counter else meter.create_observable_gauge
        callback = _callback(metric, sources, Observation)
        make(metric.name, callbacks=[callback], unit=metric.unit, description=metric.description)


def _callback(
    metric: Metric, sources: Iterable[MetricSource], observation: Callable[..., Any]
) -> Callable[[Any], Iterable[Any]]:
    source_list = tuple(sources)

    def observe(_: Any) -> Iterable[Any]:  # noqa: ANN401 - CallbackOptions, of which none is used
        for each, name, values in read_metrics(source_list):
            if each is metric:
                for label, value in values.items():
                    yield observation(value, {"name": name, **({metric.label: label} if metric.label else {})})

    return observe
