"""A scrape: the text format in which exporters expose metrics for Prometheus."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.block_matches import find_matches
from leadsman.telemetry.outputs.metric_events import EVENT_NAMES, events_of_metric
from leadsman.telemetry.outputs.parser import EventColumns, OutputContext, OutputParser, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.outputs.block_matches import BlockMatches

SAMPLE = r"([a-zA-Z_:][\w:]*)(?:\{([^\n]*)\})?[ \t]+([+-]?(?:[\d.]+(?:[eE][+-]?\d+)?|Inf))(?:[ \t]+(-?\d+))?[ \t]*"
LINE = re.compile(rf"^{SAMPLE}$", re.MULTILINE)
LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(rb"# (?:HELP|TYPE) [a-zA-Z_:]")
LABELLED = re.compile(rb'[a-zA-Z_:][\w:]*\{[a-zA-Z_]\w*="[^\n]*"[^\n]*\}[ \t]+[+-]?[\d.NI]')
BUCKETS = "_bucket"
"""Histograms' buckets are left out: they are most of a scrape, and no detector reads them."""


class _Sample(NamedTuple):
    metric: str
    labels: tuple[tuple[str, str], ...]
    value: float
    at: int | None
    line: int
    text: str

    @property
    def column_names(self) -> tuple[str, tuple[str, ...]]:
        """The metric and the names of its labels: samples that share them are yielded together."""
        return self.metric, tuple(name for name, _ in self.labels)


def _matches(head: bytes) -> bool:
    lines = [line for line in first_lines(head) if line.strip()]
    return any(COMMENT.match(line) for line in lines) or (bool(lines) and all(map(LABELLED.match, lines[:5])))


def _parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    for matches in find_matches(LINE, blocks):
        for _, group in groupby(_samples(matches), key=lambda sample: sample.column_names):
            yield from _events(list(group), context.at)


def _samples(matches: BlockMatches) -> Iterator[_Sample]:
    for (metric, labels, value, at), text, line in zip(
        zip(*matches.groups, strict=True), matches.texts, matches.lines.tolist(), strict=True
    ):
        number = float(str(value))
        if metric and not metric.endswith(BUCKETS) and math.isfinite(number):
            label_pairs = tuple(LABEL.findall(labels)) if labels else ()
            yield _Sample(metric, label_pairs, number, int(at) if at else None, line, text)


def _events(samples: list[_Sample], scraped: int | None) -> Iterator[EventColumns]:
    """Yield samples of one metric. Those without a time of their own have the time of the scrape."""
    first = samples[0]
    timed = any(each.at is not None for each in samples)
    columns = {"metric": [first.metric] * len(samples)}
    columns |= {name: [each.labels[index][1] for each in samples] for index, (name, _) in enumerate(first.labels)}
    events = EventColumns(
        name=v.METRIC,
        lines=[each.line for each in samples],
        texts=[each.text for each in samples],
        values=[each.value for each in samples],
        labels=columns,
        at=[scraped if each.at is None else each.at for each in samples] if timed else None,
    )
    yield from events_of_metric(events)


SOURCE = Source(
    "prometheus_text",
    "Prometheus exposition",
    "state",
    parser=OutputParser(matches=_matches, parse=_parse, event_names=EVENT_NAMES),
)
