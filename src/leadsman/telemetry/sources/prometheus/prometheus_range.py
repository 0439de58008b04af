"""Responses of the Prometheus HTTP API: `/api/v1/query_range` and `/api/v1/query`."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from itertools import accumulate, compress, pairwise
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.json_records.document_parser import ArrayPaths, BrokenDocument, DocumentParser, decode_blocks
from leadsman.telemetry.outputs.metric_events import EVENT_NAMES, events_of_metric
from leadsman.telemetry.outputs.parser import MAX_WARNING_LINES, EventColumns, OutputContext, OutputParser
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from leadsman.telemetry.json_records.document_parser import Element

BEGINS = re.compile(rb'\s*\{\s*"status"\s*:\s*"success"\s*,\s*"data"\s*:\s*\{\s*"resultType"\s*:\s*"(?:matrix|vector)"')
SERIES = ArrayPaths(entered=frozenset({(), ("data",)}), arrays=frozenset({("data", "result")}))
AS_WRITTEN = json.JSONDecoder(parse_float=str, parse_int=str)
"""Numbers stay as they are written, so that quotes are literal."""

INDENTED_SAMPLE = re.compile(r'\[\s*[\d.eE+]+\s*,\s*("[^"]*")')

SUBJECTS = ("instance", "pod", "broker", "node", "host")
"""Labels that name the subject of a series, the best first."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Yield the response series by series, so that memory stays bounded."""
    parser = DocumentParser(decode_blocks(blocks), SERIES, AS_WRITTEN)
    try:
        for element in parser.elements():
            samples = _series(element, context)
            if samples.lines:
                yield from events_of_metric(samples)
    except BrokenDocument as error:
        raise OSError(f"broken JSON: {error}") from error


def _series(element: Element, context: OutputContext) -> EventColumns:
    series = element.value
    labels = {str(name): str(value) for name, value in series.get("metric", {}).items()}
    metric = labels.pop("__name__", "") or "expression"
    pairs = series.get("values") or ([series["value"]] if "value" in series else [])
    subject = next((labels[name] for name in SUBJECTS if name in labels), context.subject)
    times, written = _columns(pairs)
    lines, texts = _quotes(element, times, written)
    values = list(map(float, written))
    if not all(map(math.isfinite, values)):
        kept = list(map(math.isfinite, values))
        times, values = tuple(compress(times, kept)), list(compress(values, kept))
        lines, texts = list(compress(lines, kept)), list(compress(texts, kept))
    return EventColumns(
        name=v.METRIC,
        lines=lines,
        texts=texts,
        values=values,
        labels={"metric": metric, **labels},
        at=_milliseconds(times),
        subjects=subject,
    )


def _columns(pairs: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the times and the values of all samples. Raises ValueError where one is no pair."""
    return tuple([str(at) for at, _ in pairs]), tuple([value for _, value in pairs])


@lru_cache(1)
def _milliseconds(times: tuple[str, ...]) -> list[int]:
    """Return times in seconds as milliseconds. All series of a response have the same times."""
    return [round(float(at) * 1000) for at in times]


def _quotes(element: Element, times: Sequence[str], values: Sequence[str]) -> tuple[Sequence[int], Sequence[str]]:
    """Return line and text of each sample; in an indented response the text is its value only."""
    compact = [f'[{at},"{value}"]' for at, value in zip(times, values, strict=True)]
    matches = [] if compact and compact[0] in element.raw else list(INDENTED_SAMPLE.finditer(element.raw))
    if len(matches) != len(compact):
        return [element.line] * len(compact), compact
    ends = [match.end() for match in matches]
    newlines = (element.raw.count("\n", since, until) for since, until in pairwise([0, *ends]))
    _, *lines = accumulate(newlines, initial=element.line)
    return lines, [match[1] for match in matches]


SOURCE = Source(
    "prometheus_range",
    "Prometheus answer",
    "state",
    parser=OutputParser(
        matches=lambda head: BEGINS.match(head) is not None,
        parse=_parse,
        event_names=EVENT_NAMES,
        warning_lines=MAX_WARNING_LINES,
    ),
)
