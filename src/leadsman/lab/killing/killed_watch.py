"""A `leadsman watch` whose processes are killed, and what can be killed of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Self
from uuid import uuid4

import psutil

from leadsman.errors import LabError
from leadsman.lab.processes.families import signal_all
from leadsman.lab.processes.marked import MARK, marked_processes, process_name
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from leadsman.lab.brokers.node import Broker

END_TIMEOUT = timedelta(seconds=60)
"""So long after the kill of one process the others may still run. More is a fault."""

QUOTED = 3000
DISK_ERROR = re.compile("Is the disk full|No space left")


@dataclass(slots=True)
class KilledWatch:
    """A watch that is started again whenever it has ended. `faults`: what went wrong, each with an example."""

    arguments: Sequence[str]
    folder: Path
    mark: str = field(default_factory=lambda: uuid4().hex)
    starts: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether its main process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, unless it runs."""
        if self.is_running:
            return
        self.starts += 1
        self._scratch.mkdir(exist_ok=True)
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "leadsman", "watch", *self.arguments],
                env={**os.environ, MARK: self.mark, "LEADSMAN_DAEMON": "off", "TMPDIR": str(self._scratch)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill_driver(self) -> None:
        """Kill its main process; the JVM and the workers are to end by themselves."""
        self._main.kill()
        self._require_end("after the kill of the driver")

    def kill_jvm(self) -> None:
        """Kill the JVM; the main process is to say so and to end."""
        java = self._named("java")
        if not java:
            return self.kill_driver()
        signal_all(java[:1], signal.SIGKILL)
        self._require_end("after the kill of the JVM")
        self._look_for_traceback()
        return None

    def kill_worker(self) -> None:
        """Kill a Python worker; Spark starts another one, and the watch goes on."""
        main = self._main.pid
        workers = [each for each in self._named("python") if each.pid != main and _parent(each) != main]
        if not workers:
            return self.kill_driver()
        signal_all(workers[-1:], signal.SIGKILL)
        return None

    def kill_all(self) -> None:
        """Kill all processes at once, as the end of a machine does."""
        signal_all(self.processes, signal.SIGKILL)
        self._require_end("after the kill of all")

    def stop(self) -> None:
        """End it by Ctrl-C. What earlier ones left when they were killed is to be removed by then."""
        if not self.is_running:
            return
        os.killpg(self._main.pid, signal.SIGINT)
        self._require_end("after Ctrl-C")
        self._look_for_traceback()
        if files := [each.name for each in self._scratch.iterdir() if not each.name.startswith("hsperfdata_")]:
            self.faults["temporary files"] = ", ".join(files[:5])

    def note_end(self, what: str) -> None:
        """Note it as a fault where the watch has ended of something that it should survive."""
        if not self.is_running:
            self.faults[f"ended {what}"] = self._end_of_output()

    def note_end_unless_disk_was_full(self) -> None:
        """Note it as a fault where the watch has ended, and not because the disk was full a moment ago."""
        if not self.is_running and not DISK_ERROR.search(self._end_of_output()):
            self.faults["ended after the disk was full"] = self._end_of_output()

    @property
    def pid(self) -> int:
        """Its main process."""
        return self._main.pid

    @property
    def processes(self) -> list[psutil.Process]:
        """All its processes."""
        return marked_processes(self.mark)

    @property
    def output(self) -> str:
        """What it has printed since its last start."""
        return self._output.read_text(errors="replace")

    @property
    def _main(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def _output(self) -> Path:
        return self.folder / f"watch-{self.starts}.log"

    @property
    def _scratch(self) -> Path:
        return self.folder / "scratch"

    def _end_of_output(self) -> str:
        return self.output[-QUOTED:]

    def _named(self, name: str) -> list[psutil.Process]:
        return [each for each in self.processes if process_name(each).startswith(name)]

    def _require_end(self, when: str) -> None:
        try:
            wait_for(lambda: not self.processes, timeout=END_TIMEOUT, what="the end", error=LabError)
        except LabError:
            left = self.processes
            self.faults[f"left {when}"] = ", ".join(f"{process_name(each)} ({each.pid})" for each in left)
            signal_all(left, signal.SIGKILL)
        self._main.wait()

    def _look_for_traceback(self) -> None:
        if "Traceback (most recent call last)" in (text := self.output):
            self.faults["traceback"] = text[-QUOTED:]


@dataclass(frozen=True, slots=True)
class LimitedDisk:
    """A file system of its own for the state, which can be filled. Only root can make it."""

    folder: Path
    megabytes: int = 400

    def __enter__(self) -> Self:
        self.folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={self.megabytes}m", "leadsman-lab", str(self.folder)]
        made = subprocess.run(command, check=False, capture_output=True, text=True)
        if made.returncode:
            raise LabError(f"No file system of its own for the state: {made.stderr.strip()}. Run it as root.")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False, capture_output=True)

    def fill(self) -> None:
        """Write until nothing is left."""
        with suppress(OSError), self._filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))

    def free(self) -> None:
        """Remove what filled it."""
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"


@dataclass(frozen=True, slots=True)
class Killers:
    """What is killed, by name. `pause` waits for a random time of up to so many seconds."""

    watch: KilledWatch
    broker: Broker
    disk: LimitedDisk
    pause: Callable[[float], None]

    def by_name(self) -> dict[str, Callable[[], None]]:
        """Return what kills each of them once."""
        return {
            "driver": self.watch.kill_driver,
            "JVM": self.watch.kill_jvm,
            "worker": self._worker,
            "all": self.watch.kill_all,
            "broker": self._broker,
            "disk": self._disk,
        }

    def _worker(self) -> None:
        self.watch.kill_worker()
        self.pause(5.0)

    def _broker(self) -> None:
        self.broker.kill()
        self.pause(10.0)
        self.broker.start()
        self.watch.note_end("while the broker was down")

    def _disk(self) -> None:
        self.disk.fill()
        self.pause(10.0)
        self.disk.free()


def _parent(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return process.ppid()
    return 0


def pause_in(seconds: float) -> None:
    """Wait: the moment of a kill is what is random."""
    threading.Event().wait(seconds)
