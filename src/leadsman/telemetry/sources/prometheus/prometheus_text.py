"""A scrape: the text format in which exporters expose metrics for Prometheus."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from math import isfinite
from typing import TYPE_CHECKING, Any

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.metric_events import EVENT_NAMES, events_of_metric, is_plain_metric
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, first_lines
from leadsman.telemetry.outputs.usual_lines import UsualLayout, lines_by_block
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.usual_lines import Lines

SAMPLE = r"([a-zA-Z_:][\w:]*)(?:\{([^\n]*)\})?[ \t]+([+-]?(?:[\d.]+(?:[eE][+-]?\d+)?|Inf))(?:[ \t]+(-?\d+))?[ \t]*"
LINE, ONE_LINE = UsualLayout(SAMPLE, nothing="#.*"), re.compile(SAMPLE)
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(rb"# (?:HELP|TYPE) [a-zA-Z_:]")
LABELLED = re.compile(rb'[a-zA-Z_:][\w:]*\{[a-zA-Z_]\w*="[^\n]*"[^\n]*\}[ \t]+[+-]?[\d.NI]')
CACHED_LABELS = 100_000
BUCKETS = "_bucket"
"""Histograms' buckets are left out: they are most of a scrape, and no detector reads them."""

_Sample = tuple[tuple[str, ...], tuple[Any, ...]]
"""Names of labels; and line, text, metric, value, time and the labels' values."""


def _matches(head: bytes) -> bool:
    lines = [line for line in first_lines(head) if line.strip()]
    return any(COMMENT.match(line) for line in lines) or (bool(lines) and all(map(LABELLED.match, lines[:5])))


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    for lines in lines_by_block(blocks):
        for samples in _samples(lines):
            yield from _events(samples, context.at)


def _samples(lines: Lines) -> Iterable[list[_Sample]]:
    """Return the samples that become events together: those with the same labels, of some metrics only their own."""
    rows = LINE.rows(lines)
    odd = [(index, *match.groups("")) for index in rows.odd if (match := ONE_LINE.fullmatch(lines.texts[index]))]
    found = chain(zip(rows.usual, *rows.columns, strict=True), odd)
    together: dict[tuple[str, tuple[str, ...], bool], list[_Sample]] = {}
    for index, metric, labels, value, at in found:
        number = float(value)
        if isfinite(number) and not metric.endswith(BUCKETS):
            names, texts = _labels(labels)
            key = ("" if is_plain_metric(metric) else metric, names, bool(at))
            sample = (lines.first + index, lines.texts[index], metric, number, at, *texts)
            together.setdefault(key, []).append((names, sample))
    return together.values()


@lru_cache(CACHED_LABELS)
def _labels(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of labels, and their values: scrape after scrape has the same ones."""
    pairs = LABEL.findall(text)
    return tuple(name for name, _ in pairs), tuple(value for _, value in pairs)


def _events(samples: list[_Sample], scraped: int | None) -> Iterator[EventColumns]:
    """Yield samples with the same labels. Those without a time of their own have the time of the scrape."""
    names = samples[0][0]
    numbers, texts, metrics, values, times, *labels = zip(*(sample for _, sample in samples), strict=True)
    events = EventColumns(
        name=v.METRIC,
        lines=numbers,
        texts=texts,
        values=values,
        labels={"metric": metrics, **dict(zip(names, labels, strict=True))},
        at=[int(at) if at else scraped for at in times] if times[0] else None,
    )
    yield from (events,) if is_plain_metric(metrics[0]) else events_of_metric(events)


SOURCE = Source(
    "prometheus_text",
    "Prometheus exposition",
    "state",
    parser=OutputParser(matches=_matches, parse=_parse, event_names=EVENT_NAMES),
)
