"""How long a host's processors were kept from running: the kernel's /proc/stat, and `sadf -d`, `vmstat -t`.

A processor that is ready to run and that its hypervisor does not let run is `steal`: the eighth number of a line of
/proc/stat since Linux 2.6.11 (proc(5)), a column `%steal` or `st`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from leadsman import vocabulary as v
from leadsman.telemetry.reading import Facts, Reading, decoded_lines, told_by
from leadsman.telemetry.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from leadsman.telemetry.reading import About

TICKS_A_SECOND = 100
"""USER_HZ, the unit of /proc/stat: "1/100ths of a second on most architectures" (proc(5)); node_exporter counts so."""

STEAL = 7
"""Its place among the numbers: user nice system idle iowait irq softirq steal."""

OF_ALL = re.compile(r"cpu +\d+(?: +\d+){7,}[ \r]*$")
OF_ONE = re.compile(r"cpu\d+ ")
SADF = re.compile(r"# hostname;interval;timestamp;CPU;[^\n]*%steal")
ALL_PROCESSORS = "-1"
EPOCH_SECONDS = re.compile(r"\d{9,10}", re.ASCII)
PRINTED = re.compile(r"\d{1,9}(?:\.\d+)?", re.ASCII)

VMSTAT = re.compile(r" *r +b +swpd .*\bst\b.*\bUTC[ \r]*$")
"""The last heading is the zone of the times below. Of the zones' abbreviations UTC alone means one zone."""


class Look(NamedTuple):
    """What one line says: seconds that were stolen of each processor, up to a time, in milliseconds since 1970."""

    line: int
    text: str
    stolen: float
    at: int | None
    since: int | None = None
    host: str | None = None


def facts(blocks: Iterable[bytes], about: About) -> Iterator[Facts]:
    """Tell every look, whichever of these outputs it is."""
    looks = list(_looks(decoded_lines(blocks), about))
    if looks:
        yield Facts(
            name=v.HOST_STOLEN,
            lines=[look.line for look in looks],
            texts=[look.text for look in looks],
            values=[look.stolen for look in looks],
            labels={"since": [None if look.since is None else _iso(look.since) for look in looks]},
            at=[look.at for look in looks],
            subjects=[look.host or about.subject for look in looks],
        )


def _looks(lines: Iterator[tuple[int, str]], about: About) -> Iterator[Look]:
    """Yield what the reader says whose heading comes first."""
    for number, text in lines:
        read = next((read for head, read in READERS.items() if head.match(text)), None)
        if read is not None:
            yield from read(chain([(number, text)], lines), about)


def _proc(lines: Iterable[tuple[int, str]], about: About) -> Iterator[Look]:
    """Read each line of all processors, and count those of one below it."""
    number, whole, processors = 0, "", 0
    for line, text in chain(lines, [(0, "")]):
        if whole and OF_ONE.match(text):
            processors += 1
            continue
        if whole and processors:
            ticks = int(whole.split()[1 + STEAL])
            yield Look(number, whole, ticks / TICKS_A_SECOND / processors, about.at)
        number, whole, processors = line, text if OF_ALL.match(text) else "", 0


def _sadf(lines: Iterable[tuple[int, str]], _about: About) -> Iterator[Look]:
    """Read the rows of all processors; other reports below have columns of their own."""
    names: Sequence[str] = ()
    for number, text in lines:
        if text.startswith("# hostname;"):
            names = text.removeprefix("# ").split(";") if SADF.match(text) else ()
            continue
        row = dict(zip(names, text.split(";"), strict=False))
        at, seconds, share = _utc(row.get("timestamp", "")), _number(row.get("interval")), _number(row.get("%steal"))
        if row.get("CPU") == ALL_PROCESSORS and at is not None and seconds is not None and share is not None:
            stolen = seconds * share / 100
            yield Look(number, text, stolen, at, at - round(seconds * 1000), row["hostname"])


def _vmstat(lines: Iterable[tuple[int, str]], _about: About) -> Iterator[Look]:
    """Read rows with times. The first one is the average since the host started: it only begins the series."""
    place, before = 0, None
    for number, text in lines:
        if VMSTAT.match(text):
            place = text.split().index("st")
            continue
        cells = text.split()
        at, share = _utc(" ".join((*cells[-2:], "UTC"))), _number(dict(enumerate(cells)).get(place))
        if at is None or share is None:
            continue
        if before is not None and before < at:
            yield Look(number, text, share / 100 * (at - before) / 1000, at, before)
        before = at


READERS: dict[re.Pattern[str], Callable[[Iterable[tuple[int, str]], About], Iterator[Look]]] = {
    OF_ALL: _proc,
    SADF: _sadf,
    VMSTAT: _vmstat,
}


def _utc(text: str) -> int | None:
    """Return milliseconds since 1970; None of what is no time, or of one whose zone is not told."""
    if EPOCH_SECONDS.fullmatch(text):  # `sadf -U`
        return int(text) * 1000
    if not text.endswith(" UTC"):
        return None
    try:
        return round(datetime.fromisoformat(text.removesuffix(" UTC")).replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    """Return a number as these programs print it; None of anything else: a line may be cut, or of another program."""
    return float(text) if text and PRINTED.fullmatch(text) else None


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat()


SOURCE = Source(
    "processors",
    "Processor time",
    "state",
    reading=Reading(
        tells=told_by("|".join(head.pattern for head in READERS), lines=5),
        facts=facts,
        reports=frozenset({v.HOST_STOLEN}),
    ),
)
