"""Measures whole `leadsman` processes against their goals in seconds, and writes docs/performance.md.

python -m bench.whole             five runs of each row by turns
python -m bench.whole --smoke     small inputs, one run, the table on the screen only

A cold command is a new Python and a new JVM, and finds its files in the page cache. No daemon takes part, but in the
row of the resident session, whose daemon has a runtime folder of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil
from bench import lambda_streams, page
from bench.cpu_time import cpu_seconds, ended_children_cpu_seconds, process_tree
from bench.generate import CACHE
from bench.jobs import ROOT, SMALL
from bench.measure import machine
from bench.process_sampler import ProcessSampler
from bench.reference import MachineSpeed
from bench.report import FINDING_SECONDS

from leadsman.catalogue import every_mode
from leadsman.daemon.client import DISABLE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

PRESENT_CODE = 1
"""What `leadsman diagnose` ends with where a mode is PRESENT: every row's input holds an incident."""

STREAMS_SECONDS, CAPTURES_SECONDS, RESIDENT_SECONDS = 10, 20, 1.2
CAPTURES, COPIES = 100, 2
SMOKE_CAPTURES, SMOKE_SHARE = 4, 0.01
END_SECONDS = 20
"""How long a process may take to end after an interrupt or `leadsman daemon stop`."""


class CommandFailed(Exception):
    """A command ended with an unexpected code, or printed something else than is right for its input."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """One run: seconds until its first byte and until its end, CPU seconds, most memory in bytes, what it printed."""

    to_finding: float
    wall: float
    cpu: float
    memory: int
    started_java: bool
    printed: bytes

    def captures(self) -> list[Any]:
        """Return the captures of `--format json`."""
        captures: list[Any] = json.loads(self.printed)["captures"]
        return captures


@dataclass(slots=True)
class CommandRow:
    """A row. `run` measures it once, and raises CommandFailed where the result is not what it must be."""

    name: str
    about: str
    goal: float
    run: Callable[[], CommandResult]
    is_to_finding: bool = False
    results: list[CommandResult] = field(default_factory=list)

    @property
    def seconds(self) -> list[float]:
        """Return what the goal is about, of each run."""
        return [each.to_finding if self.is_to_finding else each.wall for each in self.results]

    def measure(self) -> None:
        """Run once more."""
        self.results.append(self.run())
        last = self.results[-1]
        print(f"{self.name}: {self.seconds[-1]:.2f} s, {last.cpu:.2f} s of CPU time", file=sys.stderr, flush=True)


def main() -> None:
    """Generate, measure, print, write."""
    arguments = _arguments()
    speed = None if arguments.smoke else MachineSpeed()
    try:
        with _interrupted_by(signal.SIGTERM):
            section = _section(arguments, speed)
    except CommandFailed as error:
        sys.exit(f"FAILED: {error}")
    except KeyboardInterrupt:
        sys.exit("Interrupted; nothing was written.")
    print(section)
    if not arguments.smoke:
        page.put("whole", section)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.whole", description="Time whole commands.")
    parser.add_argument("--smoke", action="store_true", help="small inputs and one run: does everything work?")
    parser.add_argument("--runs", type=int, default=0, help="how often each row is measured")
    return parser.parse_args()


@contextmanager
def _interrupted_by(number: signal.Signals) -> Iterator[None]:
    """Let a signal remove temporary folders and end processes as Ctrl-C does."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _section(arguments: argparse.Namespace, speed: MachineSpeed | None) -> str:
    about, runs = machine(), arguments.runs or (1 if arguments.smoke else 5)
    if speed:
        speed.measure()
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="whole-", dir=CACHE) as scratch:
        rows = _measured(Path(scratch), runs, is_smoke=arguments.smoke)
    if speed:
        speed.measure()
    return "\n".join(_table(rows, about, runs, speed))


