"""Runs a command once, interrupts it, and looks for what it left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import psutil

from leadsman.lab.interrupting.commands import incomplete_files
from leadsman.lab.processes.marked import MARK, marked_processes
from leadsman.lab.processes.program import SOURCES
from leadsman.run_folder import SHARED_MEMORY, owner_pid, stale_folders

if TYPE_CHECKING:
    from leadsman.lab.interrupting.commands import Command

EXIT_SECONDS = 60.0
"""So long after Ctrl-C a command still runs: brokers are being stopped, on a busy machine. More is a fault."""

END_SECONDS = 10.0
"""A process that was told to end may need so long, as a JVM does."""

USUAL_SECONDS = 600.0
INTERRUPTED = {130, -signal.SIGINT}


@dataclass(slots=True)
class Outcome:
    """What one run showed. `exit_seconds`: from the interrupt to the exit. `faults`: each with an example."""

    interrupted: bool = False
    exit_seconds: float = 0.0
    faults: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandRun:
    """One run of a command in a folder of its own, by whose `mark` its processes are found."""

    command: Command
    folder: Path
    mark: str
    pids: set[int] = field(default_factory=set)
    """The command and what it had started by the interrupt. Other programs may leave folders of their own, too."""

    @property
    def scratch(self) -> Path:
        """The folder for its temporary files."""
        return self.folder / "tmp"

    @property
    def out(self) -> Path:
        """What the command writes."""
        return self.folder / "out"

    def text(self, output: str) -> str:
        """Return what it printed to `stdout` or `stderr`."""
        return (self.folder / output).read_text(errors="replace")


def run(command: Command, folder: Path, *, after: float | None, again_after: float | None = None) -> Outcome:
    """Run a command in a folder of its own, interrupt it `after` seconds, and return what it left.

    None: it is not interrupted. `again_after` seconds later it is interrupted once more.
    """
    this = CommandRun(command, Path(tempfile.mkdtemp(dir=folder)), uuid4().hex)
    this.scratch.mkdir()
    try:
        process = _start(this)
        this.pids.add(process.pid)
        outcome = _interrupt(this, process, after, again_after)
        _look_at_the_end(this, process, outcome)
        psutil.wait_procs(marked_processes(this.mark), timeout=END_SECONDS)
        if left := marked_processes(this.mark):
            outcome.faults["processes"] = ", ".join(sorted(map(_name, left))[:5])
        if files := [path.name for path in this.scratch.iterdir() if not path.name.startswith("hsperfdata_")]:
            outcome.faults["temporary files"] = ", ".join(files[:5])
        if folders := sorted(each for each in stale_folders(SHARED_MEMORY) if owner_pid(each) in this.pids):
            outcome.faults["shared memory"] = ", ".join(map(str, folders[:5]))
        if files := incomplete_files(this.out):
            outcome.faults["half a file"] = ", ".join(files[:5])
    finally:
        for each in marked_processes(this.mark):
            with suppress(psutil.Error):
                each.kill()
        shutil.rmtree(this.folder, ignore_errors=True)
    return outcome


def _start(this: CommandRun) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "leadsman", *(word.replace("{out}", str(this.out)) for word in this.command.words)]
    with (this.folder / "stdout").open("wb") as stdout, (this.folder / "stderr").open("wb") as stderr:
        return subprocess.Popen(
            words,
            cwd=this.folder,
            env={**os.environ, MARK: this.mark, "TMPDIR": str(this.scratch), "LEADSMAN_DAEMON": "off"},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=_take_interrupts,  # noqa: PLW1509 - this process has one thread
        )


def _take_interrupts() -> None:
    """Handle Ctrl-C as in a terminal: a shell starts what runs in the background with it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt(
    this: CommandRun, process: subprocess.Popen[bytes], after: float | None, again_after: float | None
) -> Outcome:
    outcome = Outcome()
    try:
        process.wait(USUAL_SECONDS if after is None else after)
    except subprocess.TimeoutExpired:
        if after is None:
            outcome.faults["goes on"] = f"for {USUAL_SECONDS:g} s, uninterrupted"
            return outcome
    else:
        return outcome
    this.pids.update(each.pid for each in marked_processes(this.mark))
    outcome.interrupted, started = True, time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    if again_after is not None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(again_after)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        outcome.faults["goes on"] = f"{EXIT_SECONDS:g} s after Ctrl-C"
    outcome.exit_seconds = time.monotonic() - started
    return outcome


def _look_at_the_end(this: CommandRun, process: subprocess.Popen[bytes], outcome: Outcome) -> None:
    allowed = {*this.command.codes, *(INTERRUPTED if outcome.interrupted else ())}
    if outcome.interrupted and this.text("stderr").endswith("KeyboardInterrupt\n"):
        allowed.add(1)  # of Python itself; whether a module of ours had been imported by then, its traceback says
    if process.returncode is not None and process.returncode not in allowed:
        outcome.faults["exit code"] = f"{process.returncode}: {this.text('stderr')[-QUOTED:]}"
    for output in ("stdout", "stderr"):
        if OUR_TRACEBACK.search(this.text(output)):
            outcome.faults["traceback"] = this.text(output)[-QUOTED:]


OUR_TRACEBACK = re.compile(
    rf'Traceback \(most recent call last\).*File "{re.escape(str(SOURCES))}/leadsman/(?!__main__\.py)', re.DOTALL
)
"""One of Python's own start, before any of our modules is imported, is none of ours."""

QUOTED = 600
"""Characters of an output's end that are quoted."""


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.name()} ({process.pid})"
    except psutil.Error:
        return "ended"
