"""Measures how fast each form is read in which collectors hand logs over, beside a plain peer on the same files.

python -m bench.forms              50 MB a form, three rounds by turns: half an hour on two quiet cores; writes its
                                   table into docs/performance.md
python -m bench.forms --mb 5 --rounds 1 --only tail

A row a form, worst ratio first: megabytes a second of one core's processor time, events, peak memory, the same read
record by record, and the peer. The peer of a document is `json.loads` of the whole, of JSON lines `json.loads` of each
line, of text ripgrep counting the lines that a few patterns match.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import UTC
from functools import partial
from itertools import chain
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from bench import page
from bench.jobs import ripgrep_program
from bench.production import serverless_forms as forms
from bench.production.serverless_fleet import Fleet, streams
from bench.production.serverless_outcomes import after_gaps
from bench.production.serverless_wordings import FAILED, JAVA_3, KAFKA_PYTHON, RDKAFKA, RETRIED, TIMED_OUT

from leadsman.pipeline import read as reading
from leadsman.pipeline.events import batches
from leadsman.pipeline.scanner import once_scanner
from leadsman.pipeline.streams import find

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bench.production.serverless_forms import Stream

SEED = 20261123
LIMIT_S = 240
WORDS = ("ERROR", "START RequestId", "Connection reset|timed out", "Cluster ID: ")
"""What ripgrep looks for: a few of what signatures know."""


def _lines(text_of: Callable[[str, int, str], str], folder: Path, made: Iterable[Stream]) -> None:
    """Write the lines of many streams into one file, by time."""
    merged = chain.from_iterable(map(forms._merged_of, forms._batches(made)))  # noqa: SLF001 - the same merge
    with (folder / "lines.log").open("w", encoding="utf-8") as out:
        for name, line in merged:
            out.writelines(text_of(name, line.at_ms, text) + "\n" for text in line.text.split("\n"))


def _elasticsearch(name: str, at_ms: int, text: str) -> str:
    pod = name.rsplit("]", 1)[-1]
    source = {"@timestamp": forms.iso(at_ms), "message": text, "kubernetes": {"pod": {"name": pod}}, "level": "info"}
    return json.dumps({"_index": "logs-2026", "_id": str(at_ms), "_source": source})


def _loki(name: str, at_ms: int, text: str) -> str:
    return json.dumps({"labels": {"pod": name[-32:]}, "line": text, "timestamp": forms.iso(at_ms)})


def _journald(name: str, at_ms: int, text: str) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": f"{at_ms}000", "_SYSTEMD_UNIT": f"app@{name[-8:]}", "MESSAGE": text})


def _cri(_name: str, at_ms: int, text: str) -> str:
    return f"{forms.iso(at_ms)[:-1]}123456Z stdout F {text}"


@dataclass(frozen=True, slots=True)
class Form:
    """A form of logs, who wrote them, and whose peer is what. `weight` is bytes written for each byte logged."""

    name: str
    client: str
    harm: str
    write: Callable[[Path, Iterable[Stream]], None]
    peer: str
    weight: float

    def generate(self, folder: Path, size: int) -> None:
        """Write about so many bytes."""
        fleet = Fleet(function="orders", client=self.client, outcome=after_gaps(LIMIT_S, self.harm))
        workers = max(2, int(size / (fleet.visits * fleet.visit_bytes * self.weight)))
        self.write(folder, streams(fleet, Random(SEED), workers))


DOCUMENT, LINES, TEXT = "json.loads", "json.loads of lines", "ripgrep"
FORMS = (
    Form("filter-log-events, Java", JAVA_3, RETRIED, forms.filter_log_events, DOCUMENT, 3.3),
    Form("filter-log-events, librdkafka", RDKAFKA, TIMED_OUT, forms.filter_log_events, DOCUMENT, 3.3),
    Form("filter-log-events, kafka-python", KAFKA_PYTHON, FAILED, forms.filter_log_events, DOCUMENT, 3.3),
    Form("get-log-events, a file a worker, Java", JAVA_3, RETRIED, forms.get_log_events, DOCUMENT, 1.6),
    Form("aws logs tail, Java", JAVA_3, RETRIED, forms.logs_tail, TEXT, 1.5),
    Form("aws logs tail, kafka-python", KAFKA_PYTHON, FAILED, forms.logs_tail, TEXT, 1.5),
    Form("Docker json-file, a file a worker", JAVA_3, RETRIED, forms.docker_json, LINES, 1.5),
    Form("Elasticsearch export", JAVA_3, RETRIED, partial(_lines, _elasticsearch), LINES, 2.0),
    Form("Loki, logcli", JAVA_3, RETRIED, partial(_lines, _loki), LINES, 1.6),
    Form("journald JSON", JAVA_3, RETRIED, partial(_lines, _journald), LINES, 1.6),
    Form("CRI", JAVA_3, RETRIED, partial(_lines, _cri), TEXT, 1.3),
)


def main() -> None:
    """Generate, measure by turns, print. With --measure: do one thing in this process and print what it took."""
    asked = _arguments()
    if asked.measure:
        print(json.dumps(MEASURES[asked.measure](Path(asked.folder))))
        return
    with tempfile.TemporaryDirectory(prefix="leadsman-forms-") as work:
        chosen = [form for form in FORMS if asked.only in form.name]
        rows = [_row(form, Path(work), asked.mb * 1_000_000, rounds=asked.rounds) for form in chosen]
    section = "\n".join((*HEAD, *(text for _, text in sorted(rows))))
    print(section)
    if not asked.only and asked.mb >= LEAST_MB:
        page.put("forms", section)


LEAST_MB = 50
"""Below this, a row is mostly what is done once."""

HEAD = (
    "| form | MB | MB/s a core | events | peak MiB | record by record | peer | its MB/s | ratio |",
    "|---|---|---|---|---|---|---|---|---|",
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.forms", description="Measure the forms of wrapped logs.")
    parser.add_argument("--mb", type=int, default=50, help="megabytes of each form")
    parser.add_argument("--rounds", type=int, default=3, help="how often each job runs")
    parser.add_argument("--only", default="", help="forms whose names hold this")
    parser.add_argument("--measure", choices=sorted(MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    return parser.parse_args()


def _row(form: Form, work: Path, size: int, *, rounds: int) -> tuple[float, str]:
    """Return a form's ratio and its row."""
    folder = work / "form"
    folder.mkdir()
    form.generate(folder, size)
    megabytes = sum(path.stat().st_size for path in folder.rglob("*")) / 1e6
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in ("leadsman", "singly", form.peer)}
    for _ in range(rounds):
        for name, results in taken.items():
            results.append(_measured(name, folder))
            print(f"{form.name}: {name} {results[-1]}", file=sys.stderr, flush=True)
    shutil.rmtree(folder)
    ours, singly, theirs = (megabytes / median(each["seconds"] for each in results) for results in taken.values())
    last = taken["leadsman"][-1]
    ratio = median(
        theirs["seconds"] / ours["seconds"] for ours, theirs in zip(taken["leadsman"], taken[form.peer], strict=True)
    )
    cells = (
        form.name, f"{megabytes:.0f}", f"{ours:.1f}", last["events"], last["peak"], f"{singly:.1f}", form.peer,
        f"{theirs:.0f}", f"{ratio:.2f}",
    )  # fmt: skip
    return ratio, "| " + " | ".join(map(str, cells)) + " |"