def _measured(scratch: Path, runs: int, *, is_smoke: bool) -> list[CommandRow]:
    cold = [
        lambda_streams_row(scratch / "streams", SMOKE_SHARE if is_smoke else 1.0),
        captures_row(scratch / "captures", SMOKE_CAPTURES if is_smoke else CAPTURES),
        CommandRow(
            "a small capture, to its finding",
            "a recording of `idle_disconnect`, cold",
            FINDING_SECONDS,
            partial(diagnosed, [SMALL]),
            is_to_finding=True,
        ),
    ]
    for _ in range(runs):
        for row in cold:
            row.measure()
    with daemon() as (process, environment):
        resident = resident_row(process, environment, expected=cold[-1].results[-1].printed)
        for _ in range(runs):
            resident.measure()
    return [*cold, resident]


def lambda_streams_row(capture: Path, share: float) -> CommandRow:
    """Write the log streams of Lambda functions. The verdict must be the generator's own."""
    written = lambda_streams.write(capture / "logs", share)
    expected = lambda_streams.expected_verdict()

    def run() -> CommandResult:
        result = diagnosed([capture])
        (found,) = result.captures()
        verdict = found["verdicts"]["idle_disconnect"]
        if verdict != expected:
            raise CommandFailed(f"idle_disconnect is {verdict} on the Lambda streams, and must be {expected}.")
        return result

    size = sum(each.bytes for each in written)
    about = f"cold; {'; '.join(map(str, written))}"
    return CommandRow(f"Lambda streams, {size / 1e6:.0f} MB", about, STREAMS_SECONDS, run)


