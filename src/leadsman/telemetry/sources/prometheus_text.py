"""A scrape: the text that exporters expose for Prometheus."""

from __future__ import annotations

import math
import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.bulk import matches
from leadsman.telemetry.metrics import REPORTS, told
from leadsman.telemetry.reading import About, Facts, Reading, first_lines
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from leadsman.telemetry.bulk import Matches

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
    def alike(self) -> tuple[str, tuple[str, ...]]:
        """What samples share that are handed on together: the metric and the names of its labels."""
        return self.metric, tuple(name for name, _ in self.labels)


def _tells(head: bytes) -> bool:
    lines = [line for line in first_lines(head) if line.strip()]
    return any(COMMENT.match(line) for line in lines) or (bool(lines) and all(map(LABELLED.match, lines[:5])))


def _facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    for found in matches(LINE, blocks):
        for _, group in groupby(_samples(found), key=lambda sample: sample.alike):
            yield from _alike(list(group), about.at)


def _samples(found: Matches) -> Iterator[_Sample]:
    for (metric, labels, value, at), text, line in zip(
        zip(*found.groups, strict=True), found.texts, found.lines.tolist(), strict=True
    ):
        number = float(str(value))
        if metric and not metric.endswith(BUCKETS) and math.isfinite(number):
            told = tuple(LABEL.findall(labels)) if labels else ()
            yield _Sample(metric, told, number, int(at) if at else None, line, text)


def _alike(samples: list[_Sample], scraped: int | None) -> Iterator[Facts]:
    """Yield samples of one metric. Exporters write a time beside some samples only: the others are of the scrape's."""
    first = samples[0]
    timed = any(each.at is not None for each in samples)
    columns = {"metric": [first.metric] * len(samples)}
    columns |= {name: [each.labels[index][1] for each in samples] for index, (name, _) in enumerate(first.labels)}
    facts = Facts(
        name=v.METRIC,
        lines=[each.line for each in samples],
        texts=[each.text for each in samples],
        values=[each.value for each in samples],
        labels=columns,
        at=[scraped if each.at is None else each.at for each in samples] if timed else None,
    )
    yield from told(facts)


SOURCE = Source(
    "prometheus_text",
    "Prometheus exposition",
    "state",
    reading=Reading(tells=_tells, facts=_facts, reports=REPORTS),
)
