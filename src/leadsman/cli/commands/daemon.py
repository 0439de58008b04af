"""`leadsman daemon`: a running Spark session for the next commands of the same user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from leadsman.cli.extras import require_extra
from leadsman.cli.progress import progress
from leadsman.cli.terminal import echo
from leadsman.collect.numbers import FiniteNumber
from leadsman.daemon.client import DISABLE_VARIABLE, connect
from leadsman.daemon.sockets import create_socket_folder, socket_path, socket_paths
from leadsman.errors import LeadsmanError

if TYPE_CHECKING:
    from pathlib import Path

START_TIMEOUT = timedelta(minutes=3)
IDLE_MINUTES = 30.0
MOST_IDLE_MINUTES = 525_600.0
"""A year."""


EPILOG = """\b
Examples:
  leadsman daemon start                       then run: leadsman diagnose ./logs
  leadsman daemon start --idle-minutes 240    end after 4 idle hours
  leadsman daemon status && echo warm         in a script
  LEADSMAN_DAEMON=off leadsman diagnose ./logs
"""


@click.group(epilog=EPILOG)
def command() -> None:
    """Keep Spark running between commands: `diagnose` and `changes` then start at once.

    No daemon runs unless you start one. Only you can open its socket. The daemon runs one command at a time and ends
    after --idle-minutes without a command. Commands find the daemon by themselves and give the same results with and
    without it. A command runs in its own process if it needs its own Spark (--master, --remote, --spark-conf, --table),
    if it reads a pipe, or if the daemon is busy or of another version. LEADSMAN_DAEMON=off: commands ignore the daemon.
    """


@command.command()
@click.option(
    "--idle-minutes",
    type=FiniteNumber(min=0.01, max=MOST_IDLE_MINUTES),
    default=IDLE_MINUTES,
    show_default=True,
    help="The daemon ends after this time without a command.",
)
def start(idle_minutes: float) -> int:
    """Start the daemon, and wait until it is ready."""
    require_extra("spark", "daemon")
    create_socket_folder()
    socket_file = socket_path()
    if _request(socket_file, "status"):
        echo("The daemon runs already.")
        return 0
    from leadsman.waiting import wait_for

    log = create_socket_folder() / "daemon.log"
    words = [sys.executable, "-m", "leadsman", "daemon", "run", "--idle-minutes", str(idle_minutes)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", start_new_session=True
        )
    try:
        with progress("Starting Spark and a worker"):
            wait_for(
                lambda: _request(socket_file, "status") or process.poll() is not None,
                timeout=START_TIMEOUT,
                what="the daemon",
            )
    except BaseException:
        process.terminate()
        raise
    if process.poll() is not None:
        raise LeadsmanError(f"The daemon did not start: {_last_line(log)} Its log: {log}")
    echo(
        f"The daemon is ready: `leadsman diagnose` and `changes` use it from now on. It ends after {idle_minutes:g} "
        "idle minutes, or by: leadsman daemon stop"
    )
    return 0


@command.command()
def stop() -> int:
    """Stop the daemon, and those of other versions."""
    stopped = [response for socket_file in socket_paths() if (response := _request(socket_file, "stop"))]
    echo("The daemon is stopped." if stopped else "No daemon runs, or the daemon is busy. See: leadsman daemon status")
    return 0


@command.command()
def status() -> int:
    """Show whether a daemon runs. Exit code 0 where commands use it, else 1."""
    socket_files = socket_paths()
    daemon = _request(socket_path(), "status") if socket_files else None
    others = [
        socket_file for socket_file in socket_files if socket_file != socket_path() and _request(socket_file, "status")
    ]
    if os.environ.get(DISABLE_VARIABLE) == "off":
        echo(f"{DISABLE_VARIABLE}=off: commands ignore the daemon.")
    if daemon:
        minutes = daemon["idle_seconds"] / 60
        echo(f"The daemon runs (process {daemon['pid']}); it ends after {minutes:g} idle minutes.")
    else:
        echo("No daemon of this version is ready. Start one: leadsman daemon start")
    if others:
        echo(f"Daemons of other versions: {len(others)}. Stop them: leadsman daemon stop")
    return 0 if daemon else 1


@command.command(hidden=True)
@click.option("--idle-minutes", type=FiniteNumber(), default=IDLE_MINUTES)
def run(idle_minutes: float) -> int:
    """Run as the daemon, in this process."""
    from leadsman.cli.group import run as run_command  # it imports this module's name only
    from leadsman.daemon.server import serve
    from leadsman.pipeline.spark.session import is_usable, session  # Spark is loaded only now

    with session() as spark:
        _warm(spark)
        restart = serve(run_command, lambda: is_usable(spark), idle_seconds=idle_minutes * 60)
    if restart:
        words = [sys.executable, "-m", "leadsman", "daemon", "run", "--idle-minutes", str(idle_minutes)]
        os.execv(sys.executable, words)  # noqa: S606 - ourselves
    return 0


def _warm(spark: Any) -> None:  # noqa: ANN401 - Spark is not loaded where this is read
    """Diagnose one recording of each mode, so that a Python worker runs and all code is loaded."""
    from leadsman.catalogue import every_mode  # Spark is loaded only now
    from leadsman.pipeline.diagnose import diagnose
    from leadsman.pipeline.request import DiagnosisRequest, find_input, read_small_input

    recordings = [str(folder) for mode in every_mode() for folder in mode.recordings()[:1]]
    diagnose(spark, read_small_input(find_input(recordings)), DiagnosisRequest(modes=every_mode()))


def _request(socket_file: Path, action: str) -> dict[str, Any] | None:
    """Return the daemon's response; None where no daemon runs or the daemon is busy."""
    try:
        with connect(socket_file) as connection:
            connection.sendall(b"f" + json.dumps({"do": action}).encode() + b"\n")
            with connection.makefile("rb") as stream:
                response: dict[str, Any] = json.loads(stream.readline())
                return response
    except (OSError, ValueError):
        return None


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "The log is empty."
