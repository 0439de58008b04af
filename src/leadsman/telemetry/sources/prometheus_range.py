"""Answers of Prometheus: `/api/v1/query_range` and `/api/v1/query`."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.metrics import REPORTS, told
from leadsman.telemetry.reading import About, Facts, Reading
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST = 256 << 20
"""Bytes of JSON: the document is one line, and is held whole."""

BEGINS = re.compile(rb'\s*\{\s*"status"\s*:\s*"success"\s*,\s*"data"\s*:\s*\{\s*"resultType"\s*:\s*"(?:matrix|vector)"')
SUBJECTS = ("instance", "pod", "broker", "node", "host")
"""Labels that name whom a series is of, the best first."""


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    line, document = _document(blocks)
    for series in document["data"]["result"]:
        found = _series(line, series, about)
        if found.lines:
            yield from told(found)


def _document(blocks: Iterable[bytes]) -> tuple[int, dict[str, Any]]:
    whole = bytearray()
    for block in blocks:
        whole += block
        if len(whole) > LARGEST:
            raise OSError(f"an answer of more than {LARGEST >> 20} MiB; ask for fewer series or a longer step")
    text = whole.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip())
    try:  # numbers stay as they are written, so that quotes are literal
        document, _ = json.JSONDecoder(parse_float=str, parse_int=str).raw_decode(text, start)
    except ValueError as error:
        raise OSError(f"broken JSON: {error}") from error
    return text.count("\n", 0, start) + 1, document


def _series(line: int, series: dict[str, Any], about: About) -> Facts:
    labels = {str(name): str(value) for name, value in series.get("metric", {}).items()}
    metric = labels.pop("__name__", "") or "expression"
    pairs = series.get("values") or ([series["value"]] if "value" in series else [])
    samples = [(str(at), str(value)) for at, value in pairs if math.isfinite(float(value))]
    count = len(samples)
    subject = next((labels[name] for name in SUBJECTS if name in labels), about.subject)
    return Facts(
        name=v.METRIC,
        lines=[line] * count,
        texts=[f'[{at},"{value}"]' for at, value in samples],
        values=[float(value) for _, value in samples],
        labels={"metric": [metric] * count} | {name: [value] * count for name, value in labels.items()},
        at=[round(float(at) * 1000) for at, _ in samples],
        subjects=[subject] * count,
    )


SOURCE = Source(
    "prometheus_range",
    "Prometheus answer",
    "state",
    reading=Reading(tells=lambda head: BEGINS.match(head) is not None, facts=_facts, reports=REPORTS),
)
