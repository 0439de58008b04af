"""Runs the tables' whole life in one process: start, batches, maintenance. Records its steps, or dies at one of them.

A step is a line of `account_linking.tables` that is executed: Spark does its work inside of such a line.

python tables_lifecycle.py ROOT BOOTSTRAP --record FILE
python tables_lifecycle.py ROOT BOOTSTRAP --kill STAGE:FILE:LINE:OCCURRENCE:DELAY_SECONDS
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from account_linking import tables
from account_linking.tables import streams, translate
from account_linking.tables.__main__ import main
from account_linking.tables.layout import Layout
from account_linking.tables.maintenance import maintain_tables
from leadsman.lab.processes.families import descendants, signal_all
from leadsman.pipeline.spark.session import SessionOptions, session

if TYPE_CHECKING:
    from types import FrameType

PACKAGE = str(Path(tables.__file__).parent)
ROWS_PER_BATCH = 90
"""So few that the records of the test are several batches."""


@dataclass(frozen=True, slots=True)
class Step:
    """One executed line: its `occurrence` in the stage, and how long it took."""

    stage: str
    file: str
    line: int
    function: str
    occurrence: int
    seconds: float = 0.0


@dataclass(slots=True)
class Tracer:
    """Notes every executed line of the tables' code, and ends the process at one of them."""

    kill_at: tuple[str, str, int, int] | None = None
    delay_seconds: float = 0.0
    stage: str = "start"
    steps: list[Step] = field(default_factory=list)
    _counts: dict[tuple[str, str, int], int] = field(default_factory=dict)
    _open: dict[int, tuple[int, float]] = field(default_factory=dict)

    def install(self) -> None:
        threading.settrace(self.on_call)
        sys.settrace(self.on_call)

    def on_call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        return self.on_line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def on_line(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            self.note(Path(frame.f_code.co_filename).name, frame.f_lineno, frame.f_code.co_qualname)
        return self.on_line

    def note(self, file: str, line: int, function: str) -> None:
        place = (self.stage, file, line)
        occurrence = self._counts[place] = self._counts.get(place, 0) + 1
        self._close()
        self._open[threading.get_ident()] = (len(self.steps), time.monotonic())
        self.steps.append(Step(*place, function, occurrence))
        if self.kill_at == (*place, occurrence):
            threading.Timer(self.delay_seconds, die).start() if self.delay_seconds else die()

    def _close(self) -> None:
        """Set how long the thread's last step took."""
        if before := self._open.get(threading.get_ident()):
            index, began = before
            old = self.steps[index]
            self.steps[index] = Step(**{**asdict(old), "seconds": time.monotonic() - began})


def die() -> None:
    """Kill Spark's JVM and this process, so that neither cleans up."""
    signal_all(descendants(os.getpid()), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def run(root: str, bootstrap: str, tracer: Tracer) -> None:
    streams.MAX_ROWS_PER_BATCH = ROWS_PER_BATCH
    arguments = ["--tables", root, "--bootstrap", bootstrap]
    with session(SessionOptions(delta=True)) as spark:
        tracer.install()
        Layout(root).create(spark)
        tracer.stage = "batch"
        rules = translate.ROW_RULES
        # A rule that is too strict at first, so that `replay` has rows to move.
        translate.ROW_RULES = (*rules, translate.RowRule("is_small", "amount", "op = 'DELETE' or abs(amount) < 1000"))
        main(["stream", "--once", *arguments], spark)
        translate.ROW_RULES = rules
        tracer.stage = "maintenance"
        for command in ("replay", "reclassify", "rebuild"):
            main([command, *arguments], spark)
        main(["forget", *arguments, "--user", "a user without rows"], spark)
        maintain_tables(spark, Layout(root), tables=("silver", "quarantine"))  # one with clustering, one without
        sys.settrace(None)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("bootstrap")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--kill", default="")
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    tracer = Tracer()
    if options.kill:
        stage, file, line, occurrence, delay = options.kill.split(":")
        tracer = Tracer((stage, file, int(line), int(occurrence)), float(delay))
    run(options.root, options.bootstrap, tracer)
    if options.record:
        options.record.write_text(json.dumps([asdict(step) for step in tracer.steps]))
