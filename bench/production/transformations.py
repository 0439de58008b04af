"""Ways to hand over the same telemetry, or a part of it, or more of it: none of them changes what is true."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from random import Random

PLAIN = re.compile(rb"\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
"""How each line of a log begins that can be cut and wrapped line by line."""

PARTS = 50


@dataclass(frozen=True, slots=True)
class Transformation:
    """One way to hand over: it changes a copy of a capture in place. `keeps`: the verdicts stay as they are."""

    name: str
    make: Callable[[Path, Random], None]
    keeps: bool = True


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _logs(folder: Path) -> Iterator[Path]:
    """Yield the logs that begin each line with a time, or go on in lines that do not."""
    for file in _files(folder):
        with file.open("rb") as opened:
            if PLAIN.match(opened.read(30)):
                yield file


def twice(folder: Path, random: Random) -> None:
    """A file stands in the capture twice."""
    file = random.choice(_files(folder))
    shutil.copy(file, file.with_name(f"copy-of-{file.name}"))


def rotated(folder: Path, random: Random) -> None:
    """Logs are rotated, the newest part without a number."""
    for file in _logs(folder):
        records = _records(file.read_bytes())
        count = min(PARTS, len(records))
        bounds = sorted(random.sample(range(1, len(records)), count - 1)) if count > 1 else []
        parts = [records[since:until] for since, until in zip([0, *bounds], [*bounds, len(records)], strict=True)]
        for age, part in enumerate(reversed(parts)):
            path = file if age == 0 else file.with_name(f"{file.name}.{age}")
            path.write_bytes(b"".join(part))


def wrapped(folder: Path, random: Random) -> None:
    """Docker wraps each line, and stamps it a moment later."""
    for file in _logs(folder):
        lines = file.read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        with file.open("w") as out:
            for line in lines:
                at = _time_of(line) or at
                stamp = f"{at + timedelta(microseconds=random.randrange(900)):%Y-%m-%dT%H:%M:%S.%f}000Z"
                out.write(json.dumps({"log": line, "stream": "stdout", "time": stamp}) + "\n")


def renamed(folder: Path, random: Random) -> None:
    """Folders have other names, so that files are met in another order."""
    for path in sorted(each for each in folder.iterdir() if each.is_dir()):
        path.rename(path.with_name(f"{random.randrange(1000):03}-{path.name}"))


def beside_another_service(folder: Path, random: Random) -> None:
    """The log of a web server that has nothing to do with Kafka lies there too."""
    at = datetime(2026, 11, 17, tzinfo=UTC)
    (folder / "nginx").mkdir()
    with (folder / "nginx" / "access.log").open("w") as out:
        for _ in range(3000):
            at += timedelta(seconds=random.expovariate(1 / 80))
            out.write(
                f'10.2.0.{random.randrange(250)} - - [{at:%d/%b/%Y:%H:%M:%S +0000}] "GET /health HTTP/1.1" 200 2\n'
            )


def without_a_file(folder: Path, random: Random) -> None:
    """One file was not collected."""
    files = _files(folder)
    if len(files) > 1:
        random.choice(files).unlink()


TRANSFORMATIONS = (
    Transformation("a file twice", twice),
    Transformation("rotated", rotated),
    Transformation("wrapped by Docker", wrapped),
    Transformation("other names", renamed),
    Transformation("beside another service", beside_another_service),
    Transformation("without a file", without_a_file, keeps=False),
)


def _records(text: bytes) -> list[bytes]:
    """Cut a log into its records: a line with a time, and the lines that go on."""
    records: list[bytes] = []
    for line in text.splitlines(keepends=True):
        if PLAIN.match(line) or not records:
            records.append(line)
        else:
            records[-1] += line
    return records


def _time_of(line: str) -> datetime | None:
    found = re.match(r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(Z|[+-]\d\d:?\d\d)?", line)
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    offset = "+00:00" if zone in (None, "Z") else zone
    return datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0').ljust(6, '0')}{offset}").astimezone(UTC)
