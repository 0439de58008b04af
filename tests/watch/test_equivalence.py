"""Whatever comes in which order, a watch ends in what `diagnose` finds in the same files.

A recording arrives as files do on a host: all files grow at once, a piece of some bytes at a time, cut anywhere; some
come late, as a whole; logs are rotated by rename, or copied and truncated, and compressed afterwards; a log is
delivered twice, under another name. Rounds of the detectors run in between, at any time.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leadsman import modes
from leadsman.catalogue import every_mode
from leadsman.pipeline.diagnose_in_session import diagnose_in_session
from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input
from leadsman.report.json_documents.findings import findings_json
from leadsman.watch.file_listing import FolderListing
from leadsman.watch.rounds import ALL_MODES_EVERY_SECONDS, Rounds
from leadsman.watch.unchanged_copies import UNCHANGED_SECONDS

from .in_process import InProcessWatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from leadsman.model import Diagnosis

RECORDINGS = sorted(Path(next(iter(modes.__path__))).glob("*/recorded/*/manifest.json"))
FOUR_AT_ONCE = Path(__file__).parents[1] / "across_modes" / "recorded" / "four-at-once"
CAPTURES = [FOUR_AT_ONCE, *(each.parent for each in RECORDINGS)]
NOW = datetime(2027, 1, 1, tzinfo=UTC)
LONG_AGO_SECONDS = 2 * UNCHANGED_SECONDS
MAX_PIECES = 12
LOOKS = 10
"""How often a watch looks while files grow, about."""


@dataclass(slots=True)
class ArrivingFile:
    """A file of a recording whose bytes come one piece after the other. `late`: not before the others are there."""

    path: Path
    content: bytes
    late: bool
    rotates: str | None
    cuts: list[int]
    written: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether all of it has come."""
        return self.written == len(self.content)

    def grow(self, chance: random.Random) -> None:
        """Append the next piece; rotate a log first, now and then, at the end of a line."""
        if self.rotates and self.written and self.content[self.written - 1 : self.written] == b"\n":
            self._rotate(chance)
            self.rotates = None
        end = self.cuts.pop(0)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(self.content[self.written : end])
        self.written = end

    def _rotate(self, chance: random.Random) -> None:
        older = self.path.with_name(f"{self.path.name}.1")
        if self.rotates == "rename":
            self.path.rename(older)
        else:
            older.write_bytes(self.path.read_bytes())
            os.truncate(self.path, 0)
        if chance.random() < 0.5:
            older.with_name(f"{older.name}.gz").write_bytes(gzip.compress(older.read_bytes()))
            older.unlink()


@dataclass(slots=True)
class Arrival:
    """A recording that arrives in a folder, by the choices of a seed."""

    folder: Path
    chance: random.Random
    files: list[ArrivingFile] = field(default_factory=list)

    def add(self, capture: Path) -> None:
        """Add the files of a recording."""
        for path in sorted(each for each in capture.rglob("*") if each.is_file()):
            name = path.relative_to(capture)
            content = path.read_bytes()
            happens = self.chance.choice((None, None, None, "copy", "rename", "copy and truncate"))
            rotates = happens if path.suffix == ".log" and happens != "copy" else None
            self._add(name, content, rotates=rotates)
            if path.suffix == ".log" and happens == "copy":
                self._add(name.with_name(f"again-{name.name}"), content, rotates=None)

    def _add(self, name: Path, content: bytes, *, rotates: str | None) -> None:
        late = self.chance.random() < 0.2
        pieces = 0 if late or len(content) < 2 else self.chance.randint(0, MAX_PIECES - 1)
        cuts = sorted({*(self.chance.randrange(1, len(content)) for _ in range(pieces)), len(content)})
        if rotates:  # loggers rotate between two lines
            cuts = sorted({*cuts, content.rfind(b"\n", 0, len(content) // 2) + 1} - {0})
        self.files.append(ArrivingFile(self.folder / name, content, late, rotates, cuts))

    def step(self) -> bool:
        """Let one file grow; False when all are there."""
        growing = [each for each in self.files if not each.is_complete and each.cuts]
        if not growing:
            return False
        early = [each for each in growing if not each.late]
        self.chance.choice(early or growing).grow(self.chance)
        return True

    def age(self, seconds: float) -> None:
        """Let the last changes be so long ago: what follows a last newline is read after some seconds only."""
        past = time.time() - seconds
        for path in self.folder.rglob("*"):
            if path.is_file():
                os.utime(path, (past, past))


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def watched(spark: SparkSession, arrival: Arrival, states: Path) -> list[Diagnosis]:
    """The last diagnoses of a watch of the arrival."""
    chance, clock = arrival.chance, Clock()
    listing = FolderListing([str(arrival.folder)], max_bytes=chance.choice((200_000, 64 << 20)))
    watch = InProcessWatch(spark, listing, states)
    rounds = Rounds(watch, DiagnosisRequest(every_mode()), timedelta(days=3650), clock)
    looks = LOOKS / sum(len(each.cuts) for each in arrival.files)
    while arrival.step():
        if chance.random() < looks:
            arrival.age(chance.choice((0, 0, UNCHANGED_SECONDS / 2, LONG_AGO_SECONDS)))
            watch.read()
            clock.seconds += chance.choice((1, 1, 1, 100))
            rounds.run(NOW)
    arrival.age(LONG_AGO_SECONDS)
    before = -1
    while watch.last_query_offset > before:
        before = watch.last_query_offset
        watch.read()
    clock.seconds += ALL_MODES_EVERY_SECONDS
    rounds.run(NOW)
    return rounds.diagnoses


NAMES = re.compile(r"again-|(?<=\.log)\.1(?:\.gz)?\b")
"""What rotation and a second delivery add to a file's name: evidence has the name that a file had when it was read."""

OF_FILES = ("files", "bytes", "lines", "not_understood", "notes")
"""How much was read. Of a rotated log a watch has read the same lines in more files, or under another name."""


def comparable(diagnoses: list[Diagnosis]) -> list[dict[str, Any]]:
    """The findings document without what the way of reading decides."""
    captures: list[dict[str, Any]] = json.loads(NAMES.sub("", findings_json(diagnoses)))["captures"]
    for group in (group for each in captures for name in ("unexplained", "benign") for group in each[name]):
        group.pop("example")  # the one with the lowest line, which rotation changes
    return [{key: value for key, value in each.items() if key not in OF_FILES} for each in captures]


def check(spark: SparkSession, tmp_path: Path, seed: str) -> None:
    chance = random.Random(seed)
    arrival = Arrival(tmp_path / "capture", chance)
    arrival.add(chance.choice(CAPTURES))

    found = watched(spark, arrival, tmp_path / "states")

    expected = diagnose_in_session(
        spark, read_small_input(find_input([str(arrival.folder)])), DiagnosisRequest(every_mode())
    )
    assert comparable(found) == comparable(expected)


@pytest.mark.parametrize("seed", [2, 8, 9])
def test_a_watch_ends_in_what_diagnose_finds_however_files_arrive(
    seed: int, tmp_path: Path, embedded: SparkSession
) -> None:
    check(embedded, tmp_path, f"arrival {seed}")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(200))
def test_a_watch_ends_in_what_diagnose_finds_in_200_arrivals(seed: int, tmp_path: Path, embedded: SparkSession) -> None:
    check(embedded, tmp_path, f"long arrival {seed}")
