"""The founding incident, at its real scale of minutes, wrapped in everything that logs travel in."""

import gzip
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leadsman.model import Diagnosis, Finding, State, Verdict

START = datetime(2020, 12, 20, 6, 0, tzinfo=UTC)
WORKERS = ("8f3c1be0d2a94c51", "41d07aa9b6e34f02", "c9e2570f13bb4d8e")
GAPS = ((45, 611, 120, 598, 703), (300, 64, 640, 590), (30, 615, 1800, 75, 420))
"""Seconds of quiet before each event of a worker. What is longer than 600 s ends in a lost record."""

LIMIT = 600
LOST = (
    "[Producer clientId=producer-1] Received invalid metadata error in produce request on partition events-0 due to "
    "org.apache.kafka.common.errors.NetworkException: The server disconnected before a response was received.. "
    "Going to request metadata update now"
)

Line = tuple[datetime, str, str]
"""Time, level, message."""


def life(gaps: tuple[int, ...]) -> Iterator[Line]:
    """What one worker writes: an event after each gap, and the loss of it where the gap was too long."""
    now = START
    for number, gap in enumerate((0, *gaps)):
        now += timedelta(seconds=gap)
        yield now, "INFO", f"Handling event {number}"
        if gap > LIMIT:
            yield now + timedelta(milliseconds=30), "WARN", LOST
            yield now + timedelta(milliseconds=40), "ERROR", f"Event {number} was not delivered"
        else:
            yield now + timedelta(milliseconds=20), "INFO", f"Event {number} delivered"
        now += timedelta(milliseconds=50)


def busy() -> Iterator[Line]:
    """A service that is never quiet for more than two seconds, with the same client."""
    for second in range(0, 3600, 2):
        yield START + timedelta(seconds=second), "INFO", "Handling an event"


def all_clients() -> dict[str, list[Line]]:
    return {**{name: list(life(gaps)) for name, gaps in zip(WORKERS, GAPS, strict=True)}, "busy": list(busy())}


def stamp(at: datetime, between: str = "T", end: str = "Z") -> str:
    return at.strftime(f"%Y-%m-%d{between}%H:%M:%S.%f")[:-3] + end


def log4j(line: Line) -> str:
    at, level, message = line
    return f"{stamp(at, ' ', '').replace('.', ',')} {level} [kafka-producer] o.a.k.Sender - {message}"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def of_each(folder: Path, name: str, line_of: Callable[[Line], str]) -> None:
    for worker, lines in all_clients().items():
        write(folder / name.format(worker), "".join(line_of(line) + "\n" for line in lines))


def together(folder: Path, line_of: Callable[[str, Line], str]) -> None:
    merged = sorted((line[0], worker, line) for worker, lines in all_clients().items() for line in lines)
    write(folder / "all.log", "".join(line_of(worker, line) + "\n" for _, worker, line in merged))


def cloudwatch(folder: Path) -> None:
    for worker, lines in all_clients().items():
        text = "".join(f"{stamp(line[0])} {log4j(line)}\n" for line in lines)
        path = folder / "2020/12/20" / f"[$LATEST]{worker}" / "000000.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress(text.encode()))


def lambda_text(folder: Path) -> None:
    for worker, lines in all_clients().items():
        text = ""
        for at, level, message in lines:
            request = f"5b3e0c1a-0000-4000-8000-{abs(hash((worker, message))) % 10**12:012}"
            if message.startswith("Handling"):
                text += f"{stamp(at)} START RequestId: {request} Version: $LATEST\n"
            text += f"{stamp(at)} {stamp(at)}\t{request}\t{level}\t{message}\n"
            if message.startswith("Event"):
                text += f"{stamp(at)} END RequestId: {request}\n"
                text += f"{stamp(at)} REPORT RequestId: {request}\tDuration: 20.00 ms\tBilled Duration: 20 ms\n"
        write(folder / f"[$LATEST]{worker}", text)


def filter_log_events(folder: Path) -> None:
    events = [
        {
            "logStreamName": f"2020/12/20/[$LATEST]{worker}",
            "timestamp": int(line[0].timestamp() * 1000),
            "message": log4j(line) + "\n",
        }
        for worker, lines in all_clients().items()
        for line in lines
    ]
    write(folder / "events.json", json.dumps({"events": events, "searchedLogStreams": []}, indent=4))


def filebeat(worker: str, line: Line) -> str:
    fields = {"kubernetes": {"pod": {"name": worker}}, "message": log4j(line), "log": {"level": line[1]}}
    return json.dumps({"_index": "filebeat", "_source": {"@timestamp": stamp(line[0]), **fields}})


