"""Answers of Prometheus: `/api/v1/query_range` and `/api/v1/query`."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.formats.json_stream import Broken, Walker, Where, decoded
from leadsman.telemetry.metrics import REPORTS, told
from leadsman.telemetry.reading import A_FEW_REMARKS, About, Facts, Reading
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.telemetry.formats.json_stream import Element

BEGINS = re.compile(rb'\s*\{\s*"status"\s*:\s*"success"\s*,\s*"data"\s*:\s*\{\s*"resultType"\s*:\s*"(?:matrix|vector)"')
SERIES = Where(through=frozenset({(), ("data",)}), arrays=frozenset({("data", "result")}))
AS_WRITTEN = json.JSONDecoder(parse_float=str, parse_int=str)
"""Numbers stay as they are written, so that quotes are literal."""

SPREAD = re.compile(r'\[\s*[\d.eE+]+\s*,\s*("[^"]*")')

SUBJECTS = ("instance", "pod", "broker", "node", "host")
"""Labels that name whom a series is of, the best first."""


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Yield the answer series by series, so that memory does not follow its length."""
    walker = Walker(decoded(blocks), SERIES, AS_WRITTEN)
    try:
        for element in walker.elements():
            found = _series(element, about)
            if found.lines:
                yield from told(found)
    except Broken as error:
        raise OSError(f"broken JSON: {error}") from error


def _series(element: Element, about: About) -> Facts:
    series = element.value
    labels = {str(name): str(value) for name, value in series.get("metric", {}).items()}
    metric = labels.pop("__name__", "") or "expression"
    pairs = series.get("values") or ([series["value"]] if "value" in series else [])
    quoted = zip(pairs, _quotes(element, pairs), strict=True)
    samples = [(str(at), str(value), *quote) for (at, value), quote in quoted if math.isfinite(float(value))]
    count = len(samples)
    subject = next((labels[name] for name in SUBJECTS if name in labels), about.subject)
    return Facts(
        name=v.METRIC,
        lines=[line for *_, line, _ in samples],
        texts=[text for *_, text in samples],
        values=[float(value) for _, value, *_ in samples],
        labels={"metric": [metric] * count} | {name: [value] * count for name, value in labels.items()},
        at=[round(float(at) * 1000) for at, *_ in samples],
        subjects=[subject] * count,
    )


def _quotes(element: Element, pairs: Sequence[Sequence[Any]]) -> list[tuple[int, str]]:
    """Return on which line each sample stands, and as which text: of an indented answer only its value."""
    compact = [f'[{at},"{value}"]' for at, value in pairs]
    found = [] if compact and compact[0] in element.raw else list(SPREAD.finditer(element.raw))
    if len(found) != len(pairs):
        return [(element.line, text) for text in compact]
    ends = [match.end() for match in found]
    newlines = (element.raw.count("\n", since, until) for since, until in pairwise([0, *ends]))
    _, *lines = accumulate(newlines, initial=element.line)
    return [(line, match[1]) for line, match in zip(lines, found, strict=True)]


SOURCE = Source(
    "prometheus_range",
    "Prometheus answer",
    "state",
    reading=Reading(
        tells=lambda head: BEGINS.match(head) is not None, facts=_facts, reports=REPORTS, remarks=A_FEW_REMARKS
    ),
)
