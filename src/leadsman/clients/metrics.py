"""Hands what providers and consumers measure to Prometheus and to OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leadsman.clients.errors import MissingLibrary
from leadsman.clients.measures import OF_CONSUMERS, OF_PROVIDERS, Measure, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from leadsman.clients.measures import Watched


class PrometheusCollector:
    """Register it: `prometheus_client.REGISTRY.register(PrometheusCollector(producers, runner))`."""

    def __init__(self, *watched: Watched) -> None:
        self._watched = watched

    def collect(self) -> Iterator[Any]:
        """Return what is measured now; called at each scrape."""
        try:
            from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415 (only who scrapes)
        except ImportError as error:
            raise MissingLibrary(
                "prometheus-client is not installed. Install it: pip install 'leadsman[clients]'"
            ) from error
        families: dict[str, Any] = {}
        for measure, name, values in read(self._watched):
            family = CounterMetricFamily if measure.counts else GaugeMetricFamily
            labels = ["name", measure.label] if measure.label else ["name"]
            found = families.setdefault(measure.prometheus, family(measure.prometheus, measure.says, labels=labels))
            for label, value in values.items():
                found.add_metric([name, label] if measure.label else [name], value)
        yield from families.values()


def observe(meter: Any, *watched: Watched) -> None:  # noqa: ANN401 (an opentelemetry.metrics.Meter)
    """Have an OpenTelemetry meter read what is measured, whenever it exports."""
    try:
        from opentelemetry.metrics import Observation  # noqa: PLC0415 (only who exports needs it)
    except ImportError as error:
        raise MissingLibrary("opentelemetry-api is not installed. Install it: pip install opentelemetry-api") from error
    for measure in (*OF_PROVIDERS, *OF_CONSUMERS):
        make = meter.create_observable_counter if measure.counts else meter.create_observable_gauge
        told = _callback(measure, watched, Observation)
        make(measure.name, callbacks=[told], unit=measure.unit, description=measure.says)


def _callback(
    wanted: Measure, watched: Iterable[Watched], observation: Callable[..., Any]
) -> Callable[[Any], Iterable[Any]]:
    several = tuple(watched)

    def tell(_: Any) -> Iterable[Any]:  # noqa: ANN401 (options, of which there are none)
        for measure, name, values in read(several):
            if measure is wanted:
                for label, value in values.items():
                    yield observation(value, {"name": name, **({measure.label: label} if measure.label else {})})

    return tell
