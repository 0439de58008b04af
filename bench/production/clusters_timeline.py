"""What brokers and programs wrote, by file: events of an incident merged into the lines of ordinary life."""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

LEVEL_VALUES = {"TRACE": 5000, "DEBUG": 10000, "INFO": 20000, "WARN": 30000, "ERROR": 40000, "FATAL": 50000}


@dataclass(frozen=True, slots=True)
class Event:
    """`at` is in seconds since 1970; `trace` are the lines of a stack trace below the message."""

    at: float
    level: str
    logger: str
    message: str
    trace: tuple[str, ...] = ()
    thread: str = "main"


@dataclass(slots=True)
class LogTimeline:
    """Events by file, and the times at which a file has no ordinary lines (`quiet`) or none of its work (`idle`)."""

    events: dict[str, list[Event]] = field(default_factory=dict)
    quiet: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    idle: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    def add(self, path: str, *events: Event) -> None:
        self.events.setdefault(path, []).extend(events)

    def be_quiet(self, path: str, start: float, end: float) -> None:
        self.quiet.setdefault(path, []).append((start, end))

    def be_idle(self, path: str, start: float, end: float) -> None:
        self.idle.setdefault(path, []).append((start, end))

    def is_quiet(self, path: str, at: float) -> bool:
        return any(start <= at < end for start, end in self.quiet.get(path, ()))

    def is_idle(self, path: str, at: float) -> bool:
        return any(start <= at < end for start, end in self.idle.get(path, ()))


def clock(at: float, *, zone_hours: float = 0.0, comma: str = ",", middle: str = " ") -> str:
    moment = datetime.fromtimestamp(round(at, 3) + zone_hours * 3600, tz=UTC)
    return f"{moment:%Y-%m-%d}{middle}{moment:%H:%M:%S}{comma}{moment.microsecond // 1000:03d}"


def zulu(at: float) -> str:
    return clock(at, comma=".", middle="T") + "Z"


def stamp(at: float) -> str:
    """A moment as names of files carry it."""
    return f"{datetime.fromtimestamp(at, tz=UTC):%Y%m%dT%H%M%SZ}"


def broker_text(event: Event, zone_hours: float = 0.0) -> str:
    """Kafka's own pattern: [%d] %p %m (%c)%n."""
    head = f"[{clock(event.at, zone_hours=zone_hours)}] {event.level} {event.message} ({event.logger})"
    return "\n".join((head, *event.trace)) + "\n"


def plain_text(event: Event, zone_hours: float = 0.0) -> str:
    at = clock(event.at, zone_hours=zone_hours)
    head = f"{at} {event.level:<5} [{event.thread}] {event.logger} - {event.message}"
    return "\n".join((head, *event.trace)) + "\n"


def spring_text(event: Event, zone_hours: float = 0.0) -> str:
    at = clock(event.at, zone_hours=zone_hours, comma=".")
    head = f"{at} {event.level:>5} 1 --- [{event.thread[-15:]:>15}] {_short(event.logger):<40} : {event.message}"
    return "\n".join((head, "", *event.trace, "") if event.trace else (head,)) + "\n"


def _short(logger: str) -> str:
    parts = logger.split(".")
    while len(".".join(parts)) > 40 and any(len(part) > 1 for part in parts[:-1]):  # noqa: PLR2004 - %-40.40logger{39}
        index = next(i for i, part in enumerate(parts[:-1]) if len(part) > 1)
        parts[index] = parts[index][0]
    return ".".join(parts)


def json_text(event: Event, zone_hours: float = 0.0) -> str:
    del zone_hours
    fields: dict[str, object] = {"@timestamp": zulu(event.at), "@version": "1", "message": event.message}
    fields |= {"logger_name": event.logger, "thread_name": event.thread, "level": event.level}
    fields["level_value"] = LEVEL_VALUES[event.level]
    if event.trace:
        fields["stack_trace"] = "\n".join(event.trace) + "\n"
    return json.dumps(fields, separators=(",", ":")) + "\n"


def docker_text(event: Event, zone_hours: float = 0.0) -> str:
    at = clock(event.at, comma=".", middle="T") + f"{int(event.at * 1e6) % 1000000:06d}Z"
    rows = plain_text(event, zone_hours).splitlines()
    return "".join(
        json.dumps({"log": row + "\n", "stream": "stdout", "time": at}, separators=(",", ":")) + "\n" for row in rows
    )


def python_text(event: Event, zone_hours: float = 0.0) -> str:
    level = {"WARN": "WARNING"}.get(event.level, event.level)
    head = f"{clock(event.at, zone_hours=zone_hours)} {level} {event.logger}: {event.message}"
    return "\n".join((head, *event.trace)) + "\n"


def bare_text(event: Event, zone_hours: float = 0.0) -> str:
    del zone_hours
    return event.message + "\n"


TEXTS: dict[str, Callable[[Event, float], str]] = {
    "broker": broker_text,
    "plain": plain_text,
    "spring": spring_text,
    "json": json_text,
    "docker": docker_text,
    "python": python_text,
    "bare": bare_text,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """`hourly` files are rolled as Kafka rolls its own: server.log.2026-11-20-14, the last hour without a suffix."""

    path: str
    layout: str
    ordinary: Iterable[Event]
    zone_hours: float = 0.0
    hourly: bool = False


def write_log(folder: Path, file: LogFile, *, timeline: LogTimeline, end: float) -> None:
    events = sorted(timeline.events.get(file.path, ()), key=lambda event: event.at)
    rows = heapq.merge((e for e in events if e.at < end), file.ordinary, key=lambda event: event.at)
    if file.hourly:
        _write_hours(folder / file.path, _texts(file, rows), last_hour=_hour(end - 1, file.zone_hours))
    else:
        _write_one(folder / file.path, (text for _, text in _texts(file, rows)))


def _texts(file: LogFile, rows: Iterable[Event]) -> Iterator[tuple[float, str]]:
    for event in rows:
        text = event.message + "\n" if event.logger == "librdkafka" else TEXTS[file.layout](event, file.zone_hours)
        yield event.at + file.zone_hours * 3600, text


def _write_one(path: Path, texts: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        out.writelines(texts)


def _hour(at: float, zone_hours: float = 0.0) -> str:
    return f"{datetime.fromtimestamp(at + zone_hours * 3600, tz=UTC):%Y-%m-%d-%H}"


def _write_hours(path: Path, texts: Iterable[tuple[float, str]], *, last_hour: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    current, out = "", None
    for at, text in texts:
        hour = _hour(at)
        if out is None or hour != current:
            current, out = hour, _turn(out, path, suffix="" if hour == last_hour else f".{hour}")
        out.write(text)
    if out is not None:
        out.close()


def _turn(out: TextIO | None, path: Path, *, suffix: str) -> TextIO:
    if out is not None:
        out.close()
    return path.with_name(path.name + suffix).open("w", encoding="utf-8")
