"""Writes the logs of a fleet as collectors hand them over: CloudWatch, Loki, Elasticsearch, Docker, journald, CRI."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from random import Random
from typing import TextIO

from bench.production import serverless_forms as forms
from bench.production.serverless_fleet import WorkerFleet, streams
from bench.production.serverless_forms import LogEvent, WorkerLog
from bench.production.serverless_outcomes import after_gaps
from bench.production.serverless_wordings import JAVA_3, RETRIED

SEED = 20261123
LIMIT_S = 240
Hand = Callable[[Path, Iterable[WorkerLog]], None]
"""Writes log streams in one form."""

LAMBDAS = WorkerFleet(function="orders", client=JAVA_3, outcome=after_gaps(LIMIT_S, RETRIED))


def lambdas(client: str = JAVA_3, harm: str = RETRIED) -> WorkerFleet:
    """Workers of a function that write with this client and fail so after long gaps."""
    return replace(LAMBDAS, client=client, outcome=after_gaps(LIMIT_S, harm))


@dataclass(frozen=True, slots=True)
class FleetLogs:
    """A fleet's logs in one form. `weight` is bytes written for each byte logged."""

    hand: Hand
    weight: float
    fleet: WorkerFleet = LAMBDAS

    def __call__(self, folder: Path, size: int) -> None:
        fleet = self.fleet
        workers = max(2, int(size / (fleet.invocations * fleet.invocation_bytes * self.weight)))
        self.hand(folder, streams(fleet, Random(SEED), workers))


def merged(made: Iterable[WorkerLog]) -> Iterator[tuple[str, LogEvent]]:
    """Yield the lines of many streams, of so many at a time by time, as the proving ground merges them."""
    return chain.from_iterable(map(forms._merged_of, forms._batches(made)))  # noqa: SLF001 - the same merge


def by_line(text_of: Callable[[str, int, str], str]) -> Hand:
    """Many writers' lines in one file, each line of an event as a line of its own."""

    def hand(folder: Path, made: Iterable[WorkerLog]) -> None:
        with (folder / "lines.log").open("w", encoding="utf-8") as out:
            for name, line in merged(made):
                out.writelines(text_of(name, line.at_ms, text) + "\n" for text in line.text.split("\n"))

    return hand


def _pod(name: str) -> str:
    return f"orders-{name[-32:]}"


def _source(name: str, at_ms: int, text: str) -> dict[str, object]:
    pod = {"pod": {"name": _pod(name)}, "container": {"name": "orders"}, "node": {"name": "n-1"}}
    return {"@timestamp": forms.iso(at_ms), "message": text, "stream": "stdout", "kubernetes": pod}


def filebeat(name: str, at_ms: int, text: str) -> str:
    return json.dumps(_source(name, at_ms, text))


def kibana(name: str, at_ms: int, text: str) -> str:
    return json.dumps({"_index": "logs-2026", "_id": str(at_ms), "_source": _source(name, at_ms, text)})


def logcli(name: str, at_ms: int, text: str) -> str:
    labels = {"pod": _pod(name), "container": "orders"}
    return json.dumps({"labels": labels, "line": text, "timestamp": forms.iso(at_ms)})


def journald(name: str, at_ms: int, text: str) -> str:
    unit = f"orders@{name[-8:]}.service"
    about = {"__REALTIME_TIMESTAMP": f"{at_ms}000", "_HOSTNAME": "worker-1", "_SYSTEMD_UNIT": unit}
    return json.dumps({**about, "PRIORITY": "6", "MESSAGE": text})


def cri(_name: str, at_ms: int, text: str) -> str:
    return f"{forms.iso(at_ms)[:-1]}123456Z stdout F {text}"


def syslog(name: str, at_ms: int, text: str) -> str:
    return f"{forms.iso(at_ms)[:-1]}+00:00 worker-1 orders[{int(name[-4:], 16)}]: {text}"


def compose(name: str, _at_ms: int, text: str) -> str:
    return f"worker-{int(name[-5:-1], 16):<6} | {text}"


def document(head: str, record: Callable[[str, LogEvent], object], tail: str, *, indent: int | None = None) -> Hand:
    """Documents of many streams' events: `head`, the records with commas between them, `tail`."""

    def hand(folder: Path, made: Iterable[WorkerLog]) -> None:
        for number, batch in zip(count(1), forms._batches(made)):  # noqa: SLF001 - counts without end; the same batches
            with (folder / f"answer-{number}.json").open("w", encoding="utf-8") as out:
                values = (record(name, line) for name, line in merged(batch))
                _write_document(out, head, (json.dumps(value, indent=indent) for value in values), tail)

    return hand


def _write_document(out: TextIO, head: str, records: Iterable[str], tail: str) -> None:
    comma = ""
    out.write(head)
    for record in records:
        out.write(comma + record)
        comma = ",\n"
    out.write(tail)


def _insight(name: str, line: LogEvent) -> list[dict[str, str]]:
    at = datetime.fromtimestamp(line.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    cells = {"@timestamp": at, "@message": line.text, "@logStream": name, "@ptr": f"Cmk{line.at_ms:032x}"}
    return [{"field": field, "value": value} for field, value in cells.items()]


def _hit(name: str, line: LogEvent) -> dict[str, object]:
    return {"_index": "logs-2026", "_id": str(line.at_ms), "_source": _source(name, line.at_ms, line.text)}


def loki_streams(folder: Path, made: Iterable[WorkerLog]) -> None:
    """Loki's answers to `query_range`: streams one after the other, each with its values."""
    head = '{"status":"success","data":{"resultType":"streams","result":['
    for number, batch in zip(count(1), forms._batches(made)):  # noqa: SLF001 - as above
        with (folder / f"query_range-{number}.json").open("w", encoding="utf-8") as out:
            _write_document(out, head, map(_loki_stream, batch), "]}}\n")


def _loki_stream(stream: WorkerLog) -> str:
    labels = {"app": "orders", "pod": _pod(stream.name), "container": "orders"}
    values = [
        [f"{line.at_ms}{index:06d}", text] for line in stream.lines for index, text in enumerate(line.text.split("\n"))
    ]
    return json.dumps({"stream": labels, "values": values}, separators=(",", ":"))


insights = document('{\n    "results": [\n', _insight, '],\n    "status": "Complete"\n}\n', indent=4)
"""`aws logs get-query-results`."""

search = document('{"took":5,"timed_out":false,"hits":{"max_score":null,"hits":[', _hit, "]}}\n")
"""Elasticsearch's answer to `_search`."""
