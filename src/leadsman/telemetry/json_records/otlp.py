"""OTLP, the protocol of OpenTelemetry, as JSON: log records as flat records, metrics as Prometheus's text.

https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: names in lower camel case, 64-bit integers as text.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from leadsman.telemetry.json_records import json_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SCOPES = ("scopeLogs", "instrumentationLibraryLogs")
"""The second was its name before OTLP 0.15."""

ATTRIBUTE_NAMES = {
    "k8s.pod.name": "kubernetes.pod.name",
    "k8s.container.name": "kubernetes.container.name",
    "service.instance.id": "instance",
    "exception.stacktrace": "stack_trace",
}
"""Attributes of the semantic conventions, and what other collectors call them."""

SEVERITIES = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
SEVERITIES_EACH = 4
"""Severity numbers 1 to 4 are TRACE, 5 to 8 DEBUG, and so on."""

NANOSECONDS_A_MILLISECOND = 1_000_000


def log_records(resource_logs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the log records of one resource as flat records: attributes, `message`, `level` and `time_ms`."""
    resource = _attributes(_mapping(resource_logs.get("resource")).get("attributes"))
    for scope in (each for name in SCOPES for each in _list(resource_logs.get(name))):
        for record in _list(scope.get("logRecords")):
            at = _milliseconds(record.get("timeUnixNano")) or _milliseconds(record.get("observedTimeUnixNano"))
            own = _attributes(record.get("attributes"))
            body = _any_value(record.get("body"))
            message = body if isinstance(body, str) else json.dumps(body) if body is not None else ""
            yield {**resource, **own, "message": message, "level": _level(record), "time_ms": at}


def writer_of(record: Mapping[str, Any]) -> str | None:
    """Return the service that a flat record names, for records that name neither pod, container, file nor host."""
    return json_fields.text_at(record, ("instance", "service.name"))


def exposition(resource_metrics: Mapping[str, Any]) -> Iterator[str]:
    """Yield the metrics of one resource as lines of Prometheus's text format, each with its time.

    Sums and gauges as they are; of histograms and summaries their sum and count. Names and labels as the Prometheus
    exporter of the OpenTelemetry collector writes them: what is no letter, digit or underscore is an underscore.
    """
    attributes = _attributes(_mapping(resource_metrics.get("resource")).get("attributes"))
    for scope in _list(resource_metrics.get("scopeMetrics")):
        for metric in _list(scope.get("metrics")):
            yield from _samples(metric, attributes)


def _samples(metric: Mapping[str, Any], resource: Mapping[str, Any]) -> Iterator[str]:
    name = _prometheus_name(str(metric.get("name", "")))
    for kind in ("gauge", "sum", "histogram", "summary", "exponentialHistogram"):
        for point in _list(_mapping(metric.get(kind)).get("dataPoints")):
            labels = _labels({**resource, **_attributes(point.get("attributes"))})
            at = _milliseconds(point.get("timeUnixNano"))
            for suffix, value in _values(kind, point):
                if name and value is not None and math.isfinite(value):
                    yield f"{name}{suffix}{labels} {value!r} {at or ''}".rstrip()


def _values(kind: str, point: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    if kind in ("gauge", "sum"):
        yield "", _number(point.get("asDouble", point.get("asInt")))
    else:
        yield "_sum", _number(point.get("sum"))
        yield "_count", _number(point.get("count"))


def _labels(attributes: Mapping[str, Any]) -> str:
    texts = {
        _prometheus_name(name): str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, value in attributes.items()
    }
    return "{" + ",".join(f'{name}="{text}"' for name, text in texts.items()) + "}" if texts else ""


def _prometheus_name(name: str) -> str:
    bare = "".join(each if each.isascii() and each.isalnum() else "_" for each in name)
    return f"_{bare}" if bare[:1].isdigit() else bare


def _attributes(pairs: object) -> dict[str, Any]:
    found = {str(each["key"]): _any_value(each.get("value")) for each in _list(pairs) if "key" in each}
    return {ATTRIBUTE_NAMES.get(name, name): value for name, value in found.items() if value is not None}


def _any_value(value: object) -> Any:  # noqa: ANN401 - OTLP's AnyValue
    for kind, inner in _mapping(value).items():
        if kind == "arrayValue":
            return [_any_value(each) for each in _list(_mapping(inner).get("values"))]
        if kind == "kvlistValue":
            return _attributes(_mapping(inner).get("values"))
        return inner
    return None


def _level(record: Mapping[str, Any]) -> str | None:
    text = record.get("severityText")
    if isinstance(text, str) and text:
        return text
    number = record.get("severityNumber")
    is_known = isinstance(number, int) and 0 < number <= len(SEVERITIES) * SEVERITIES_EACH
    return SEVERITIES[(number - 1) // SEVERITIES_EACH] if is_known and isinstance(number, int) else None


def _milliseconds(value: object) -> int | None:
    if not isinstance(value, str | int) or not str(value).isdigit():
        return None
    return int(value) // NANOSECONDS_A_MILLISECOND or None


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, str | int | float) else None
    except ValueError:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
