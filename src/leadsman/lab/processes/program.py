"""Running programs, kept by handle: never by a process id, which the kernel may have reused meanwhile."""

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

PROGRAMS = Path(__file__).parents[1] / "programs"
SOURCES = Path(leadsman.__file__).parent.parent
"""Put on the PYTHONPATH of programs of ours, so that they run from a working copy as from an installed package."""

LAUNCHER = PROGRAMS / "pdeathsig_launcher.py"

KILLED_TIMEOUT = timedelta(seconds=30)
"""A killed process ends at once, unless the machine is so busy that the kernel schedules it late."""

LOOPBACK = "127.0.0.1"

TOOL_TIMEOUT = timedelta(seconds=90)
"""Format and admin tools are JVMs of their own: 1.4 s on an idle machine, 15 s when two cores run ten of them."""

STOPPED_PROCESS_STATES = "Tt"
"""Letters of a stopped process in /proc/PID/stat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNamespace:
    """A network to run programs in: this machine's own, or the namespaces of the process `holder_pid`.

    `address` is the address of its programs.
    """

    address: str = LOOPBACK
    holder_pid: int | None = None

    @property
    def is_host(self) -> bool:
        """Whether it is this machine's own network."""
        return self.holder_pid is None

    @property
    def host(self) -> str:
        """The address as it is written before a port: an IPv6 address in brackets."""
        return f"[{self.address}]" if ":" in self.address else self.address

    @property
    def netns_entry(self) -> str:
        """The launcher's argument that makes a program enter this network."""
        return "here" if self.holder_pid is None else str(self.holder_pid)


HOST_NETWORK = NetworkNamespace()


@dataclass(slots=True)
class Program:
    """A running program. As a context manager it is killed at the end, whatever happened inside.

    Start it from a thread that outlives it: the kernel kills it when that thread ends (programs/pdeathsig_launcher.py).
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
        netns_entry: str = HOST_NETWORK.netns_entry,
        inherited: Sequence[int] = (),
    ) -> Self:
        """Start `command` in `folder`. Standard error goes to the file `errors`; so does output, or else to a pipe.

        `netns_entry` says which network to run it in: a `NetworkNamespace`'s, or one of programs/pdeathsig_launcher.py.
        `inherited` are descriptors that it keeps, under the same numbers.

        It runs in a session of its own, which Ctrl-C does not reach: the lab stops its programs itself, in order.
        """
        path = shutil.which(command[0])
        if path is None:
            raise LabError(f"There is no program {command[0]} to start {name} with.")
        launcher = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), netns_entry, path, *command[1:]]
        with errors.open("ab") as error_file:
            popen = subprocess.Popen(
                launcher,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if output is None else error_file,
                stderr=error_file,
                text=True,
                start_new_session=True,
                pass_fds=inherited,
            )
        return cls(name, popen)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended. A stopped (frozen) program is running."""
        return self.popen.poll() is None

    @property
    def output(self) -> IO[str]:
        """Its standard output, line by line."""
        assert self.popen.stdout is not None, f"{self.name} was started with its output in a file"
        return self.popen.stdout

    def write_line(self, line: str) -> None:
        """Write one line to its standard input; nothing where the program has ended or was killed."""
        assert self.popen.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self.popen.stdin.write(line + "\n")
            self.popen.stdin.flush()

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the program has ended and its process id may be reused."""
        self.popen.send_signal(number)

    @property
    def is_frozen(self) -> bool:
        """Whether the kernel has stopped it."""
        stat = Path(f"/proc/{self.popen.pid}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(") ")[2][0] in STOPPED_PROCESS_STATES

    def wait_for_exit(self, *, timeout: timedelta) -> int:
        """Wait for its end and return its exit code."""
        wait_for(lambda: not self.is_running, timeout=timeout, what=f"the end of {self.name}", error=LabError)
        return int(self.popen.returncode)

    def stop(self, *, by: signal.Signals = signal.SIGTERM, timeout: timedelta) -> None:
        """End it by a signal; kill it if it does not end in time."""
        self.send_signal(by)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(timeout.total_seconds())
        self.kill()

    def kill(self) -> None:
        """End it, now and for certain. Also when frozen: SIGKILL does not wait for a SIGCONT."""
        self.popen.kill()
        self.popen.wait(KILLED_TIMEOUT.total_seconds())
        for stream in (self.popen.stdin, self.popen.stdout):
            if stream is not None:
                with suppress(OSError, ValueError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
