"""Programs, held by handle: never by a number, which the kernel may have given to someone else meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import leadsman
from leadsman.errors import LabError
from leadsman.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = Path(leadsman.__file__).parent.parent
"""Put on the PYTHONPATH of programs of ours, so that they run from a working copy as from an installed package."""

LAUNCHER = PROGRAMS / "tied.py"

KILLED_WITHIN = timedelta(seconds=30)
"""A killed process is gone at once, unless the machine is so busy that the kernel comes late to it."""

LOOPBACK = "127.0.0.1"

TOOL_WITHIN = timedelta(seconds=90)
"""Format and admin tools are JVMs of their own: 1.4 s quiet, 15 s when two cores run ten of them."""

STOPPED_STATES = "Tt"
"""Letters of a stopped process in /proc/PID/stat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A network to run programs in: this machine's own, or that of the program `holder` and its namespaces.

    `address` is where its programs are reached.
    """

    address: str = LOOPBACK
    holder: int | None = None

    @property
    def here(self) -> bool:
        """Whether it is this machine's own network, which needs no way into it."""
        return self.holder is None

    @property
    def host(self) -> str:
        """The address as it stands before a port: one of IPv6 in brackets."""
        return f"[{self.address}]" if ":" in self.address else self.address

    @property
    def way(self) -> str:
        """How the launcher gets there."""
        return "here" if self.holder is None else str(self.holder)


HERE = Place()


@dataclass(slots=True)
class Program:
    """A running program. As a context manager it is killed at the end, whatever happened inside.

    Start it from a thread that outlives it: the kernel kills it when that thread ends (see programs/tied.py).
    """

    name: str
    popen: subprocess.Popen[str]

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        folder: Path,
        errors: Path,
        output: Path | None = None,
        environment: Mapping[str, str] | None = None,
        way: str = HERE.way,
    ) -> Self:
        """Start `command` in `folder`. Standard error goes to the file `errors`; so does output, or else to a pipe.

        `way` is the way into the network to run it in: a `Place`'s, or one of programs/tied.py.

        Its own session keeps a Ctrl-C at the keyboard from reaching it: the lab stops what the lab started, in order.
        """
        path = shutil.which(command[0])
        if path is None:
            raise LabError(f"There is no program {command[0]} to start {name} with.")
        tied = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), way, path, *command[1:]]
        with errors.open("ab") as error_file:
            popen = subprocess.Popen(
                tied,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if output is None else error_file,
                stderr=error_file,
                text=True,
                start_new_session=True,
            )
        return cls(name, popen)

    @property
    def running(self) -> bool:
        """Whether it has not ended. A stopped (frozen) program is running."""
        return self.popen.poll() is None

    @property
    def output(self) -> IO[str]:
        """Its standard output, line by line."""
        assert self.popen.stdout is not None, f"{self.name} was started with its output in a file"
        return self.popen.stdout

    def tell(self, line: str) -> None:
        """Write one line to its standard input. A program that has ended, or was killed, is told nothing."""
        assert self.popen.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self.popen.stdin.write(line + "\n")
            self.popen.stdin.flush()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended and its number may be someone else's."""
        self.popen.send_signal(number)

    @property
    def frozen(self) -> bool:
        """Whether the kernel has stopped it."""
        stat = Path(f"/proc/{self.popen.pid}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(") ")[2][0] in STOPPED_STATES

    def ended(self, *, within: timedelta) -> int:
        """Wait for its end and return its exit code."""
        wait_for(lambda: not self.running, within=within, what=f"the end of {self.name}", error=LabError)
        return int(self.popen.returncode)

    def stop(self, *, by: signal.Signals = signal.SIGTERM, within: timedelta) -> None:
        """Ask it to end by a signal; kill it if it does not in time."""
        self.send_signal(by)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(within.total_seconds())
        self.kill()

    def kill(self) -> None:
        """End it, now and for certain. Also when frozen: SIGKILL does not wait for a SIGCONT."""
        self.popen.kill()
        self.popen.wait(KILLED_WITHIN.total_seconds())
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None:
                with suppress(OSError, ValueError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
