"""Responses of the Prometheus HTTP API: `/api/v1/query_range` and `/api/v1/query`."""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.json_records.document_parser import ArrayPaths, BrokenDocument, DocumentParser, decode_blocks
from leadsman.telemetry.outputs.metric_events import EVENT_NAMES, events_of_metric, select_events
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

MAX_SAMPLES = 40_000
"""Samples of a series that become events at a time, some 25 MB. A month has four times as many, every 15 s."""

SUBJECTS = ("instance", "pod", "broker", "node", "host")
"""Labels that name the subject of a series, the best first."""


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Yield the response series by series, and a long series in parts, so that memory stays bounded."""
    parser = DocumentParser(decode_blocks(blocks), SERIES, AS_WRITTEN)
    try:
        for element in parser.elements():
            for samples in _series(element, context):
                if samples.lines:
                    yield from events_of_metric(samples)
    except BrokenDocument as error:
        raise OSError(f"broken JSON: {error}") from error


def _series(element: Element, context: OutputContext) -> Iterator[EventColumns]:
    series = element.value
    labels = {str(name): str(value) for name, value in series.get("metric", {}).items()}
    metric = labels.pop("__name__", "") or "expression"
    pairs = series.get("values") or ([series["value"]] if "value" in series else [])
    subject = next((labels[name] for name in SUBJECTS if name in labels), context.subject)
    times, written = _columns(pairs)
    at, indented = _milliseconds(times), _indented_quotes(element, times, written)
    for begin in range(0, len(times), MAX_SAMPLES):
        part = slice(begin, begin + MAX_SAMPLES)
        values = list(map(float, written[part]))
        texts = indented.texts[part] if indented else _compact(times[part], written[part])
        samples = EventColumns(
            name=v.METRIC,
            lines=indented.lines[part] if indented else [element.line] * len(texts),
            texts=texts,
            values=values,
            labels={"metric": metric, **labels},
            at=at[part],
            subjects=subject,
        )
        if all(map(math.isfinite, values)):
            yield samples
        else:
            yield select_events(samples, [index for index, value in enumerate(values) if math.isfinite(value)])


def _columns(pairs: Sequence[Sequence[Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the times and the values of all samples. Raises ValueError where one is no pair."""
    return tuple([str(at) for at, _ in pairs]), tuple(map(itemgetter(1), pairs))


@lru_cache(1)
def _milliseconds(times: tuple[str, ...]) -> list[int]:
    """Return times in seconds as milliseconds. All series of a response have the same times."""
    return [round(float(at) * 1000) for at in times]


def _compact(times: Iterable[str], values: Iterable[str]) -> list[str]:
    """Return samples as they stand in a response that is not indented."""
    return [f'[{at},"{value}"]' for at, value in zip(times, values, strict=True)]


class IndentedQuotes(NamedTuple):
    """Line and text of each sample of an indented response. The text is the sample's value only."""

    lines: Sequence[int]
    texts: Sequence[str]


def _indented_quotes(element: Element, times: Sequence[str], values: Sequence[str]) -> IndentedQuotes | None:
    """Return the quotes of an indented response; None for one in which samples stand as `_compact` writes them."""
    if not times or _compact(times[:1], values[:1])[0] in element.raw:
        return None
    matches = list(INDENTED_SAMPLE.finditer(element.raw))
    if len(matches) != len(times):
        return None
    ends = [match.end() for match in matches]
    newlines = (element.raw.count("\n", since, until) for since, until in pairwise([0, *ends]))
    _, *lines = accumulate(newlines, initial=element.line)
    return IndentedQuotes(lines, [match[1] for match in matches])


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