def captures_row(folder: Path, count: int) -> CommandRow:
    """Copy recordings, each twice. Both copies must get the same verdicts."""
    recordings = [each for mode in every_mode() for each in mode.recordings()][: count // COPIES]
    copied = [
        Path(shutil.copytree(each, folder / f"{number}-{each.parent.parent.name}-{each.name}"))
        for number in range(COPIES)
        for each in recordings
    ]

    def run() -> CommandResult:
        result = diagnosed(copied)
        verdicts = [each["verdicts"] for each in result.captures()]
        if len(verdicts) != count or verdicts[: len(recordings)] != verdicts[len(recordings) :]:
            raise CommandFailed(f"{len(verdicts)} captures were diagnosed of {count}, or copies of one differently.")
        return result

    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    about = f"{len(recordings)} recordings, each {COPIES} times, {size / 1e6:.0f} MB, cold"
    return CommandRow(f"{count} small captures in one call", about, CAPTURES_SECONDS, run)


def resident_row(process: psutil.Process, environment: Mapping[str, str], *, expected: bytes) -> CommandRow:
    """Diagnose in the daemon, which is warmed up here. It must print what a command without it printed."""

    def run() -> CommandResult:
        result = diagnosed([SMALL], environment=environment, daemon_process=process)
        if result.started_java:
            raise CommandFailed("The daemon did not take the command, which started a session of its own.")
        if result.printed != expected:
            raise CommandFailed("The daemon printed something else than the command without it.")
        return result

    run()
    about = "the same recording, the second and further times"
    return CommandRow("the same, resident session", about, RESIDENT_SECONDS, run)


def diagnosed(
    paths: Sequence[Path],
    *,
    environment: Mapping[str, str] | None = None,
    daemon_process: psutil.Process | None = None,
) -> CommandResult:
    """Run `leadsman diagnose`, a whole process, and count what it and the daemon used."""
    words = ["diagnose", "--format", "json", *map(str, paths)]
    before = _used_seconds(daemon_process)
    started = time.perf_counter()
    with (
        started_command(words, environment or {DISABLE_VARIABLE: "off"}) as process,
        ProcessSampler(process.pid) as sampler,
        ProcessSampler(daemon_process.pid) if daemon_process else nullcontext() as of_daemon,
    ):
        assert process.stdout is not None
        first = process.stdout.read(1)
        to_finding = time.perf_counter() - started
        printed = first + process.stdout.read()
        process.wait()
        wall = time.perf_counter() - started
    used = max(_used_seconds(daemon_process) - before, sampler.cpu)
    memory = sampler.memory + (of_daemon.memory if of_daemon else 0)
    return CommandResult(to_finding, wall, used, memory, sampler.java > 0, printed)


def _used_seconds(process: psutil.Process | None) -> float:
    """Return the CPU seconds of all commands that ended, and of a daemon that runs."""
    return ended_children_cpu_seconds() + (cpu_seconds(process) if process else 0.0)


@contextmanager
def started_command(
    words: Sequence[str], environment: Mapping[str, str], *, expected: int = PRESENT_CODE
) -> Iterator[subprocess.Popen[bytes]]:
    """Start `leadsman`, and check at the end how it ended. In a process group of its own Ctrl-C reaches it only from
    here, once, so that it stops what it started."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "leadsman", *words],
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=ROOT,
            env={**os.environ, "NO_COLOR": "1", **environment},
            start_new_session=True,
        )
        with process:
            try:
                yield process
            except BaseException:
                _interrupt(process)
                raise
        if process.returncode != expected:
            errors.seek(0)
            message = errors.read().decode(errors="replace")[-2000:]
            raise CommandFailed(
                f"`leadsman {words[0]}` ended with code {process.returncode}, and must end with {expected}: {message}"
            )


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def daemon() -> Iterator[tuple[psutil.Process, Mapping[str, str]]]:
    """Start a daemon in a runtime folder of its own, and yield it and the environment in which commands find it."""
    process = None
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as runtime:
        environment = {"XDG_RUNTIME_DIR": runtime, DISABLE_VARIABLE: "on"}
        try:
            _output(["daemon", "start"], environment)
            process = psutil.Process(_daemon_pid(environment))
            yield process, environment
        finally:
            _stop(process, environment)


def _daemon_pid(environment: Mapping[str, str]) -> int:
    status = _output(["daemon", "status"], environment)
    found = re.search(r"\(process (\d+)\)", status)
    if found is None:
        raise CommandFailed(f"`leadsman daemon status` names no process: {status}")
    return int(found[1])


def _stop(process: psutil.Process | None, environment: Mapping[str, str]) -> None:
    """Stop a daemon; one that is still busy after an interrupted command is killed with all that it started."""
    family = process_tree(process) if process else []
    try:
        _output(["daemon", "stop"], environment)
    finally:
        for each in psutil.wait_procs(family, timeout=END_SECONDS)[1]:
            each.kill()


def _output(words: Sequence[str], environment: Mapping[str, str]) -> str:
    with started_command(words, environment, expected=0) as process:
        assert process.stdout is not None
        return process.stdout.read().decode()


def _table(
    rows: Sequence[CommandRow], about: Mapping[str, str], runs: int, speed: MachineSpeed | None
) -> Iterator[str]:
    counted = "One run" if runs == 1 else f"{runs} runs of each row, medians, smallest and largest in brackets"
    yield f"{counted}. Machine: {', '.join(f'{key}: {value}' for key, value in about.items())}."
    yield (
        "CPU time is that of the command and all that it started, in the last row with the daemon's. Memory is the "
        "largest sum of what each process alone uses, sampled 4 times a second.\n"
    )
    yield "| command | input | wall, s | CPU, s | memory, GB | goal | goal here | reached |"
    yield "|---|---|---|---|---|---|---|---|"
    yield from (_line(row, speed) for row in sorted(rows, key=_share, reverse=True))
    if speed:
        yield f"\n{speed.explained()}"


def _share(row: CommandRow) -> float:
    return median(row.seconds) / row.goal


def _line(row: CommandRow, speed: MachineSpeed | None) -> str:
    here = speed.scaled(row.goal) if speed else None
    reached = "" if here is None else "yes" if median(row.seconds) <= here else "**no**"
    memory = max(each.memory for each in row.results) / 1e9
    cells = (
        row.name,
        row.about,
        f"{median(row.seconds):.2f} ({min(row.seconds):.2f} to {max(row.seconds):.2f})",
        f"{median(each.cpu for each in row.results):.1f}",
        f"{memory:.2f}",
        f"{row.goal:g} s",
        "" if here is None else f"{here:.1f} s",
        reached,
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