def _measured(name: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.forms", "--measure", name, "--folder", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    return dict(json.loads(done.stdout))


def _leadsman(folder: Path) -> dict[str, Any]:
    once_scanner()
    found = find(str(folder)).streams
    started = time.process_time()
    told = (row for stream in found for row in reading.read(stream, UTC))
    events = sum(batch.num_rows for batch in batches(told))
    seconds = time.process_time() - started
    return {"seconds": seconds, "events": events, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}


def _singly(folder: Path) -> dict[str, Any]:
    """Read record by record, as what is not read by columns is."""
    sample = reading._sample  # noqa: SLF001 - the one place where a file's format is chosen

    def without_batches(file: Any, zone: Any) -> Any:  # noqa: ANN401 - as `_sample`
        form, at = sample(file, zone)
        return (form if form is None or isinstance(form, str) else replace(form, batches=None)), at

    with patch.object(reading, "_sample", without_batches):
        return _leadsman(folder)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _document(folder: Path) -> dict[str, Any]:
    started = time.process_time()
    for path in _files(folder):
        json.loads(path.read_bytes())
    return {"seconds": time.process_time() - started}


def _each_line(folder: Path) -> dict[str, Any]:
    started = time.process_time()
    for path in _files(folder):
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
    return {"seconds": time.process_time() - started}


def _ripgrep(folder: Path) -> dict[str, Any]:
    words = [part for word in WORDS for part in ("-e", word)]
    command = [ripgrep_program(), "--count", "--threads", "1", "--no-ignore", *words, str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": took.ru_utime + took.ru_stime}


MEASURES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "leadsman": _leadsman,
    "singly": _singly,
    DOCUMENT: _document,
    LINES: _each_line,
    TEXT: _ripgrep,
}

if __name__ == "__main__":
    main()
