"""CPU steal of a host: the kernel's /proc/stat, `sadf -d`, `vmstat -t`.

Time in which a processor was ready to run, and its hypervisor did not let it run, is `steal`: the eighth number of a
line of /proc/stat since Linux 2.6.11 (proc(5)), a column `%steal` or `st`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.outputs.parser import EventColumns, OutputParser, decoded_lines, head_line_matches
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.outputs.parser import OutputContext

TICKS_A_SECOND = 100
"""USER_HZ, the unit of /proc/stat: "1/100ths of a second on most architectures" (proc(5)); node_exporter counts so."""

STEAL = 7
"""The index of `steal` among the numbers: user nice system idle iowait irq softirq steal."""

ALL_CPUS_LINE = re.compile(r"cpu +\d+(?: +\d+){7,}[ \r]*$")
ONE_CPU_LINE = re.compile(r"cpu\d+ ")
SADF = re.compile(r"# hostname;interval;timestamp;CPU;[^\n]*%steal")
ALL_PROCESSORS = "-1"
EPOCH_SECONDS = re.compile(r"\d{9,10}", re.ASCII)
PRINTED = re.compile(r"\d{1,9}(?:\.\d+)?", re.ASCII)

VMSTAT = re.compile(r" *r +b +swpd .*\bst\b.*\bUTC[ \r]*$")
"""The last heading is the zone of the times below. Of the abbreviations of zones, only UTC is unambiguous."""


class StealSample(NamedTuple):
    """The steal time of one line: seconds per processor, from `since` to `at` in milliseconds since 1970."""

    line: int
    text: str
    steal: float
    at: int | None
    since: int | None = None
    host: str | None = None


def parse(blocks: Iterable[bytes], context: OutputContext) -> Iterator[EventColumns]:
    """Yield the samples of any of these outputs."""
    samples = list(_samples(decoded_lines(blocks), context))
    if samples:
        yield EventColumns(
            name=v.CPU_STEAL,
            lines=[sample.line for sample in samples],
            texts=[sample.text for sample in samples],
            values=[sample.steal for sample in samples],
            labels={"since": [None if sample.since is None else _iso(sample.since) for sample in samples]},
            at=[sample.at for sample in samples],
            subjects=[sample.host or context.subject for sample in samples],
        )


def _samples(lines: Iterator[tuple[int, str]], context: OutputContext) -> Iterator[StealSample]:
    """Yield the samples of the reader whose heading comes first."""
    for number, text in lines:
        read = next((read for head, read in READERS.items() if head.match(text)), None)
        if read is not None:
            yield from read(chain([(number, text)], lines), context)


def _proc(lines: Iterable[tuple[int, str]], context: OutputContext) -> Iterator[StealSample]:
    """Read each line of all processors, and count the lines of single processors below it."""
    number, total, processors = 0, "", 0
    for line, text in chain(lines, [(0, "")]):
        if total and ONE_CPU_LINE.match(text):
            processors += 1
            continue
        if total and processors:
            ticks = int(total.split()[1 + STEAL])
            yield StealSample(number, total, ticks / TICKS_A_SECOND / processors, context.at)
        number, total, processors = line, text if ALL_CPUS_LINE.match(text) else "", 0


def _sadf(lines: Iterable[tuple[int, str]], _context: OutputContext) -> Iterator[StealSample]:
    """Read the rows of all processors; other reports below have columns of their own."""
    columns: Sequence[str] = ()
    for number, text in lines:
        if text.startswith("# hostname;"):
            columns = text.removeprefix("# ").split(";") if SADF.match(text) else ()
            continue
        row = dict(zip(columns, text.split(";"), strict=False))
        at, seconds, share = _utc(row.get("timestamp", "")), _number(row.get("interval")), _number(row.get("%steal"))
        if row.get("CPU") == ALL_PROCESSORS and at is not None and seconds is not None and share is not None:
            steal = seconds * share / 100
            yield StealSample(number, text, steal, at, at - round(seconds * 1000), row["hostname"])


def _vmstat(lines: Iterable[tuple[int, str]], _context: OutputContext) -> Iterator[StealSample]:
    """Read rows with times. The first one is the average since the host started: it only begins the series."""
    steal_column, before = 0, None
    for number, text in lines:
        if VMSTAT.match(text):
            steal_column = text.split().index("st")
            continue
        cells = text.split()
        at, share = _utc(" ".join((*cells[-2:], "UTC"))), _number(dict(enumerate(cells)).get(steal_column))
        if at is None or share is None:
            continue
        if before is not None and before < at:
            yield StealSample(number, text, share / 100 * (at - before) / 1000, at, before)
        before = at


READERS: dict[re.Pattern[str], Callable[[Iterable[tuple[int, str]], OutputContext], Iterator[StealSample]]] = {
    ALL_CPUS_LINE: _proc,
    SADF: _sadf,
    VMSTAT: _vmstat,
}


def _utc(text: str) -> int | None:
    """Return milliseconds since 1970; None for text that is no time, or a time without a zone."""
    if EPOCH_SECONDS.fullmatch(text):  # `sadf -U`
        return int(text) * 1000
    if not text.endswith(" UTC"):
        return None
    try:
        return round(datetime.fromisoformat(text.removesuffix(" UTC")).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    """Return a number as these programs print it; None for other text: a line may be cut, or of another program."""
    return float(text) if text and PRINTED.fullmatch(text) else None


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


SOURCE = Source(
    "processors",
    "CPU time",
    "state",
    parser=OutputParser(
        matches=head_line_matches("|".join(head.pattern for head in READERS), lines=5),
        parse=parse,
        event_names=frozenset({v.CPU_STEAL}),
    ),
)