def loki(folder: Path) -> None:
    streams = [
        {
            "stream": {"pod": worker},
            "values": [[str(int(line[0].timestamp() * 1000)) + "000000", log4j(line)] for line in lines],
        }
        for worker, lines in all_clients().items()
    ]
    write(folder / "loki.json", json.dumps({"status": "success", "data": {"resultType": "streams", "result": streams}}))


WRAPPERS: dict[str, Callable[[Path], None]] = {
    "log4j files": lambda folder: of_each(folder, "{}.log", log4j),
    "CloudWatch export": cloudwatch,
    "Lambda text": lambda_text,
    "filter-log-events": filter_log_events,
    "Kubernetes CRI": lambda folder: of_each(
        folder, "{}/0.log", lambda line: f"{stamp(line[0], end='000000Z')} stdout F {log4j(line)}"
    ),
    "Docker JSON": lambda folder: of_each(
        folder,
        "{}-json.log",
        lambda line: json.dumps({"log": log4j(line) + "\n", "stream": "stdout", "time": stamp(line[0])}),
    ),
    "compose": lambda folder: together(folder, lambda worker, line: f"{worker}  | {log4j(line)}"),
    "Filebeat": lambda folder: together(folder, filebeat),
    "Loki": loki,
    "logstash JSON": lambda folder: of_each(
        folder,
        "{}.json",
        lambda line: json.dumps(
            {"@timestamp": stamp(line[0]), "level": line[1], "logger_name": "o.a.k.Sender", "message": line[2]}
        ),
    ),
    "syslog": lambda folder: together(
        folder, lambda worker, line: f"{line[0]:%Y-%m-%dT%H:%M:%S.%f}Z {worker} orders[7]: {log4j(line)}"
    ),
}  # fmt: skip - one wrapper a line


def idle(diagnosis: Diagnosis) -> Finding:
    """Logs of clients alone cannot tell of every mode: others may have findings that say so."""
    return next(finding for finding in diagnosis.findings if finding.mode == "idle_disconnect")


@pytest.fixture(scope="module")
def diagnoses(diagnosed, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Diagnosis]:
    """All wrappers at once: many small captures are one Spark job."""
    folders = {name: tmp_path_factory.mktemp(name.replace(" ", "-")) for name in WRAPPERS}
    for name, wrap in WRAPPERS.items():
        wrap(folders[name])
    return dict(zip(folders, diagnosed(list(folders.values())), strict=True))


@pytest.mark.spark
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_incident_is_named_in_every_wrapper(wrapper: str, diagnoses: dict[str, Diagnosis]):
    assert diagnoses[wrapper].verdicts["idle_disconnect"] is Verdict.PRESENT


@pytest.mark.spark
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_limit_is_inferred_from_the_gaps(wrapper: str, diagnoses: dict[str, Diagnosis]):
    finding = idle(diagnoses[wrapper])
    figures = finding.figures

    assert (figures["failures"], figures["after_gap"]) == (5, 5)
    assert 597.5 < float(figures["limit_low"]) < 598.5
    assert 610.5 < float(figures["limit_high"]) < 611.5


@pytest.mark.spark
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_affected_workers_are_distinguished_from_never_idle_ones(wrapper: str, diagnoses: dict[str, Diagnosis]):
    finding = idle(diagnoses[wrapper])

    assert finding.subjects["affected_count"] == 3
    assert finding.figures["never_idle"] == 1


@pytest.mark.spark
def test_a_limit_that_no_setting_names_is_matched_against_known_hops(diagnoses: dict[str, Diagnosis]):
    finding = idle(diagnoses["log4j files"])

    assert "600 s" in str(finding.figures["hop"])
    assert "350 s" not in str(finding.figures["hop"])


@pytest.mark.spark
def test_a_frozen_runtime_is_named(diagnoses: dict[str, Diagnosis]):
    finding = idle(diagnoses["Lambda text"])

    assert finding.figures["frozen"] == 5


@pytest.mark.spark
def test_one_line_in_a_message_is_unknown(diagnosed, tmp_path: Path):
    write(tmp_path / "mail.txt", log4j((START, "WARN", LOST)) + "\n")

    (diagnosis,) = diagnosed([tmp_path])

    assert diagnosis.verdicts["idle_disconnect"] is Verdict.UNKNOWN
    assert idle(diagnosis).chain[0].state is State.NOT_VISIBLE


@pytest.mark.spark
def test_failures_of_a_busy_worker_are_another_cause(diagnosed, tmp_path: Path):
    lines = [*busy()]
    failures = [(START + timedelta(seconds=300 * i + 1), "WARN", LOST) for i in range(1, 8)]
    write(tmp_path / "busy.log", "".join(log4j(line) + "\n" for line in sorted([*lines, *failures])))

    (diagnosis,) = diagnosed([tmp_path])

    assert diagnosis.verdicts["idle_disconnect"] is Verdict.ABSENT
    assert diagnosis.unexplained
